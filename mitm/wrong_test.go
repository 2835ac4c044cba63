package mitm_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

func mitmPool() *x509.CertPool { return x509.NewCertPool() }

// secured is a client's connection after its handshake.
func (s *stage) secured(t *testing.T) *tls.Conn {
	t.Helper()
	conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", s.site.Addr)
	require.NoError(t, err)
	secured := tls.Client(conn, &tls.Config{RootCAs: s.proxy.CA().Pool(), ServerName: "origin.test"})
	require.NoError(t, secured.HandshakeContext(t.Context()))
	t.Cleanup(func() { secured.NetConn().Close() })
	return secured
}

func TestDownstreamFault(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Downstream: mitm.Leg{Faults: []wire.Fault{{Request: 2, Do: wire.ResetWith(http2.ErrCodeEnhanceYourCalm)}}}})
	s.down = alpn.H2
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		_, err := s.client.Do(s.request(t, "GET", "/", nil))
		assert.ErrorContains(t, err, "ENHANCE_YOUR_CALM")
		assert.Len(t, s.proxy.Log().Requests(mitm.Upstream), 1)
	})
}

// A fault of the upstream leg is said to the origin.
func TestUpstreamFaultResets(t *testing.T) {
	var reset chan struct{}
	eachRawPairWith(t, mitm.Config{Upstream: mitm.Leg{Faults: []wire.Fault{
		{Request: 1, Do: wire.ResetWith(http2.ErrCodeEnhanceYourCalm)},
		{Request: 2, Do: wire.ResetAfter(4, http2.ErrCodeConnect)},
	}}}, linkdelay.Link{}, func(o *side) {
		e := o.next()
		o.wantEnd()
		if e.start == "GET /two" {
			o.head("200", 8)
			o.data("half")
			o.data("less")
			o.wantReset(http2.ErrCodeConnect)
			reset <- struct{}{}
			return
		}
		o.wantReset(http2.ErrCodeEnhanceYourCalm)
	}, func(t *testing.T, s *rawStage) {
		reset = make(chan struct{}, 1)
		c := s.call()
		c.head("GET /one", nothing)
		c.wantHead("502")
		c.wantData("mitm: upstream leg: given up by a fault\n")
		c = s.call()
		c.head("GET /two", nothing)
		c.wantHead("200")
		c.wantData("half")
		c.wantReset(http2.ErrCodeInternal)
		c.await(reset) // before the proxy is closed
	})
}

func TestUpstreamFaultHoldsTheAnswer(t *testing.T) {
	hold := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		time.Sleep(30 * time.Millisecond)
		next.ServeHTTP(w, r)
	}
	s := serving(hello)
	s.proxy.Upstream.Faults = []wire.Fault{{Do: hold}}
	eachPair(t, s, func(t *testing.T, s *stage) {
		start := time.Now()
		_, body := s.get(t, "/")
		assert.Equal(t, "hello", body)
		assert.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
	})
}

func TestUpstreamFaultGoAway(t *testing.T) {
	s := serving(hello)
	s.up, s.proxy.Upstream.Faults = alpn.H2, []wire.Fault{{Request: 1, Do: wire.LastOneWith(http2.ErrCodeNo, "bye")}}
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		synctestSettle(t, func() bool { return strings.Contains(s.site.Log().Connections()[0].GoAway, "received") })
	})
}

func TestRefusedALPN(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Downstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{Connection: 1, RefuseALPN: true}}}})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		_, err := s.client.Do(s.request(t, "GET", "/", nil))
		assert.ErrorContains(t, err, "tls: no application protocol")
		s.get(t, "/") // the second is served
	})
}

func TestDroppedConnections(t *testing.T) {
	const after = 20_000
	fault := mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{DropAfter: after}}}
	for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
		rule := mitm.Rule{Host: "*"}
		if leg == mitm.Downstream {
			rule.Downstream = fault
		} else {
			rule.Upstream = fault
		}
		s := under(rule)
		s.origin.Handler = handler(func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 100_000)) })
		eachPairOverTCP(t, s, func(t *testing.T, s *stage) {
			resp, err := s.client.Do(s.request(t, "GET", "/", nil))
			if err == nil {
				n, read := io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				assert.Less(t, n, int64(after))
				err = read
			}
			assert.Error(t, err)
			s.tr.CloseIdleConnections()
			synctestSettle(t, func() bool { return s.proxy.Log().Connections(leg)[0].CloseReason != "" })
			assert.Equal(t, "dropped after 20000 bytes by a fault", s.proxy.Log().Connections(leg)[0].CloseReason)
		})
	}
}

func TestSlowHandshakes(t *testing.T) {
	slow := mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{HandshakeDelay: 30 * time.Millisecond}}}
	eachWorld(t, under(mitm.Rule{Host: "*", Downstream: slow, Upstream: slow}), func(t *testing.T, s *stage) {
		start := time.Now()
		s.get(t, "/")
		assert.GreaterOrEqual(t, time.Since(start), 60*time.Millisecond)
		for _, c := range s.proxy.Log().Connections() {
			assert.GreaterOrEqual(t, c.Handshaken.Sub(c.Opened), 30*time.Millisecond)
		}
	})
}

// halved writes its first bytes in two segments, the second when the first was read.
type halved struct {
	net.Conn
	begun bool
	wait  func(n int) // for n bytes to be read
}

func (h *halved) Write(p []byte) (int, error) {
	if h.begun {
		return h.Conn.Write(p)
	}
	h.begun = true
	n, err := h.Conn.Write(p[:len(p)/2])
	h.wait(n)
	m, rest := h.Conn.Write(p[n:])
	return n + m, errors.Join(err, rest)
}

// counting is a Net that counts the bytes which are read from whom it accepts.
type counting struct {
	mitm.Net
	read atomic.Int64
}

func (c *counting) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := c.Net.Listen(ctx, network, address)
	return countingListener{l, &c.read}, err
}

type countingListener struct {
	net.Listener
	read *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countingConn{conn, l.read}, err
}

type countingConn struct {
	net.Conn
	read *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// A ClientHello in two segments loses its SNI: the leaf is for the address.
func TestClientHelloInItsFirstSegment(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Downstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{FirstSegment: true}}}})
	linkdelay.EachWorld(t, s.link, func(t *testing.T, network *linkdelay.Network) {
		from := &counting{Net: network.Host("proxy.test")}
		s := s
		s.proxy.Net = from
		st := setUp(t, network, s)
		for _, inTwo := range []bool{true, false} { // the first is the one that counts
			want := map[bool]string{false: "shop.test", true: "origin.test"}[inTwo]
			conn, err := st.proxy.Tunnel(network.Host("pc.test"))(t.Context(), "tcp", st.site.Addr)
			require.NoError(t, err)
			if inTwo {
				before := from.read.Load() // of CONNECT
				conn = &halved{Conn: conn, wait: func(n int) {
					synctestSettle(t, func() bool { return from.read.Load() >= before+int64(n) })
				}}
			}
			secured := tls.Client(conn, &tls.Config{ServerName: "shop.test", InsecureSkipVerify: true})
			require.NoError(t, secured.HandshakeContext(t.Context()))
			assert.Equal(t, []string{want}, secured.ConnectionState().PeerCertificates[0].DNSNames)
			secured.NetConn().Close()
		}
	})
}
