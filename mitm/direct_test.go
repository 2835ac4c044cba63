package mitm_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// leading is a Config.Dial that goes to one address whatever is asked for, and
// keeps what was.
func leading(network *linkdelay.Network, addr string, asked chan<- string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, proto, address string) (net.Conn, error) {
		asked <- address
		return network.Host("proxy.test").DialContext(ctx, proto, addr)
	}
}

var describe = handler(func(w http.ResponseWriter, r *http.Request) {
	sni := "plain"
	if r.TLS != nil {
		sni = r.TLS.ServerName
	}
	fmt.Fprintf(w, "%s %s by %s", r.Host, r.RequestURI, sni)
})

// By name, a client finds the origin at ports 443 and 80, through a proxy of
// which it knows nothing.
func TestTransparent(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		asked := make(chan string, 10)
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: describe})
		plain := origin.New(t, &origin.Config{Net: network.Host("plain.test"), Handler: describe, Plain: true})
		start := func(addr string) *http.Client {
			proxy := mitm.New(t, &mitm.Config{
				Mode: mitm.Transparent, Net: network.Host("proxy.test"), RootCAs: site.CA().Pool(),
				Dial: leading(network, addr, asked),
			})
			return &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
		}
		for _, c := range []struct{ url, addr, asked, got string }{
			{"https://shop.example/a", site.Addr, "shop.example:443", "shop.example /a by shop.example"},
			{"https://shop.example:8443/a", site.Addr, "shop.example:443", "shop.example:8443 /a by shop.example"},
			{"http://shop.example/a", plain.Addr, "shop.example:80", "shop.example /a by plain"},
			{"http://shop.example:8080/a", plain.Addr, "shop.example:8080", "shop.example:8080 /a by plain"},
		} {
			resp, err := start(c.addr).Get(c.url)
			require.NoError(t, err, c.url)
			assert.Equal(t, c.got, text(t, resp), c.url)
			assert.Equal(t, c.asked, <-asked, c.url)
		}
	})
}

// One connection may ask several origins.
func TestTransparentByHostOfEachRequest(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		asked := make(chan string, 10)
		plain := origin.New(t, &origin.Config{Net: network.Host("plain.test"), Handler: describe, Plain: true})
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.Transparent, Net: network.Host("proxy.test"), Dial: leading(network, plain.Addr, asked)})
		conn := newRawH1(dialProxy(t, network, proxy))
		for _, name := range []string{"a.example", "b.example:81"} {
			s := &side{call: &rawH1Call{conn: conn, host: name}, t: t, name: "client", proto: alpn.HTTP11, client: true}
			s.head("GET /", nothing)
			s.wantHead("200")
			s.wantData(name + " / by plain")
			s.wantEnd()
		}
		assert.Equal(t, []string{"a.example:80", "b.example:81"}, []string{<-asked, <-asked})
	})
}

func TestTransparentRefusals(t *testing.T) {
	for _, c := range []struct{ says, hears, reason string }{
		{says: "GET / HTTP/1.0\r\n\r\n", hears: "400 Bad Request"},
		{says: "GET / HTTP/1.1\r\nHost: a:0\r\n\r\n", hears: "400 Bad Request"},
		{says: "CONNECT a.test:1 HTTP/1.1\r\nHost: a.test:1\r\n\r\n", hears: "405 Method Not Allowed"},
		{says: "\x05\x01\x00", reason: "not HTTP: a SOCKS5 greeting"},
		{says: "\x16\x03\x01\x00\x05\x01\x00", reason: "unexpected EOF"},
	} {
		linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			proxy := mitm.New(t, &mitm.Config{Mode: mitm.Transparent, Net: network.Host("proxy.test")})
			heard, reason := converse(t, network, proxy, c.says, 0)
			line, _, _ := strings.Cut(heard, "\r\n")
			assert.Equal(t, c.hears, strings.TrimPrefix(strings.TrimPrefix(line, "HTTP/1.1 "), "HTTP/1.0 "), c.says)
			assert.Contains(t, reason, c.reason, c.says)
		})
	}
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.Transparent, Net: network.Host("proxy.test")})
		conn := tls.Client(dialProxy(t, network, proxy), &tls.Config{InsecureSkipVerify: true})
		assert.Error(t, conn.Handshake())
		assert.Equal(t, "no SNI in the ClientHello, and so no origin: Mode is Transparent", proxy.Log().Connections()[0].CloseReason)
	})
}

func TestPassthroughWithoutCONNECTFails(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.Transparent, Net: network.Host("proxy.test"), Passthrough: []string{"nowhere.test"}})
		_, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get("https://nowhere.test/")
		assert.Error(t, err)
		assert.Equal(t, "upstream leg: dial nowhere.test:443: no such host", short(proxy.Log().Connections(mitm.Downstream)[0].CloseReason))
	})
}

// With TLS and without on the client's side, whatever the origin speaks; Host is
// the client's, SNI the origin's.
func TestReverse(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprint("plain ", plain), func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: describe, Plain: plain})
				cfg := mitm.Config{Mode: mitm.Reverse, Net: network.Host("proxy.test"), Origin: site.URL}
				sni := "plain"
				if !plain {
					cfg.RootCAs, sni = site.CA().Pool(), "origin.test"
				}
				proxy := mitm.New(t, &cfg)
				client := &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
				assert.True(t, strings.HasPrefix(proxy.URL, strings.TrimSuffix(site.URL, "://"+site.Addr)+"://"), proxy.URL)
				for _, url := range []string{proxy.URL, "http://" + proxy.Addr, "https://" + proxy.Addr, "https://other.example"} {
					resp, err := client.Get(url + "/x?y")
					require.NoError(t, err, url)
					_, host, _ := strings.Cut(url, "://")
					assert.Equal(t, host+" /x?y by "+sni, text(t, resp), url)
				}
				for _, c := range proxy.Log().Connections(mitm.Upstream) {
					assert.Equal(t, site.Addr, c.Host)
				}
			})
		})
	}
}

// The client is offered what the origin chooses, in every mode that intercepts.
func TestMirrorInEveryMode(t *testing.T) {
	for _, m := range eachMode() {
		t.Run(m.name, func(t *testing.T) {
			for _, up := range []string{alpn.HTTP11, alpn.H2} {
				linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
					authority := ca.New(t, nil)
					site := origin.New(t, &origin.Config{CA: authority, Net: network.Host("origin.test"), ALPN: alpn.Only(up), Handler: hello})
					cfg := m.cfg
					cfg.Net, cfg.CA, cfg.RootCAs, cfg.Downstream.Mirror = network.Host("proxy.test"), authority, authority.Pool(), true
					cfg = leadTo(t, network, authority, cfg, site.Addr)
					proxy := mitm.New(t, &cfg)
					resp, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get(site.URL)
					require.NoError(t, err)
					text(t, resp)
					netlog.RequireConnections(t, proxy.Log(), 1, up, mitm.Downstream, netlog.Used())
				})
			}
		})
	}
}

// All on one port, by the first byte.
func TestModesShareAListener(t *testing.T) {
	for _, with := range []mitm.Mode{mitm.ExplicitTLS, mitm.Transparent, mitm.Reverse} {
		t.Run(with.String(), func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
				plain := origin.New(t, &origin.Config{Net: network.Host("plain.test"), Handler: describe, Plain: true})
				cfg := mitm.Config{Mode: mitm.Explicit | mitm.SOCKS5 | with, Net: network.Host("proxy.test"), RootCAs: site.CA().Pool()}
				if with == mitm.Reverse {
					cfg.Origin = plain.URL
				}
				proxy := mitm.New(t, &cfg)
				assert.Equal(t, "http://"+proxy.Addr, proxy.URL)
				assert.Equal(t, "socks5://"+proxy.Addr, proxy.URLOf(mitm.SOCKS5))
				assert.Empty(t, proxy.URLOf(mitm.SOCKS5|mitm.Explicit))
				pc := network.Host("pc.test")
				// Explicit, which is its first.
				client := &http.Client{Transport: proxy.Transport(pc)}
				for _, url := range []string{site.URL, plain.URL} {
					resp, err := client.Get(url)
					require.NoError(t, err)
					text(t, resp)
				}
				// SOCKS5.
				conn := dialProxy(t, network, proxy)
				io.WriteString(conn, "\x05\x01\x00")
				reply := make([]byte, 2)
				io.ReadFull(conn, reply)
				assert.Equal(t, "\x05\x00", string(reply))
				// A request in origin-form.
				h1 := newRawH1(dialProxy(t, network, proxy))
				s := &side{call: &rawH1Call{conn: h1, host: plain.Addr}, t: t, name: "client", proto: alpn.HTTP11, client: true}
				s.head("GET /o", nothing)
				if with == mitm.ExplicitTLS {
					s.wantHead("400")
					s.wantData("mitm: GET /o: not a request to a proxy: want an absolute URL or CONNECT")
				} else {
					s.wantHead("200")
					s.wantData(plain.Addr + " /o by plain")
				}
				// TLS at once.
				secured := tls.Client(dialProxy(t, network, proxy), &tls.Config{RootCAs: proxy.CA().Pool(), ServerName: "origin.test"})
				require.NoError(t, secured.Handshake())
			})
		})
	}
}

// Who asks for an address, and so without SNI, is shown a certificate for it.
func TestReverseByAddress(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: describe})
	proxy := mitm.New(t, &mitm.Config{Mode: mitm.Reverse, Origin: strings.Replace(site.URL, "127.0.0.1", "localhost", 1), RootCAs: site.CA().Pool()})
	resp, err := proxy.Client().Get(proxy.URL + "/")
	require.NoError(t, err)
	assert.Equal(t, proxy.Addr+" / by localhost", text(t, resp))
}
