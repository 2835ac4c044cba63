package mitm_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

func TestPassthroughShowsTheOriginsCertificate(t *testing.T) {
	s := serving(hello)
	s.proxy.Downstream.ALPN = alpn.Only(alpn.HTTP11)
	s.proxy.Passthrough = []string{"origin.test"}
	eachWorld(t, s, func(t *testing.T, s *stage) {
		resp, body := s.get(t, "/")
		assert.Equal(t, "hello", body)
		assert.Equal(t, "wiretest origin CA", resp.TLS.PeerCertificates[0].Issuer.CommonName)
		alpn.RequireProtocol(t, resp, alpn.H2)
		for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
			all := s.proxy.Log().Connections(leg)
			require.Len(t, all, 1)
			c := all[0]
			assert.True(t, c.Tunnel)
			assert.Equal(t, netlog.Unknown, c.Protocol)
			assert.Equal(t, netlog.Unknown, c.ALPN)
			assert.Equal(t, s.site.Addr, c.Host)
			assert.Greater(t, c.BytesUp, int64(300))
			assert.Greater(t, c.BytesDown, int64(800))
		}
		assert.Empty(t, s.proxy.Log().Requests())
	})
}

func TestPassthroughPatterns(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{
			Net:         network.Host("proxy.test"),
			Passthrough: []string{"Plain.test", "port.test:8443", "*.below.test", "*.both.test:1", "2001:db8::1", "[2001:db8::2]:5"},
		})
		dial := proxy.Tunnel(network.Host("pc.test"))
		for addr, passes := range map[string]bool{
			"plain.test:443":     true,
			"PLAIN.TEST.:80":     true,
			"sub.plain.test:443": false,
			"port.test:8443":     true,
			"port.test:443":      false,
			"a.below.test:443":   true,
			"a.b.below.test:443": true,
			"below.test:443":     false,
			"xbelow.test:443":    false,
			"a.both.test:1":      true,
			"a.both.test:2":      false,
			"[2001:db8::1]:443":  true,
			"[2001:db8::2]:5":    true,
			"[2001:db8::2]:6":    false,
		} {
			conn, err := dial(t.Context(), "tcp", addr)
			if passes {
				assert.ErrorContains(t, err, "502 Bad Gateway: mitm: upstream leg: dial ", addr) // none is there
			} else if assert.NoError(t, err, addr) {
				conn.Close()
			}
		}
	})
}

// tunnelled dials an address that passes through.
func tunnelled(t *testing.T, network *linkdelay.Network, serve func(net.Conn)) (net.Conn, *mitm.Proxy) {
	t.Helper()
	addr := accepting(t, network.Host("origin.test"), serve)
	proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Passthrough: []string{"origin.test"}})
	conn, err := proxy.Tunnel(network.Host("pc.test"))(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn, proxy
}

func TestTunnelIsByteExactAndHalfCloses(t *testing.T) {
	payload := make([]byte, 3<<20)
	rand.Read(payload)
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		conn, proxy := tunnelled(t, network, func(conn net.Conn) { // answers at the end of what it was sent
			all, _ := io.ReadAll(conn)
			conn.Write(all)
		})
		go func() {
			conn.Write(payload)
			conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		back, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(payload, back), "%d bytes came back of %d, or others", len(back), len(payload))
		for _, c := range proxy.Log().Connections() {
			assert.EqualValues(t, len(payload), c.BytesUp)
			assert.EqualValues(t, len(payload), c.BytesDown)
		}
		synctestSettle(t, func() bool { return proxy.Log().Connections()[0].CloseReason != "" })
		assert.Equal(t, "both sides closed", proxy.Log().Connections()[0].CloseReason)
	})
}

func TestResetPassesATunnel(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		conn, proxy := tunnelled(t, network, func(conn net.Conn) {
			conn.Read(make([]byte, 10))
			conn.(interface{ SetLinger(int) error }).SetLinger(0)
		})
		io.WriteString(conn, "reset me")
		_, err := io.ReadAll(conn)
		assert.ErrorContains(t, err, "reset")
		synctestSettle(t, func() bool { return proxy.Log().Connections()[0].CloseReason != "" })
		assert.Contains(t, proxy.Log().Connections()[0].CloseReason, "origin: connection reset")
	})
}

func TestPassthroughToNobody(t *testing.T) {
	s := serving(hello)
	s.proxy.Passthrough = []string{"nobody.test"}
	eachWorld(t, s, func(t *testing.T, s *stage) {
		_, err := s.client.Get("https://nobody.test/")
		assert.ErrorContains(t, err, "Bad Gateway")
		require.NotEmpty(t, s.proxy.Log().Connections(mitm.Downstream))
		assert.Equal(t, "upstream leg: dial nobody.test:443: no such host", short(s.proxy.Log().Connections(mitm.Downstream)[0].CloseReason))
	})
}

// What is not listed is intercepted by the same proxy.
func TestPassthroughBesideInterception(t *testing.T) {
	s := serving(hello)
	s.proxy.Passthrough = []string{"other.test"}
	eachWorld(t, s, func(t *testing.T, s *stage) {
		resp, _ := s.get(t, "/")
		assert.Equal(t, "wiretest mitm CA", resp.TLS.PeerCertificates[0].Issuer.CommonName)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
	})
}
