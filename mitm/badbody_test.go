package mitm_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// A client's body that is malformed is the client's mistake: it is told so, the origin
// has no body that seems whole, and nothing behind it is a request.
func TestMalformedBodyIsTheClientsMistake(t *testing.T) {
	for _, c := range []struct{ name, sent, why string }{
		{"more than the chunk", "5\r\nbegun\r\n1\r\nxyz\r\n0\r\n\r\n", "malformed chunked encoding"},
		{"a bare LF behind the chunk", "5\r\nbegun\r\n1\r\nx\n0\r\n\r\n", "malformed chunked encoding"},
		{"a bare LF behind the size", "5\r\nbegun\r\n1\nx\r\n0\r\n\r\n", "chunked line ends with bare LF"},
		{"no size", "5\r\nbegun\r\nx\r\n0\r\n\r\n", "invalid byte in chunk length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, up := range []string{alpn.HTTP11, alpn.H2} {
				synctest.Test(t, func(t *testing.T) {
					malformedBody(t, linkdelay.NewNetwork(t, linkdelay.Link{}), up, c.sent, c.why)
				})
			}
		})
	}
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	malformedBody(t, network, alpn.H2, "5\r\nbegun\r\nx\r\n", "invalid byte in chunk length")
}

func malformedBody(t *testing.T, network *linkdelay.Network, up, sent, why string) {
	over := make(chan struct{})
	s := newRawStage(t, network, mitm.Config{}, alpn.HTTP11, up, func(o *side) {
		defer close(over)
		o.wantHead("PUT /")
		o.wantData("begun")
		e := o.next()
		for e.kind == "data" {
			e = o.next()
		}
		assert.Contains(o.t, []string{"reset", "closed"}, e.kind)
	})
	client := s.call()
	client.head("PUT /", unknown)
	client.call.(*rawH1Call).conn.write(sent + "GET /smuggled HTTP/1.1\r\nHost: origin.test\r\n\r\n")
	assert.Equal(t, "close", client.wantHead("400").Get("Connection"))
	client.wantData("mitm: downstream leg: body of the request: " + why + "\n")
	client.wantEnd()
	client.call.(*rawH1Call).in = ""
	assert.Equal(t, "closed", client.next().kind)
	client.await(over)
	netlog.RequireConnections(t, s.proxy.Log(), 1, up, mitm.Upstream)
	if up == alpn.HTTP11 {
		assert.Equal(t, "closed by the proxy: downstream leg: body of the request: "+why, s.proxy.Log().Connections(mitm.Upstream)[0].CloseReason)
	}
}

// A client that leaves in the middle of its body has left, and made no mistake.
func TestLeavingInABodyIsNoMistake(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		begun, over := make(chan struct{}), make(chan struct{})
		s := newRawStage(t, network, mitm.Config{}, alpn.HTTP11, alpn.HTTP11, func(o *side) {
			defer close(over)
			o.wantHead("PUT /")
			o.wantData("begun")
			close(begun)
			assert.Equal(o.t, "closed", o.next().kind)
		})
		client := s.call()
		client.head("PUT /", unknown)
		client.data("begun")
		client.await(begun)
		client.reset(0)
		client.await(over)
		assert.Equal(t, "closed by the proxy: the client has left", s.proxy.Log().Connections(mitm.Upstream)[0].CloseReason)
	})
}
