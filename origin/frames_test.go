package origin_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/wiretest/netlog/wire"
)

// frames is a client that says what frames it likes.
type frames struct {
	t     *testing.T
	fr    *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// dialFrames speaks HTTP/2 on conn as far as the settings. It is closed with t.
func dialFrames(t *testing.T, conn net.Conn) *frames {
	t.Helper()
	t.Cleanup(func() { conn.Close() })
	must(io.WriteString(conn, http2.ClientPreface))
	c := &frames{t: t, fr: http2.NewFramer(conn, conn)}
	c.enc = hpack.NewEncoder(&c.block)
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(t, c.fr.WriteSettings())
	return c
}

// request sends a whole request without a body.
func (c *frames) request(stream uint32, fields ...wire.Field) {
	c.block.Reset()
	for _, f := range fields {
		c.enc.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value})
	}
	require.NoError(c.t, c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndStream: true, EndHeaders: true}))
}

// get asks for a path.
func (c *frames) get(stream uint32, path string) {
	c.request(stream, wire.Field{Name: ":method", Value: "GET"}, wire.Field{Name: ":scheme", Value: "http"},
		wire.Field{Name: ":authority", Value: "origin.test"}, wire.Field{Name: ":path", Value: path})
}

// next is the next frame that wanted is true for. Settings are acknowledged.
func (c *frames) next(wanted func(http2.Frame) bool) http2.Frame {
	c.t.Helper()
	for {
		f, err := c.fr.ReadFrame()
		require.NoError(c.t, err)
		if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
			c.fr.WriteSettingsAck()
		}
		if wanted(f) {
			return f
		}
	}
}

// body is that of a stream's answer.
func (c *frames) body(stream uint32) (body []byte) {
	c.t.Helper()
	c.next(func(f http2.Frame) bool {
		d, ok := f.(*http2.DataFrame)
		if !ok || d.StreamID != stream {
			return false
		}
		body = append(body, d.Data()...)
		return d.StreamEnded()
	})
	return body
}

func newReader(r io.Reader) *bufio.Reader { return bufio.NewReader(r) }

func newHTTPTest(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}
