package mitm_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// A client that has opened its windows wide, and then reads nothing at all, holds
// up all that the proxy wants to say to it: the ends of its tunnels too.
func TestCloseDoesNotWaitForAClientThatIsDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{Up: linkdelay.Path{Buffer: 64 << 10}, Down: linkdelay.Path{Buffer: 64 << 10}})
		brief := accepting(t, network.Host("brief.test"), func(conn net.Conn) { io.ReadFull(conn, make([]byte, 1)) })
		endless := accepting(t, network.Host("endless.test"), func(conn net.Conn) {
			for err := error(nil); err == nil; {
				_, err = conn.Write(make([]byte, 10_000))
			}
		})
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.ExplicitTLS, Net: network.Host("proxy.test"), Passthrough: []string{"*.test"}})
		c := deaf(t, network, proxy)
		var ending []*side
		for range 5 {
			s := c.call(t)
			s.head("CONNECT "+brief, unknown)
			ending = append(ending, s)
		}
		c.readHeads(len(ending))
		c.call(t).head("CONNECT "+endless, unknown)
		synctest.Wait() // nothing more goes to the client
		for _, s := range ending {
			s.data("x")
		}
		synctest.Wait() // the origins have ended
		require.NoError(t, proxy.Close())
		for _, conn := range proxy.Log().Connections() {
			assert.Equal(t, "proxy closed", conn.CloseReason)
		}
	})
}

// deaf is an outerH2 that reads only when it is told to.
func deaf(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) *rawH2 {
	t.Helper()
	conn := tls.Client(dialProxy(t, network, proxy), alpn.Only(alpn.H2).Client(&tls.Config{RootCAs: proxy.CA().Pool(), ServerName: "proxy.test"}))
	require.NoError(t, conn.Handshake())
	c := newRawH2(t, conn, nil)
	const wide = 1 << 30
	c.settings = []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: wide}}
	require.NoError(t, c.greet())
	c.write(func() { c.framer.WriteWindowUpdate(0, wide) })
	return c
}

// readHeads reads until n heads have come.
func (c *rawH2) readHeads(n int) {
	for n > 0 {
		frame, err := c.framer.ReadFrame()
		require.NoError(c.t, err)
		c.take(frame)
		if _, head := frame.(*http2.MetaHeadersFrame); head {
			n--
		}
	}
}
