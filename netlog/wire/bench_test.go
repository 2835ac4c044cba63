package wire_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// BenchmarkConnection is a connection from its start on both sides over one
// request to its end.
func BenchmarkConnection(b *testing.B) {
	for _, s := range []spoken{plainH1, plainH2} {
		b.Run(s.name, func(b *testing.B) {
			server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
			defer server.Close(context.Background())
			req, _ := http.NewRequest("GET", "http://origin.test/", nil)
			b.ReportAllocs()
			for b.Loop() {
				near, far := newMemConns("client", "server", 0)
				log := new(netlog.Log)
				over := make(chan struct{})
				go func() {
					defer close(over)
					server.ServeConn(far, log.Open(netlog.Connection{ALPN: s.protocol}))
				}()
				c, err := wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(netlog.Connection{ALPN: s.protocol})})
				if err != nil {
					b.Fatal(err)
				}
				benchmarkOne(b, c, req)
				c.Close()
				<-over
			}
		})
	}
}

// BenchmarkRequest is one request on a connection that is there.
func BenchmarkRequest(b *testing.B) {
	for _, s := range []spoken{plainH1, plainH2} {
		b.Run(s.name, func(b *testing.B) {
			server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
			defer server.Close(context.Background())
			near, far := newMemConns("client", "server", 0)
			go server.ServeConn(far, new(netlog.Log).Open(netlog.Connection{ALPN: s.protocol}))
			c, err := wire.NewClientConn(near, wire.ClientConfig{Record: new(netlog.Log).Open(netlog.Connection{ALPN: s.protocol})})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			req, _ := http.NewRequest("GET", "http://origin.test/", nil)
			b.ReportAllocs()
			for b.Loop() {
				benchmarkOne(b, c, req)
			}
		})
	}
}

func benchmarkOne(b *testing.B, c *wire.ClientConn, req *http.Request) {
	resp, err := c.RoundTrip(req, nil)
	if err != nil {
		b.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}
