package origin_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"example.com/wiretest/ca"
	"example.com/wiretest/origin"
)

// An origin, with its ledger, should serve at least 0.85 times what quic-go's
// http3.Server does: requests that are small, and a megabyte. The two take turns,
// and their ratio is reported as "x-http3".
func BenchmarkServeHTTP3(b *testing.B) {
	for name, size := range map[string]int{"small": 5, "1MB": 1 << 20} {
		handler := sizedAnswer(size)
		b.Run(name+"/origin", func(b *testing.B) { b.SetBytes(int64(size)); serveMany(b, serveHTTP3(b, handler)) })
		b.Run(name+"/http3", func(b *testing.B) { b.SetBytes(int64(size)); serveMany(b, servePlainHTTP3(b, handler)) })
		b.Run(name+"/in-turns", func(b *testing.B) {
			serveInTurns(b, serveHTTP3(b, handler), servePlainHTTP3(b, handler), "x-http3")
		})
	}
}

func serveHTTP3(b *testing.B, handler http.Handler) served {
	s, err := origin.Start(&origin.Config{Handler: handler, HTTP3: &origin.HTTP3{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return asks(b, &http.Client{Transport: s.HTTP3Transport(nil)}, s.URL)
}

// servePlainHTTP3 has a socket of its own for each side, and says Alt-Svc too.
func servePlainHTTP3(b *testing.B, handler http.Handler) served {
	authority := ca.New(b, nil)
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http3.Server{TLSConfig: authority.ServerTLS(), QUICConfig: &quic.Config{Allow0RTT: true, MaxIncomingStreams: 256}}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.SetQUICHeaders(w.Header())
		handler.ServeHTTP(w, r)
	})
	go s.Serve(pc) // ends with Close
	tr := &http3.Transport{TLSClientConfig: authority.ClientTLS()}
	b.Cleanup(func() {
		tr.Close()
		s.Close()
		pc.Close()
	})
	return asks(b, &http.Client{Transport: tr}, "https://"+pc.LocalAddr().String())
}
