package mitm_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// rawRequest writes bytes on an intercepted connection of HTTP/1.1 and reads
// one answer.
func (s *stage) rawRequest(t *testing.T, raw string) *http.Response {
	t.Helper()
	addr := s.site.Addr
	conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	cfg := s.proxy.CA().ClientTLS()
	cfg.ServerName = "origin.test"
	secured := tls.Client(conn, cfg)
	_, err = io.WriteString(secured, raw)
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(secured), nil)
	require.NoError(t, err)
	return resp
}

func TestFieldsOfOneConnectionStayOnIt(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(up, func(t *testing.T) {
			s := serving(func(w http.ResponseWriter, r *http.Request) {
				h := w.Header()
				if r.ProtoMajor == 1 {
					h.Set("Connection", "X-Named-Down, keep-alive")
					h.Set("X-Named-Down", "this hop")
				}
				h.Set("Keep-Alive", "timeout=5")
				h.Set("Proxy-Connection", "keep-alive")
				h.Set("Upgrade", "h2c")
				h.Set("X-Kept", "end to end")
				fmt.Fprintf(w, "%v", r.Header)
			})
			s.up = up
			eachWorld(t, s, func(t *testing.T, s *stage) {
				resp := s.rawRequest(t, "GET / HTTP/1.1\r\nHost: origin.test\r\n"+
					"Connection: X-Named-Up , Keep-Alive\r\nConnection: Te\r\nX-Named-Up: this hop\r\nKeep-Alive: 5\r\n"+
					"Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nTE: gzip, Trailers;q=0.5\r\nX-Kept: end to end\r\n\r\n")
				assert.Equal(t, "map[Te:[trailers] X-Kept:[end to end]]", text(t, resp))
				for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "X-Named-Down"} {
					assert.NotContains(t, resp.Header, name)
				}
				assert.Equal(t, "end to end", resp.Header.Get("X-Kept"))
			})
		})
	}
}

func TestNothingIsAddedAndNothingIsLost(t *testing.T) {
	seen := make(chan string, 2)
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		seen <- fmt.Sprintf("%s %s %v %d", r.Method, r.Host, r.Header, r.ContentLength)
		h := w.Header()
		h["Date"], h["Content-Type"] = nil, nil
		h["X-Several"] = []string{"b", "a", "b", ""}
		h.Set("Server", "somebody")
		io.WriteString(w, "<html>that invites to guess a type")
	})
	eachPair(t, s, func(t *testing.T, s *stage) {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			req := s.request(t, method, "/", nil, "X-Several", "2", "X-Several", "1", "X-Empty", "", "Accept", "*/*")
			req.Header["User-Agent"] = nil
			req.Header["Accept-Encoding"] = nil // which net/http's client would add
			direct := &http.Client{Transport: s.site.Transport(s.network.Host("pc.test"))}
			want, err := direct.Do(req)
			require.NoError(t, err)
			io.Copy(io.Discard, want.Body)
			want.Body.Close()
			got := s.do(t, req)
			text(t, got)
			assert.Equal(t, <-seen, <-seen, method)
			assert.Equal(t, want.Header, got.Header, method)
			assert.Equal(t, want.ContentLength, got.ContentLength, method)
		}
	})
}

func TestStatusLineIsOfTheClientsProtocol(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := serving(hello)
		s.up = alpn.H2
		st := setUp(t, network, s)
		resp := st.rawRequest(t, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n")
		assert.Equal(t, "HTTP/1.1 200 OK", resp.Proto+" "+resp.Status)
	})
}

// A Connection field from an origin that speaks h2 is none of the client's
// business; the origin's own connection ends by GOAWAY, and is replaced.
func TestGoAwayUpstreamIsReplaced(t *testing.T) {
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/last" {
			w.Header().Set("Connection", "close") // net/http's h2 server makes it a GOAWAY
		}
		io.WriteString(w, strings.Repeat("x", 100_000))
	})
	s.up = alpn.H2
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(down, func(t *testing.T) {
			s.down = down
			eachWorld(t, s, func(t *testing.T, s *stage) {
				for _, path := range []string{"/", "/last", "/", "/"} {
					_, body := s.get(t, path)
					assert.Len(t, body, 100_000)
				}
				requireInTurn(t, s.proxy.Log(), down, mitm.Downstream)
				netlog.RequireConnections(t, s.proxy.Log(), 2, alpn.H2, mitm.Upstream)
				if first := s.proxy.Log().Connections(mitm.Upstream)[0]; first.GoAway == "" || first.Requests != 2 {
					t.Errorf("first upstream connection: GOAWAY %q after %d requests, want one after 2", first.GoAway, first.Requests)
				}
			})
		})
	}
}
