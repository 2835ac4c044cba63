package mitm_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

func TestProxyAuthentication(t *testing.T) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct{ header, reason string }{
		{"", "no Proxy-Authorization"},
		{"Bearer x", `scheme "Bearer": only Basic`},
		{"Basic", "what follows Basic is not user:password in base64"},
		{"Basic !!", "what follows Basic is not user:password in base64"},
		{basic("nobody"), "what follows Basic is not user:password in base64"},
		{basic("other:secret"), `unknown user "other"`},
		{basic("user:wrong"), `wrong password for user "user"`},
		{basic("user:secret"), ""},
		{"bAsIc " + basic("user:secret")[6:], ""},
	} {
		for _, request := range []string{"CONNECT ADDR HTTP/1.1\r\nHost: ADDR\r\n", "GET http://ADDR/ HTTP/1.1\r\nHost: ADDR\r\n"} {
			t.Run(request[:4]+c.header, func(t *testing.T) {
				linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
					s := setUp(t, network, setting{
						origin: origin.Config{Plain: true, Handler: handler(func(w http.ResponseWriter, r *http.Request) {
							fmt.Fprint(w, r.Header["Proxy-Authorization"])
						})},
						proxy: mitm.Config{Auth: secret},
					})
					conn := dialProxy(t, network, s.proxy)
					reader := bufio.NewReader(conn)
					method, _, _ := strings.Cut(request, " ")
					ask := func(header string) *http.Response {
						if header != "" {
							header = "Proxy-Authorization: " + header + "\r\n"
						}
						io.WriteString(conn, replaceAddr(request, s.site.Addr)+header+"\r\n")
						resp, err := http.ReadResponse(reader, &http.Request{Method: method})
						require.NoError(t, err)
						return resp
					}
					resp := ask(c.header)
					if c.reason == "" {
						assert.Equal(t, 200, resp.StatusCode)
						return
					}
					assert.Equal(t, http.StatusProxyAuthRequired, resp.StatusCode)
					assert.Equal(t, `Basic realm="wiretest mitm", charset="UTF-8"`, resp.Header.Get("Proxy-Authenticate"))
					assert.Equal(t, "mitm: proxy authentication: "+c.reason+"\n", text(t, resp))
					resp = ask(basic("user:secret")) // on the same connection
					assert.Equal(t, 200, resp.StatusCode)
					if method == "GET" {
						assert.Equal(t, "[]", text(t, resp))
					}
					netlog.RequireConnections(t, s.proxy.Log(), 1, "", mitm.Downstream)
				})
			})
		}
	}
}

func TestDenialIsWrittenDown(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Auth: secret})
		_, reason := converse(t, network, proxy, "CONNECT a.test:1 HTTP/1.1\r\n\r\n", 0)
		assert.Equal(t, "proxy authentication: no Proxy-Authorization; client closed it before its first request", reason)
	})
}

// Inside a tunnel such a field is for the origin, and no business of ours; to a
// proxy that asks for nothing it is not for the origin either.
func TestCredentialsForTheProxyStayThere(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := setUp(t, network, setting{origin: origin.Config{Plain: true, Handler: handler(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Header["Proxy-Authorization"], r.Header["Authorization"])
		})}})
		req := s.request(t, "GET", "/", nil, "Proxy-Authorization", "Basic eDp5", "Authorization", "Basic for the origin")
		assert.Equal(t, "[] [Basic for the origin]", text(t, s.do(t, req)))
	})
}

func TestGoClientAuthenticates(t *testing.T) {
	for _, mode := range []mitm.Mode{mitm.Explicit, mitm.ExplicitTLS, mitm.SOCKS5} {
		t.Run(mode.String(), func(t *testing.T) {
			eachWorld(t, setting{origin: origin.Config{Handler: hello}, proxy: mitm.Config{Mode: mode, Auth: secret}}, func(t *testing.T, s *stage) {
				_, body := s.get(t, "/")
				assert.Equal(t, "hello", body)
				assert.NotContains(t, s.proxy.URL, "secret")
				u, _ := s.proxy.ProxyURL(nil)
				assert.Equal(t, secret, u.User)
			})
		})
	}
}
