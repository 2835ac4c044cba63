package origin_test

import (
	"net/http/httptest"
	"testing"

	"example.com/wiretest/origin"
)

// The two are to be compared in one run: to start and stop an origin should
// take no more than three times what a plain httptest server takes.
func BenchmarkStartClose(b *testing.B) {
	for b.Loop() {
		s, err := origin.Start(&origin.Config{Handler: hello})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStartClosePublishedPage(b *testing.B) {
	for b.Loop() {
		s, err := origin.Start(nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStartCloseHTTPTest(b *testing.B) {
	for b.Loop() {
		s := httptest.NewUnstartedServer(hello)
		s.EnableHTTP2 = true
		s.StartTLS()
		s.Close()
	}
}
