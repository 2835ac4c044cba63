package mitm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// The Log says why each connection to an origin was opened, and why it ended.
func TestWhyOriginConnectionsOpenAndClose(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		var turn chan struct{}
		s := newRawStage(t, network, mitm.Config{}, alpn.H2, alpn.HTTP11, func(o *side) {
			e := o.next()
			o.wantEnd()
			switch e.start {
			case "GET /last":
				o.head("200", 0, "Connection: close")
				hangUp(o)
			case "GET /begun":
				o.head("200", unknown)
				o.data("begun")
				o.wantReset(0)
			default:
				o.await(turn)
				o.head("200", 0)
			}
		})
		turn = make(chan struct{}, 2)
		client := s.client()
		one, two := client.call(), client.call()
		one.head("GET /one", nothing)
		two.head("GET /two", nothing)
		ups := func() (n int) { return len(s.proxy.Log().Connections(mitm.Upstream)) }
		synctestSettle(t, func() bool { return ups() == 2 && len(s.proxy.Log().Requests(mitm.Upstream)) == 2 })
		turn <- struct{}{}
		turn <- struct{}{}
		for _, c := range []*side{one, two} {
			c.wantHead("200")
			c.wantEnd()
		}
		c := client.call()
		c.head("GET /last", nothing)
		c.wantHead("200")
		c.wantEnd()
		c = client.call()
		c.head("GET /begun", nothing)
		c.wantHead("200")
		c.wantData("begun")
		c.reset(8)
		closed := func() bool {
			all := s.proxy.Log().Connections(mitm.Upstream)
			return all[0].CloseReason != "" && all[1].CloseReason != ""
		}
		synctestSettle(t, closed)
		all := s.proxy.Log().Connections(mitm.Upstream)
		require.Len(t, all, 2)
		opened := []string{all[0].OpenReason, all[1].OpenReason}
		ended := []string{all[0].CloseReason, all[1].CloseReason}
		assert.Equal(t, []string{"first request to it", "more requests than connections: 1 open or being opened"}, opened)
		assert.ElementsMatch(t, []string{"closed by client", "closed by the proxy: the client has left"}, ended)
	})
}
