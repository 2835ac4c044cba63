package mitm_test

import (
	"net/http/httptest"
	"testing"

	"example.com/wiretest/mitm"
)

// Starting and closing a proxy, beside what the standard library's test server
// takes for the same.
func BenchmarkStartAndClose(b *testing.B) {
	b.Run("mitm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p, err := mitm.Start(nil)
			if err != nil {
				b.Fatal(err)
			}
			p.Close()
		}
	})
	b.Run("httptest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s := httptest.NewUnstartedServer(nil)
			s.StartTLS()
			s.Close()
		}
	})
}
