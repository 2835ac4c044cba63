// Package h3 has a proxy of package mitm speak HTTP/3: with the clients of mode
// Reverse, on the same port number as TCP, and with origins, whatever clients speak.
// Who does not import it compiles no QUIC.
//
//	site := origin.New(t, &origin.Config{HTTP3: &origin.HTTP3{}})
//	proxy := mitm.New(t, &mitm.Config{
//		Mode:     mitm.Reverse,
//		Origin:   site.URL,
//		RootCAs:  site.CA().Pool(),
//		HTTP3:    h3.Downstream(nil),
//		Upstream: mitm.Leg{HTTP3: h3.Upstream(nil)},
//	})
//	client := &http.Client{Transport: h3.Transport(proxy, nil)}
//	resp, err := client.Get(proxy.URL) // HTTP/3 on both legs; proxy.Client() has h2 on its own
//	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H3, mitm.Upstream, netlog.Used())
//
// Answers are what they are over TCP, and so is the Log: connections over QUIC are
// on their leg, and requests of both legs are paired. Leg.ALPN and
// Leg.ConnectionFaults are about TCP; certificates, limits, windows, Faults and
// hooks hold for both.
//
// # With clients
//
// The proxy does not say by itself that it speaks HTTP/3: what an origin says in
// Alt-Svc passes, with the origin's port, and a client is otherwise pointed at the
// proxy, as Chromium is by --origin-to-force-quic-on.
//
// What quic-go's server does not tell is lost: trailers of requests. Codes of resets
// become those that the other leg's protocol has for them, both ways. Upgrade does not
// exist in HTTP/3.
//
// # With origins
//
// One connection to an origin carries the requests of all clients, as with h2, and
// what mitm says of sending a request again holds. Nothing is sent in 0-RTT. Where
// Upstream.ALPN is zero an origin that QUIC does not reach is a 502; else TCP is tried
// when quic-go gives up, by default after five seconds without an answer, and from
// then on, until the proxy is closed:
//
//	Upstream: mitm.Leg{HTTP3: h3.Upstream(nil), ALPN: alpn.Prefer(alpn.H2, alpn.HTTP11)}
//
// What does not pass as it does over TCP:
//
//   - An Upgrade, which takes http/1.1 and so an ALPN that has it; else it is a 502.
//   - The code by which a client resets a request that has a body, which is
//     H3_REQUEST_CANCELLED to the origin.
//   - More than five answers of status 1xx to a request that has a body: a 502.
//   - Codes of HTTP/3 that have no like in HTTP/2, which are INTERNAL_ERROR to the
//     client.
//   - What an origin has written right before it resets a stream, which QUIC may
//     overtake: of an answer whose head is lost that way the client gets the reset, or
//     on http/1.1 a 502.
//   - A fault of Leg.Faults that would say GOAWAY resets the request.
//
// At Start Leg.HTTP3 refuses, by name, what is for TCP alone: Speak,
// ConnectionFaults, MaxConns where ALPN is zero, TLS.MaxVersion below 1.3, Mirror and
// OriginFirst, Config.Via, Config.Dial, and an Origin whose scheme is http.
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
	"example.com/wiretest/netlog/wire"
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
		Closed:               side.Closed,
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

// Upstream is for the HTTP3 of mitm.Config.Upstream, or of a Rule's. cfg is the
// proxy's side of QUIC: timeouts and packet size. It is cloned, and nil is quic-go's
// own for clients, with a PING every 10 seconds, so that answers may take longer than
// QUIC's idle timeout. Of windows the Leg has the say where it is set.
func Upstream(cfg *quic.Config) mitm.UpstreamHTTP3 { return &upstream{cfg} }

type upstream struct{ quic *quic.Config }

func (u *upstream) Dial(ctx context.Context, to mitm.HTTP3Origin) (*wire.ClientConn, error) {
	cfg := h3.ClientConfig{
		Address:      to.Address,
		TLS:          to.TLS,
		QUIC:         u.quic,
		Record:       to.Record,
		MaxStreams:   to.MaxConcurrentStreams,
		StreamWindow: to.StreamWindow,
		ConnWindow:   to.ConnWindow,
	}
	if to.Net != nil {
		cfg.ListenPacket = to.Net.ListenPacket
	}
	return h3.Connect(ctx, cfg)
}

// Transport is an HTTP/3 client that connects to p, whatever the URL, from a host
// of its Config.Net, or from loopback if from is nil. Where p has a name of its Net,
// which loopback does not know, requests fail and say so. It trusts p's CA. Close it
// before p, or after.
func Transport(p *mitm.Proxy, from mitm.Net) *ClientTransport {
	access := wire.Access{Fixture: "mitm/h3", Addr: p.Addr, InNet: true} // if Addr is a name
	unreachable := access.Check(from, "Transport", "Transport")
	d := new(h3.Dialer)
	if from != nil {
		d.ListenPacket = from.ListenPacket
	}
	return &ClientTransport{
		Transport: http3.Transport{
			TLSClientConfig:    &tls.Config{RootCAs: p.CA().Pool()},
			DisableCompression: true,
			Dial: func(ctx context.Context, _ string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error) {
				if unreachable != nil {
					return nil, unreachable
				}
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
