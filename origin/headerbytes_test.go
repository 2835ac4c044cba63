package origin_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// Three requests with a cookie of 600 bytes. What they cost is computed from
// the list of fields, and then seen on the wire:
//
//	http/1.1  the same head each time
//	h2        the fields once, and then an index for each
func TestHeaderBytesOfACookie(t *testing.T) {
	cookie := "session=" + strings.Repeat("0123456789abcdef", 37)
	require.Len(t, cookie, 600)
	cost := make(map[string][]int64)
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: http.HandlerFunc(origin.Echo)})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			for range 3 {
				req := must(http.NewRequest("GET", s.URL+"/", nil))
				req.Header.Set("Cookie", cookie)
				resp := must(client.Do(req))
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			netlog.RequireConnections(t, s.Log(), 1, proto, netlog.Used())
			computed := map[string]func(string, string) []int64{alpn.H2: hpackCost, alpn.HTTP11: headCost}[proto](s.Addr, cookie)
			for _, q := range s.Log().Requests() {
				cost[proto] = append(cost[proto], q.HeaderBytesUp)
			}
			assert.Equal(t, computed, cost[proto], "bytes of the three heads over %s: computed, and on the wire", proto)
		})
	}
	first, h1 := cost[alpn.H2][0], cost[alpn.HTTP11][0]
	for _, more := range cost[alpn.H2][1:] {
		assert.LessOrEqual(t, more*20, first, "5 %% of the first over h2")
	}
	assert.Equal(t, []int64{h1, h1, h1}, cost[alpn.HTTP11], "100 %% of the first over http/1.1")
	t.Logf("http/1.1 %d, h2 %d", cost[alpn.HTTP11], cost[alpn.H2])
}

// headCost is three heads of HTTP/1.1.
func headCost(addr, cookie string) (cost []int64) {
	host := strings.TrimSuffix(addr, ":443")
	head := fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: Go-http-client/1.1\r\nCookie: %s\r\nAccept-Encoding: gzip\r\n\r\n", host, cookie)
	return []int64{int64(len(head)), int64(len(head)), int64(len(head))}
}

// hpackCost is three blocks of one encoder. The second begins with a change of
// the table's size: the server's settings, which state one, come when the first
// request is on its way (RFC 7541, section 4.2).
func hpackCost(addr, cookie string) (cost []int64) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range 3 {
		block.Reset()
		if i == 1 {
			encoder.SetMaxDynamicTableSize(4096)
		}
		for _, f := range [][2]string{
			{":authority", addr}, {":method", "GET"}, {":path", "/"}, {":scheme", "https"},
			{"cookie", cookie}, {"accept-encoding", "gzip"}, {"user-agent", "Go-http-client/2.0"},
		} {
			encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		cost = append(cost, int64(block.Len()))
	}
	return cost
}
