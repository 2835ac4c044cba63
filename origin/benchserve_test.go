package origin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// The two of a protocol are to be compared in one run: an origin, with its
// ledger, should serve at least 0.8 times what a plain net/http server does.
func BenchmarkServe(b *testing.B) {
	for _, proto := range []string{alpn.HTTP11, alpn.H2} {
		b.Run(proto+"/origin", func(b *testing.B) {
			s, err := origin.Start(&origin.Config{Handler: hello, ALPN: alpn.Only(proto), Log: new(netlog.Log)})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			serveMany(b, s.Client(), s.URL)
		})
		b.Run(proto+"/net-http", func(b *testing.B) {
			s := httptest.NewUnstartedServer(hello)
			s.EnableHTTP2 = proto == alpn.H2
			s.StartTLS()
			defer s.Close()
			serveMany(b, s.Client(), s.URL)
		})
	}
}

func serveMany(b *testing.B, client *http.Client, url string) {
	b.ReportAllocs()
	for b.Loop() {
		resp, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
