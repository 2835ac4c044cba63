package mitm_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// notRead are answers for which nobody has read the request's body.
var notRead = map[string]mitm.Config{
	"hook answers": {Hooks: mitm.Hooks{Request: func(*http.Request) (*http.Response, error) {
		return &http.Response{Body: io.NopCloser(strings.NewReader("hello"))}, nil
	}}},
	"hook fails": {Hooks: mitm.Hooks{Request: func(*http.Request) (*http.Response, error) { return nil, errors.New("not today") }}},
	"hook leads nowhere": {Hooks: mitm.Hooks{Request: func(r *http.Request) (*http.Response, error) {
		r.URL.Scheme = "gopher"
		return nil, nil
	}}},
	"hook takes the body away": {Hooks: mitm.Hooks{Request: func(r *http.Request) (*http.Response, error) {
		r.Body, r.ContentLength = nil, 0
		return nil, nil
	}}},
	"no origin": {Via: "http://127.0.0.1:1"},
}

// A body that has come costs the client no connection, whether it was read or not.
func TestUnreadBodyThatHasComeCostsNothing(t *testing.T) {
	for name, cfg := range notRead {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, setting{down: alpn.HTTP11, proxy: cfg}, func(t *testing.T, s *stage) {
				for range 3 {
					text(t, s.do(t, s.request(t, "POST", "/", strings.NewReader("body"))))
				}
				requireInTurn(t, s.proxy.Log(), alpn.HTTP11, mitm.Downstream)
			})
		})
	}
}

// One that has not come does, and the answer says so (RFC 9112, section 9.6), also
// to a client that sends the rest.
func TestUnreadBodyThatHasNotComeEndsTheConnection(t *testing.T) {
	for name, cfg := range notRead {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, setting{down: alpn.HTTP11, proxy: cfg}, func(t *testing.T, s *stage) {
				rest, w := io.Pipe()
				resp := s.do(t, s.request(t, "POST", "/", rest))
				assert.True(t, resp.Close)
				text(t, resp)
				w.Close()
				text(t, s.do(t, s.request(t, "POST", "/", strings.NewReader("body"))))
				netlog.RequireConnections(t, s.proxy.Log(), 2, alpn.HTTP11, mitm.Downstream)
			})
		})
	}
}

// What comes behind such an answer is no request.
func TestRestOfAnUnreadBodyIsNoRequest(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := newRawStage(t, network, notRead["hook answers"], alpn.HTTP11, alpn.HTTP11, func(*side) {})
		c := s.call()
		c.head("PUT /", 200)
		c.data("begun")
		require.Equal(t, "close", c.wantHead("200").Get("Connection"))
		c.wantData("hello")
		wantRestIgnored(t, c)
	})
}

// A request that was sent behind such a body, in the same segment, is answered too.
func TestRequestBehindAnUnreadBody(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		all := sentBack(t, network, post+"Content-Length: 4\r\n\r\nbody"+post+"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"+post+"Connection: close\r\n\r\n")
		assert.Equal(t, 3, strings.Count(all, "HTTP/1.1 200 OK\r\n"), "%s", all)
	})
}

// The rest of a body is not waited for, once it was answered.
func TestRestOfAnUnreadBodyIsNotWaitedFor(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		all := sentBack(t, network, post+"Content-Length: 10\r\n\r\nbegun")
		assert.Contains(t, all, "\r\nConnection: close\r\n")
		assert.True(t, strings.HasSuffix(all, "hello\r\n0\r\n\r\n"), "%q", all)
	})
}

const post = "POST http://origin.test/ HTTP/1.1\r\nHost: origin.test\r\n"

// sentBack is all that a proxy whose hook answers sends back, to the end of the
// connection.
func sentBack(t *testing.T, network *linkdelay.Network, sent string) string {
	t.Helper()
	cfg := notRead["hook answers"]
	cfg.Net = network.Host("proxy.test")
	proxy := mitm.New(t, &cfg)
	conn, err := network.Host("pc.test").DialContext(t.Context(), "tcp", proxy.Addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, sent)
	require.NoError(t, err)
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(all)
}
