package hotspot

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// app is a client that keeps its connection, as an app's does, for longer than
// the NAT of the hotspot keeps a binding.
type app struct {
	*scene
	log  *netlog.Log
	dial func() h3.BrowserConn
	conn h3.BrowserConn
}

// withApp has the app ask for something small, and then pause for 30 s.
func withApp(t *testing.T, keepAlive time.Duration, body func(*app)) {
	t.Helper()
	h3.Bubble(t, nil, func(t *testing.T) {
		s := arrive(t, linkdelay.NewNetwork(t, linkdelay.RTT(rtt)), &origin.HTTP3{QUIC: &quic.Config{MaxIdleTimeout: 2 * time.Minute}})
		tr := s.site.HTTP3Transport(s.network.Host("phone.test"))
		tr.QUICConfig = &quic.Config{MaxIdleTimeout: 2 * time.Minute, KeepAlivePeriod: keepAlive}
		a := &app{scene: s, log: netlog.New(t)}
		a.dial = func() h3.BrowserConn {
			conn, err := h3.Browser(tr)(t.Context(), s.site.Addr, s.site.Addr, a.log.Open(netlog.Connection{Host: s.site.Addr}))
			require.NoError(t, err)
			return conn
		}
		a.conn = a.dial()
		a.get("/small").isQuick(t, alpn.H3)
		time.Sleep(30 * time.Second)
		body(a)
		a.conn.Close()
	})
}

// get asks over the connection that there is.
func (a *app) get(path string) told {
	a.t.Helper()
	begin := time.Now()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.site.URL+path, nil)
	require.NoError(a.t, err)
	if resp, err := a.conn.RoundTrip(req, nil); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	all := a.log.Requests()
	q := all[len(all)-1]
	is := told{protocol: q.Protocol, firstByte: q.TimeToFirstByte(), content: q.Download(), took: time.Since(begin), end: "whole", quic: 1}
	if q.Err != "" {
		is.end = q.Err
	}
	return is
}

// binding is what becomes of the NAT's binding while the app pauses.
type binding struct {
	name   string
	change func(*linkdelay.Wire)
	large  func(*testing.T, told)
}

func bindings() []binding {
	return []binding{
		// The NAT has forgotten the phone's port, and swallows what comes from it: the
		// request hangs until the connection's idle timeout, of two minutes here.
		{"NAT binding gone after 30 s idle", (*linkdelay.Wire).Forget, func(t *testing.T, is told) {
			is.isStuck(t)
			near(t, 2*time.Minute, is.took, "the idle timeout, from the request on")
		}},
		// A NAT that makes a new binding gives the phone a new port. TCP would have
		// lost its connection; QUIC's goes on from the new address, which the server
		// checks meanwhile (RFC 9000, section 9.3).
		{"NAT rebound to a new port", (*linkdelay.Wire).Rebind, func(t *testing.T, is told) {
			assert.Equal(t, "whole", is.end, "%v", is)
			assert.GreaterOrEqual(t, is.took, rtt, "%v", is)
			assert.Less(t, is.took, 4*rtt, "the server validates the new address and goes on: %v", is)
		}},
	}
}

// After the request that hangs, the next one has a new connection.
func TestNATBindingGone(t *testing.T) {
	withApp(t, 0, func(a *app) {
		a.wire().Forget()
		a.get("/small").isStuck(t)
		a.conn = a.dial()
		a.get("/small").isQuick(t, alpn.H3)
		netlog.RequireConnections(t, a.site.Log(), 2, alpn.H3, netlog.Used())
	})
}

func TestNATRebinds(t *testing.T) {
	withApp(t, 0, func(a *app) {
		a.wire().Rebind()
		assert.Equal(t, "whole", a.get("/large").end)
		netlog.RequireConnections(t, a.site.Log(), 1, alpn.H3)
	})
}

// A keep-alive within the NAT's 30 s keeps its binding: nothing to forget.
func TestKeepAliveKeepsTheBinding(t *testing.T) {
	withApp(t, 15*time.Second, func(a *app) {
		before := a.wire().Stats()
		time.Sleep(30 * time.Second)
		after := a.wire().Stats()
		assert.Greater(t, after.Up.Datagrams.In.Datagrams, before.Up.Datagrams.In.Datagrams, "datagrams that refresh the binding")
		a.get("/small").isQuick(t, alpn.H3)
		netlog.RequireConnections(t, a.site.Log(), 1, alpn.H3)
	})
}
