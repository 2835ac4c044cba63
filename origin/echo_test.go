package origin_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// What net/http's Header has lost: the order, the case, and which of two equal
// names came first. Two requests at once keep their own heads.
func TestEchoOfHeadsAsOnTheWire(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Plain: true, Handler: http.HandlerFunc(origin.Echo)})
	conn := must(net.Dial("tcp", s.Addr))
	defer conn.Close()
	io.WriteString(conn, "GET /one?q=1 HTTP/1.1\r\nX-LAST: z\r\nhost: shop.test\r\nAccept: */*\r\nx-last:\ty \r\n\r\n"+
		"POST http://shop.test/two HTTP/1.1\r\nHost: shop.test\r\nCONTENT-length: 2\r\nConnection: close\r\n\r\nhi")
	dec := json.NewDecoder(bodies(t, conn, 2))
	var one, two origin.Echoed
	require.NoError(t, dec.Decode(&one))
	require.NoError(t, dec.Decode(&two))

	assert.Equal(t, "GET /one?q=1 HTTP/1.1", one.Line)
	assert.Equal(t, []wire.Field{{Name: "X-LAST", Value: "z"}, {Name: "host", Value: "shop.test"}, {Name: "Accept", Value: "*/*"}, {Name: "x-last", Value: "y"}}, one.Fields)
	assert.Equal(t, http.Header{"X-Last": {"z", "y"}, "Accept": {"*/*"}}, one.Header, "as net/http has it")
	assert.Equal(t, "POST http://shop.test/two HTTP/1.1", two.Line)
	assert.Equal(t, []wire.Field{{Name: "Host", Value: "shop.test"}, {Name: "CONTENT-length", Value: "2"}, {Name: "Connection", Value: "close"}}, two.Fields)
	assert.Equal(t, "hi", string(two.Body))
	assert.Equal(t, []int64{1, 1}, []int64{one.Connection, two.Connection})
	assert.EqualValues(t, len("GET /one?q=1 HTTP/1.1\r\nX-LAST: z\r\nhost: shop.test\r\nAccept: */*\r\nx-last:\ty \r\n\r\n"), one.HeaderBytes)
}

// bodies are those of n answers of HTTP/1.1.
func bodies(t *testing.T, conn net.Conn, n int) io.Reader {
	t.Helper()
	var all strings.Builder
	in := newReader(conn)
	for range n {
		resp := must(http.ReadResponse(in, nil))
		io.Copy(&all, resp.Body)
		resp.Body.Close()
	}
	return strings.NewReader(all.String())
}

// A client that writes its own frames chooses the order of the fields.
func TestEchoOfFieldsOverHTTP2(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Plain: true, ALPN: alpn.Only(alpn.H2), Handler: http.HandlerFunc(origin.Echo)})
	c := dialFrames(t, must(net.Dial("tcp", s.Addr)))
	fields := []wire.Field{
		{Name: ":path", Value: "/"}, {Name: ":method", Value: "GET"}, {Name: ":authority", Value: "shop.test"}, {Name: ":scheme", Value: "http"},
		{Name: "x-last", Value: "z"}, {Name: "cookie", Value: "a=1"}, {Name: "accept", Value: "*/*"}, {Name: "cookie", Value: "b=2"},
	}
	for id := range uint32(3) {
		c.request(1+2*id, fields...)
		var e origin.Echoed
		require.NoError(t, json.Unmarshal(c.body(1+2*id), &e))
		assert.Equal(t, fields, e.Fields)
		assert.Empty(t, e.Line)
		assert.EqualValues(t, 1+2*id, e.Stream)
		assert.Equal(t, http.Header{"X-Last": {"z"}, "Cookie": {"a=1; b=2"}, "Accept": {"*/*"}}, e.Header, "as net/http has it")
	}
	c.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
}

// Behind another server there is less to tell.
func TestEchoMountsOnAnyServer(t *testing.T) {
	s := newHTTPTest(t, http.HandlerFunc(origin.Echo))
	body, _ := get(t, s.Client(), s.URL)
	var e origin.Echoed
	require.NoError(t, json.Unmarshal([]byte(body), &e))
	assert.Equal(t, "GET", e.Method)
	assert.Zero(t, e.Connection)
	assert.Nil(t, e.Fields)
}
