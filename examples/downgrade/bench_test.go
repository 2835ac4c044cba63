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
		// synctest.Test takes a *testing.T, which a benchmark has not.
		if !testing.RunTests(anyName, []testing.InternalTest{{Name: "three modes", F: threeModes}}) {
			b.Fatal("failed")
		}
	}
}

func anyName(_, _ string) (bool, error) { return true, nil }

func threeModes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), nil)
		for _, route := range s.routes() {
			route.load(t, s.site.URL)
		}
	})
}
