package origin_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// An origin, with its ledger, should serve at least 0.8 times what a plain
// net/http server does. The two of a protocol take turns, so that what else
// happens on the machine happens to both, and their ratio is reported as
// "x-net/http".
func BenchmarkServe(b *testing.B) {
	for _, proto := range []string{alpn.HTTP11, alpn.H2} {
		b.Run(proto+"/origin", func(b *testing.B) { serveMany(b, serveOrigin(b, proto)) })
		b.Run(proto+"/net-http", func(b *testing.B) { serveMany(b, serveNetHTTP(b, proto)) })
		b.Run(proto+"/in-turns", func(b *testing.B) { serveInTurns(b, serveOrigin(b, proto), serveNetHTTP(b, proto), "x-net/http") })
	}
}

// served asks one thing of a server, and waits for the answer.
type served func()

func serveOrigin(b *testing.B, proto string) served {
	s, err := origin.Start(&origin.Config{Handler: hello, ALPN: alpn.Only(proto), Log: new(netlog.Log)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return asks(b, s.Client(), s.URL)
}

func serveNetHTTP(b *testing.B, proto string) served {
	s := httptest.NewUnstartedServer(hello)
	s.EnableHTTP2 = proto == alpn.H2
	s.StartTLS()
	b.Cleanup(s.Close)
	return asks(b, s.Client(), s.URL)
}

func asks(b *testing.B, client *http.Client, url string) served {
	ask := func() {
		resp, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	ask() // the handshake
	return ask
}

func serveMany(b *testing.B, ask served) {
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// serveInTurns gives each a hundred at a time.
func serveInTurns(b *testing.B, ours, theirs served, ratio string) {
	var took [2]time.Duration
	for b.Loop() {
		for i, ask := range []served{ours, theirs} {
			start := time.Now()
			for range 100 {
				ask()
			}
			took[i] += time.Since(start)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), ratio)
}
