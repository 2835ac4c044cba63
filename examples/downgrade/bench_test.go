package downgrade

import (
	"testing"
	"testing/synctest"

	"example.com/wiretest/linkdelay"
)

// BenchmarkThreeModes is the wall time of 8.3 seconds of virtual time: the
// three modes of the story, from the start of the fixtures to their end.
func BenchmarkThreeModes(b *testing.B) {
	for b.Loop() {
		inBubble(b, func(t *testing.T) {
			s := setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), nil)
			for _, route := range s.routes() {
				route.load(t, s.site.URL)
			}
		})
	}
}

// inBubble runs body in virtual time: synctest wants a *testing.T, which a
// benchmark has to get from testing.RunTests.
func inBubble(b *testing.B, body func(*testing.T)) {
	b.Helper()
	ran := false
	test := testing.InternalTest{Name: b.Name(), F: func(t *testing.T) {
		if !ran { // testing.RunTests would repeat it -count times
			ran = true
			synctest.Test(t, body)
		}
	}}
	anyName := func(_, _ string) (bool, error) { return true, nil }
	if !testing.RunTests(anyName, []testing.InternalTest{test}) || !ran {
		b.Fatal("the bubble failed, or was skipped by -skip")
	}
}
