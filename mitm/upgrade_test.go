package mitm_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// webSocket is what a WebSocket client asks (RFC 6455, section 4.1).
func webSocket(c *side) {
	c.head("GET /chat", nothing, "Connection: keep-alive, Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")
}

func switched(o *side) {
	o.head("101", nothing, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
}

// upgradePair runs body where both legs can be http/1.1.
func upgradePair(t *testing.T, origin alpn.Policy, serve func(*side), body func(*testing.T, *rawStage)) {
	t.Helper()
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := newRawStage(t, network, mitm.Config{}, alpn.HTTP11, alpn.HTTP11, serve)
		s.addr = accepting(t, network.Host("origin.test"), afterHandshake(s.authority, origin, func(conn *tls.Conn) {
			(&rawServer{t: t, proto: conn.ConnectionState().NegotiatedProtocol, serve: serve}).conn(conn)
		}))
		body(t, s)
	})
}

func TestUpgradeIsATunnel(t *testing.T) {
	upgradePair(t, alpn.Only(alpn.HTTP11), func(o *side) {
		h := o.wantHead("GET /chat")
		assert.Equal(o.t, http.Header{
			"Host": {"origin.test"}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Version": {"13"},
		}, h)
		switched(o)
		o.data("first, ") // perhaps in one piece with the head
		o.call.(*rawH1Call).in = "eof"
		for range 3 {
			o.wantData("\x81\x05hello")
			o.data("\x81\x02ok")
		}
		o.wantEnd() // of the client's side alone
		o.data("last")
		o.call.(*rawH1Call).closeWrite()
	}, func(t *testing.T, s *rawStage) {
		c := s.call()
		webSocket(c)
		h := c.wantHead("101")
		assert.Equal(t, http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
		}, h)
		c.wantData("first, ")
		for range 3 {
			c.data("\x81\x05hello")
			c.wantData("\x81\x02ok")
		}
		c.call.(*rawH1Call).closeWrite()
		c.wantData("last")
		c.wantEnd()

		log := s.proxy.Log()
		for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
			synctestSettle(t, func() bool { return log.Connections(leg)[0].CloseReason != "" })
			q := log.Requests(leg)[0]
			assert.Equal(t, 101, q.Status)
			assert.Empty(t, q.Err)
			assert.Equal(t, "both sides closed", log.Connections(leg)[0].CloseReason)
		}
		assert.Equal(t, log.Connections()[0].BytesUp-log.Requests()[0].HeaderBytesUp, int64(21))
		require.Len(t, log.Pairs(), 1)
	})
}

func TestUpgradeThatIsRefusedIsAnAnswer(t *testing.T) {
	upgradePair(t, alpn.Only(alpn.HTTP11), func(o *side) {
		o.next()
		o.wantEnd()
		o.head("426", 2, "Upgrade: other")
		o.data("no")
	}, func(t *testing.T, s *rawStage) {
		client := s.client()
		for range 2 {
			c := client.call()
			webSocket(c)
			c.wantHead("426")
			c.wantData("no")
			c.wantEnd()
		}
		requireInTurn(t, s.proxy.Log(), alpn.HTTP11, mitm.Upstream)
	})
}

// HTTP/2 has no Upgrade: the request goes to a connection that speaks http/1.1,
// as a browser's does, beside the one that carries the others.
func TestUpgradeWhereTheOriginPrefersH2(t *testing.T) {
	upgradePair(t, alpn.Prefer(alpn.H2, alpn.HTTP11), func(o *side) {
		e := o.next()
		o.wantEnd()
		if e.start != "GET /chat" {
			o.head("200", 0)
			return
		}
		switched(o)
		o.call.(*rawH1Call).in = "eof"
		o.wantEnd()
	}, func(t *testing.T, s *rawStage) {
		c := s.call()
		c.head("GET /page", nothing)
		c.wantHead("200")
		c.wantEnd()
		c = s.call()
		webSocket(c)
		c.wantHead("101")
		c.call.(*rawH1Call).closeWrite()
		c.wantEnd()
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Upstream, netlog.Protocol(alpn.H2))
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.HTTP11, mitm.Upstream, netlog.Protocol(alpn.HTTP11))
	})
}

func TestUpgradeWhereTheOriginHasOnlyH2(t *testing.T) {
	upgradePair(t, alpn.Only(alpn.H2), func(o *side) {}, func(t *testing.T, s *rawStage) {
		c := s.call()
		webSocket(c)
		c.wantHead("502")
		c.wantData("mitm: upstream leg: upgrade to websocket, which takes http/1.1: TLS with " + s.addr + ": remote error: tls: no application protocol\n")
		c.wantEnd()
	})
}

// A reset of one leg is one of the other.
func TestUpgradeThatBreaks(t *testing.T) {
	for name, clients := range map[string]bool{"by the client": true, "by the origin": false} {
		t.Run(name, func(t *testing.T) {
			var begun, ended chan string
			upgradePair(t, alpn.Only(alpn.HTTP11), func(o *side) {
				o.wantHead("GET /chat")
				switched(o)
				o.call.(*rawH1Call).in = "eof"
				o.wantData("x")
				if !clients {
					o.reset(0)
					return
				}
				begun <- ""
				ended <- o.next().kind
			}, func(t *testing.T, s *rawStage) {
				begun, ended = make(chan string, 1), make(chan string, 1)
				c := s.call()
				webSocket(c)
				c.wantHead("101")
				c.data("x")
				if !clients {
					e := c.next()
					assert.Equal(t, "closed", e.kind, "%v", e)
					return
				}
				<-begun
				c.reset(0)
				assert.Equal(t, "closed", <-ended)
			})
		})
	}
}

// What is open is closed by Close.
func TestCloseEndsUpgrades(t *testing.T) {
	upgradePair(t, alpn.Only(alpn.HTTP11), func(o *side) {
		o.wantHead("GET /chat")
		switched(o)
		o.next()
	}, func(t *testing.T, s *rawStage) {
		c := s.call()
		webSocket(c)
		c.wantHead("101")
		require.NoError(t, s.proxy.Close())
		for _, one := range s.proxy.Log().Connections() {
			assert.NotEmpty(t, one.CloseReason, "%s leg", one.Leg)
		}
	})
}

// Without its name in Connection, Upgrade is not an offer (RFC 9110, section
// 7.8), and neither is any on HTTP/1.0.
func TestUpgradeThatIsNone(t *testing.T) {
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: origin.test\r\nUpgrade: websocket\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: origin.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: origin.test\r\nConnection: Upgrade\r\n\r\n",
	} {
		upgradePair(t, alpn.Only(alpn.HTTP11), func(o *side) {
			assert.Equal(o.t, http.Header{"Host": {"origin.test"}}, o.wantHead("GET /"))
			o.head("200", 0)
		}, func(t *testing.T, s *rawStage) {
			c := s.call()
			io.WriteString(c.call.(*rawH1Call).conn.conn, head)
			e := c.next()
			assert.Equal(t, "head", e.kind, "%v", e)
		})
	}
}
