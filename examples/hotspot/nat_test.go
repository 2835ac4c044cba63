package hotspot

import (
	"context"
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
	client *http.Client
}

func withApp(t *testing.T, keepAlive time.Duration, body func(*app)) {
	t.Helper()
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
		patient := &quic.Config{MaxIdleTimeout: 2 * time.Minute, KeepAlivePeriod: keepAlive}
		s := arrive(t, network, &origin.HTTP3{QUIC: &quic.Config{MaxIdleTimeout: 2 * time.Minute}})
		tr := s.site.HTTP3Transport(network.Host("phone.test"))
		tr.QUICConfig = patient
		body(&app{s, &http.Client{Transport: tr}})
	})
}

func (a *app) get(path string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(a.t.Context(), 3*time.Minute)
	defer cancel()
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.site.URL+path, nil)
	require.NoError(a.t, err)
	resp, err := a.client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return time.Since(start), err
}

// After 30 s idle the NAT has forgotten the phone's port, and swallows what comes
// from the old one: the request hangs until the connection's idle timeout. The
// next one has a new connection.
func TestNATBindingGoneAfterThirtySeconds(t *testing.T) {
	withApp(t, 0, func(a *app) {
		took, err := a.get("/small")
		require.NoError(t, err)
		near(t, 2*rtt, took, "handshake and answer")

		time.Sleep(30 * time.Second)
		a.wire().Forget()
		took, err = a.get("/small")
		assert.ErrorContains(t, err, "timeout: no recent network activity")
		near(t, 2*time.Minute, took, "the client's idle timeout, from the request on")

		took, err = a.get("/small")
		require.NoError(t, err)
		near(t, 2*rtt, took, "a new connection")
		netlog.RequireConnections(t, a.site.Log(), 2, alpn.H3, netlog.Used())
	})
}

// A NAT that makes a new binding gives the phone a new port. TCP would have lost
// its connection; QUIC's goes on from the new address, which the server checks
// meanwhile (RFC 9000, section 9.3).
func TestNATRebindsToANewPort(t *testing.T) {
	withApp(t, 0, func(a *app) {
		_, err := a.get("/small")
		require.NoError(t, err)
		time.Sleep(30 * time.Second)
		a.wire().Rebind()
		took, err := a.get("/large")
		require.NoError(t, err)
		near(t, rtt, min(took, rtt), "one round trip or a little more")
		assert.Less(t, took, 4*rtt, "the server validates the new address and goes on")
		netlog.RequireConnections(t, a.site.Log(), 1, alpn.H3)
	})
}

// A keep-alive within the NAT's 30 s keeps its binding: nothing to forget.
func TestKeepAliveKeepsTheConnection(t *testing.T) {
	withApp(t, 15*time.Second, func(a *app) {
		_, err := a.get("/small")
		require.NoError(t, err)
		before := a.wire().Stats()
		time.Sleep(30 * time.Second)
		after := a.wire().Stats()
		assert.Greater(t, after.Up.Datagrams.In.Datagrams, before.Up.Datagrams.In.Datagrams, "datagrams that refresh the binding")
		took, err := a.get("/small")
		require.NoError(t, err)
		near(t, rtt, took, "one round trip")
		netlog.RequireConnections(t, a.site.Log(), 1, alpn.H3)
	})
}
