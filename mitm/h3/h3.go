// Package h3 has a reverse proxy of package mitm speak HTTP/3 with its clients,
// on the same port number as TCP. Who does not import it compiles no QUIC.
//
//	site := origin.New(t, nil)
//	proxy := mitm.New(t, &mitm.Config{
//		Mode:    mitm.Reverse,
//		Origin:  site.URL,
//		RootCAs: site.CA().Pool(),
//		HTTP3:   h3.Downstream(nil),
//	})
//	client := &http.Client{Transport: h3.Transport(proxy, nil)}
//	resp, err := client.Get(proxy.URL) // HTTP/3 to the proxy, h2 to the origin
//	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H3, mitm.Downstream, netlog.Used())
//
// Answers are what they are over TCP, and so is the Log: connections over QUIC are
// on the leg mitm.Downstream, and their requests are paired with those to the
// origin. Leg.ALPN and Leg.ConnectionFaults are about TCP; certificates, limits,
// windows, Faults and hooks hold for both.
//
// The proxy does not say by itself that it speaks HTTP/3: what an origin says in
// Alt-Svc passes, with the origin's port, and a client is otherwise pointed at the
// proxy, as Chromium is by --origin-to-force-quic-on.
//
// What quic-go's server does not tell is lost: trailers of requests. A stream that
// the origin resets is reset with what HTTP/3 has for the code; the code by which a
// client resets its own is CANCEL to the origin. Upgrade does not exist in HTTP/3.
// To the origin the proxy speaks h2 or http/1.1, never HTTP/3.
package h3

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog/h3"
)

// Downstream is for mitm.Config.HTTP3. cfg is the proxy's side of QUIC: timeouts
// and packet size. It is cloned, and nil is quic-go's own with 0-RTT allowed. Of
// streams and windows the Leg has the say where it is set.
func Downstream(cfg *quic.Config) mitm.HTTP3 { return &downstream{cfg} }

type downstream struct{ quic *quic.Config }

func (d *downstream) Start(side mitm.HTTP3Side, sockets []net.PacketConn) (func(context.Context) error, error) {
	server := h3.NewServer(h3.ServerConfig{
		Wire:                 side.Wire,
		TLS:                  side.TLS,
		QUIC:                 d.quic,
		MaxConcurrentStreams: side.MaxConcurrentStreams,
		StreamWindow:         side.StreamWindow,
		ConnWindow:           side.ConnWindow,
		Open:                 side.Open,
	})
	for i, pc := range sockets {
		if err := server.Serve(pc); err != nil {
			for _, rest := range sockets[i+1:] {
				rest.Close()
			}
			server.Close(context.Background())
			return nil, err
		}
	}
	return server.Close, nil
}

// Transport is an HTTP/3 client that connects to p, whatever the URL, from a host
// of its Config.Net, or from loopback if from is nil. It trusts p's CA. Close it
// before p, or after.
func Transport(p *mitm.Proxy, from mitm.Net) *ClientTransport {
	d := new(h3.Dialer)
	if from != nil {
		d.ListenPacket = from.ListenPacket
	}
	return &ClientTransport{
		Transport: http3.Transport{
			TLSClientConfig:    &tls.Config{RootCAs: p.CA().Pool()},
			DisableCompression: true,
			Dial: func(ctx context.Context, _ string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error) {
				conn, err := d.Dial(ctx, p.Addr, tls, cfg)
				if err != nil {
					return nil, fmt.Errorf("mitm/h3: %w", err)
				}
				return conn, nil
			},
		},
		dialer: d,
	}
}

// ClientTransport is an http3.Transport that also closes its sockets.
type ClientTransport struct {
	http3.Transport
	dialer *h3.Dialer
}

// Close ends all connections.
func (t *ClientTransport) Close() error {
	err := t.Transport.Close()
	t.dialer.Close()
	return err
}
