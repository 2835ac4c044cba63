package mitm_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// Why the proxy behind does not lead to the origin is in the client's answer.
func TestViaFails(t *testing.T) {
	answer := func(says string) func(net.Conn) {
		return func(conn net.Conn) {
			bufio.NewReader(conn).ReadString('\n')
			io.WriteString(conn, says)
		}
	}
	answerAll := func(pairs ...string) func(net.Conn) {
		return func(conn net.Conn) {
			for i := 0; i < len(pairs); i += 2 {
				io.ReadFull(conn, make([]byte, len(pairs[i])))
				io.WriteString(conn, pairs[i+1])
			}
		}
	}
	const greeting, withUser, credentials = "\x05\x01\x00", "\x05\x01\x02", "\x01\x04user\x06secret"
	for _, c := range []struct {
		name, via string // with ADDR
		proxy     func(net.Conn)
		reason    string
	}{
		{"refuses the user", "http://user:wrong@ADDR", nil, `407 Proxy Authentication Required: mitm: proxy authentication: wrong password for user "user"`},
		{"asks for credentials", "http://ADDR", nil, "407 Proxy Authentication Required: mitm: proxy authentication: no Proxy-Authorization"},
		{"refuses by SOCKS", "socks5://ADDR", nil, "method 0 is not accepted"},
		{"refuses the user by SOCKS", "socks5://user:wrong@ADDR", nil, "user and password are not accepted"},
		{"cannot reach it", "http://user:secret@ADDR", nil, "502 Bad Gateway: mitm: upstream leg: dial origin.test:7: connection refused"},
		{"cannot reach it by SOCKS", "socks5://user:secret@ADDR", nil, "reply 5: connection refused"},
		{"says nothing", "http://ADDR", answer(""), "answer: unexpected EOF"},
		{"forbids", "http://ADDR", answer("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), "403 Forbidden"},
		{"is not HTTP", "http://ADDR", answer("SSH-2.0-x\r\n"), `answer: malformed HTTP response "SSH-2.0-x"`},
		{"is not SOCKS", "socks5://ADDR", answerAll(greeting, "HTTP/1.1"), `answered with "HT", not SOCKS5`},
		{"ends in the middle of SOCKS", "socks5://ADDR", answerAll(greeting, "\x05"), "answer: unexpected EOF"},
		{"has a word too many", "socks5://user:secret@ADDR", answerAll(withUser, "\x05\x02", credentials, "\x01\x00", connectToName, "\x05\x63\x00\x01\x00\x00\x00\x00\x00\x00"), "reply 99: unassigned"},
		{"replies in another version", "socks5://ADDR", answerAll(greeting, "\x05\x00", connectToName, "\x04\x5a\x00\x00\x00\x00\x00\x00"), "answered with 04 5a 00 00, not SOCKS5"},
		{"has bound no address", "socks5://ADDR", answerAll(greeting, "\x05\x00", connectToName, "\x05\x00\x00\x02\x00\x00"), "the reply has an address of type 2, which is none"},
		{"has no end of its head", "http://ADDR", answer("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70_000)), "head of the answer is longer than 65536 bytes"},
		{"has no TLS", "https://ADDR", answer("HTTP/1.1 400 Bad Request\r\n\r\n"), "TLS with the proxy: tls: first record does not look like a TLS handshake"},
	} {
		t.Run(c.name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				network.Host("origin.test")
				var addr string
				if c.proxy == nil {
					addr = mitm.New(t, &mitm.Config{
						Mode: mitm.Explicit | mitm.SOCKS5, Auth: secret, Net: network.Host("via.test"), Passthrough: []string{"origin.test"},
					}).Addr
				} else {
					addr = accepting(t, network.Host("via.test"), c.proxy)
				}
				proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Via: replaceAddr(c.via, addr)})
				resp, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get("https://origin.test:7/")
				require.NoError(t, err)
				assert.Equal(t, 502, resp.StatusCode)
				body := text(t, resp)
				assert.Contains(t, body, "mitm: upstream leg: dial origin.test:7: via ")
				assert.Regexp(t, `: via \S+`+regexp.QuoteMeta(addr+": "+c.reason)+"\n", body)
				assert.NotContains(t, body, "secret")
				up := proxy.Log().Connections(mitm.Upstream)[0]
				assert.Contains(t, up.CloseReason, c.reason)
				assert.Equal(t, addr, up.Proxy)
			})
		})
	}
}

func TestViaIsNotThere(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), Via: "http://nowhere.test"})
		resp, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get("https://origin.test/")
		require.NoError(t, err)
		assert.Equal(t, "mitm: upstream leg: dial origin.test:443: via http://nowhere.test:80: no such host\n", short(text(t, resp)))
	})
}

// Two that intercept, one behind the other: each has its own legs.
func TestViaAnotherThatIntercepts(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
		behind := mitm.New(t, &mitm.Config{CA: ca.New(t, nil), Net: network.Host("via.test"), RootCAs: site.CA().Pool()})
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), RootCAs: behind.CA().Pool(), Via: behind.URL})
		resp, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get(site.URL)
		require.NoError(t, err)
		assert.Equal(t, "hello", text(t, resp))
		for _, one := range []*mitm.Proxy{proxy, behind} {
			netlog.RequireConnections(t, one.Log(), 1, "h2", mitm.Downstream, netlog.Used())
			netlog.RequireConnections(t, one.Log(), 1, "h2", mitm.Upstream, netlog.Used())
		}
	})
}
