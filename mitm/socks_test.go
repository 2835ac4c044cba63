package mitm_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

const connectToName = "\x05\x01\x00\x03\x0borigin.test\x00\x50"

// What a client says, what it hears until the connection ends, and what is
// written down.
func TestSOCKSRefusals(t *testing.T) {
	long := strings.Repeat("u", 255)
	for _, c := range []struct {
		name, says, hears, reason string
		auth, stays               bool // whether it is to hear all before it ends
	}{
		{name: "half a greeting", says: "\x05\x02\x00", reason: "SOCKS5: client closed it in the middle of its greeting, after 3 bytes"},
		{name: "no method", says: "\x05\x00", hears: "\x05\xff", reason: "SOCKS5: the client offers the methods [], not 0, none; Config.Auth is nil"},
		{name: "only GSSAPI", says: "\x05\x01\x01", hears: "\x05\xff", reason: "SOCKS5: the client offers the methods [1], not 0, none; Config.Auth is nil"},
		{name: "no credentials", auth: true, says: "\x05\x01\x00", hears: "\x05\xff", reason: "SOCKS5: proxy authentication: the client offers the methods [0], not 2, user and password (RFC 1929)"},
		{name: "version of credentials", auth: true, says: "\x05\x01\x02\x05\x04user", hears: "\x05\x02", reason: "SOCKS5: credentials begin with version 5, not 1 (RFC 1929, section 2)"},
		{name: "half of credentials", auth: true, says: "\x05\x01\x02\x01\x04us", hears: "\x05\x02", reason: "SOCKS5: client closed it in the middle of its credentials, after 4 bytes"},
		{name: "unknown user", auth: true, says: "\x05\x01\x02\x01\x05other\x06secret", hears: "\x05\x02\x01\x01", reason: `SOCKS5: proxy authentication: unknown user "other"`},
		{name: "long credentials", auth: true, says: "\x05\x01\x02\x01\xff" + long + "\xff" + long, hears: "\x05\x02\x01\x01", reason: fmt.Sprintf("SOCKS5: proxy authentication: unknown user %q", long)},
		{name: "wrong password", auth: true, says: "\x05\x01\x02\x01\x04user\x03bad", hears: "\x05\x02\x01\x01", reason: `SOCKS5: proxy authentication: wrong password for user "user"`},
		{name: "half a request", says: "\x05\x01\x00\x05\x01\x00\x03\x0bori", hears: "\x05\x00\x05\x01", reason: "SOCKS5: client closed it in the middle of its request, after 8 bytes"},
		{name: "version of the request", says: "\x05\x01\x00\x04\x01\x00\x01", hears: "\x05\x00\x05\x01", reason: "SOCKS5: request begins with 04 01 00 01: want version 5, and 0 in the third place"},
		{name: "reserved", says: "\x05\x01\x00\x05\x01\x01\x01", hears: "\x05\x00\x05\x01", reason: "SOCKS5: request begins with 05 01 01 01: want version 5, and 0 in the third place"},
		{name: "BIND", says: "\x05\x01\x00\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", hears: "\x05\x00\x05\x07", reason: "SOCKS5: BIND: only CONNECT"},
		{name: "UDP ASSOCIATE", says: "\x05\x01\x00\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", hears: "\x05\x00\x05\x07", reason: "SOCKS5: UDP ASSOCIATE: only CONNECT"},
		{name: "unknown command", says: "\x05\x01\x00\x05\x09\x00\x01\x00\x00\x00\x00\x00\x00", hears: "\x05\x00\x05\x07", reason: "SOCKS5: command 9: only CONNECT"},
		{name: "address type", says: "\x05\x01\x00\x05\x01\x00\x02", hears: "\x05\x00\x05\x08", reason: "SOCKS5: address type 2: want 1, 3 or 4 (RFC 1928, section 5)"},
		{name: "empty name", says: "\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", hears: "\x05\x00\x05\x01", reason: `SOCKS5: ":80": no host`},
		{name: "a name with a control character", says: "\x05\x01\x00\x05\x01\x00\x03\x03a\x00b\x00\x50", hears: "\x05\x00\x05\x01", reason: `SOCKS5: "a\x00b:80": not a host name`},
		{name: "a name with a slash", says: "\x05\x01\x00\x05\x01\x00\x03\x03a/b\x00\x50", hears: "\x05\x00\x05\x01", reason: `SOCKS5: "a/b:80": not a host name`},
		{name: "a name with a colon", says: "\x05\x01\x00\x05\x01\x00\x03\x03a:b\x00\x50", hears: "\x05\x00\x05\x01", reason: `SOCKS5: "[a:b]:80": not a host name`},
		{name: "no name", says: "\x05\x01\x00\x05\x01\x00\x03\x03a b\x00\x50", hears: "\x05\x00\x05\x01", reason: `SOCKS5: "a b:80": not a host name`},
		{name: "port 0", says: "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x00", hears: "\x05\x00\x05\x01", reason: `SOCKS5: "127.0.0.1:0": port must be from 1 to 65535`},
		{name: "refused", stays: true, says: "\x05\x01\x00\x05\x01\x00\x03\x0cpassing.test\x00\x07", hears: "\x05\x00\x05\x05", reason: "SOCKS5: upstream leg: dial passing.test:7: connection refused"},
		{name: "unknown name", stays: true, says: "\x05\x01\x00\x05\x01\x00\x03\x0cnowhere.test\x00\x07", hears: "\x05\x00\x05\x04", reason: "SOCKS5: upstream leg: dial nowhere.test:7: no such host"},
		{name: "neither TLS nor HTTP", says: "\x05\x01\x00" + connectToName + "\x00\x01\x02\x03\x04\x05", hears: "\x05\x00\x05\x00", reason: "after SOCKS5: "},
		{name: "an HTTP client", says: "GET / HTTP/1.1\r\n\r\n", reason: `begins with "G", and Mode is SOCKS5`},
		{name: "SOCKS4", says: "\x04\x01\x00\x50\x7f\x00\x00\x01\x00", reason: "a SOCKS4 greeting, and Mode is SOCKS5"},
		{name: "TLS", says: "\x16\x03\x01", reason: "a TLS handshake, and Mode is SOCKS5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				network.Host("passing.test")
				cfg := mitm.Config{Mode: mitm.SOCKS5, Net: network.Host("proxy.test"), Passthrough: []string{"passing.test", "nowhere.test"}}
				if c.auth {
					cfg.Auth = secret
				}
				proxy := mitm.New(t, &cfg)
				first := 0
				if c.stays {
					first = len("\x05\x00") + 10
				}
				heard, reason := converse(t, network, proxy, c.says, first)
				if len(heard) > len(c.hears) && len(c.hears) >= 4 {
					heard = heard[:len(c.hears)] // of a reply the address is always the same
				}
				assert.Equal(t, c.hears, heard)
				if strings.HasSuffix(c.reason, ": ") {
					assert.Contains(t, reason, c.reason)
				} else {
					assert.Equal(t, c.reason, short(reason))
				}
				assert.NotContains(t, reason, "secret")
			})
		})
	}
}

// converse says something to the proxy, waits for the first bytes of an answer,
// ends what it says, and returns what came back and why the connection ended.
func converse(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy, says string, first int) (heard, reason string) {
	t.Helper()
	conn := dialProxy(t, network, proxy)
	io.WriteString(conn, says)
	b := make([]byte, first)
	n, _ := io.ReadFull(conn, b)
	conn.(interface{ CloseWrite() error }).CloseWrite()
	rest, _ := io.ReadAll(conn)
	b = append(b[:n], rest...)
	synctestSettle(t, func() bool {
		c := proxy.Log().Connections(mitm.Downstream)
		return len(c) == 1 && c[0].CloseReason != ""
	})
	return string(b), proxy.Log().Connections(mitm.Downstream)[0].CloseReason
}

func dialProxy(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy) net.Conn {
	t.Helper()
	conn, err := network.Host("pc.test").DialContext(t.Context(), "tcp", proxy.Addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Byte for byte, in pieces of one byte, and with what follows close behind.
func TestSOCKSInPieces(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := setUp(t, network, setting{proxy: mitm.Config{Mode: mitm.SOCKS5, Auth: secret, Passthrough: []string{"echo.test"}}})
		addr := accepting(t, network.Host("echo.test"), func(conn net.Conn) { io.Copy(conn, conn) })
		_, port, _ := net.SplitHostPort(addr)
		var n int
		fmt.Sscan(port, &n)
		conn := dialProxy(t, network, s.proxy)
		words := "\x05\x03\x00\x01\x02" + "\x01\x04user\x06secret" +
			"\x05\x01\x00\x03\x09echo.test" + string([]byte{byte(n >> 8), byte(n)}) + "and more"
		for i := range words {
			io.WriteString(conn, words[i:i+1])
		}
		conn.(interface{ CloseWrite() error }).CloseWrite()
		got, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.Equal(t, "\x05\x02"+"\x01\x00"+"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"+"and more", string(got))
	})
}

// cuts are all beginnings of a conversation, each with why its client was not
// served if it then ends.
func cuts() (all []struct{ says, reason string }) {
	add := func(says, reason string) { all = append(all, struct{ says, reason string }{says, reason}) }
	add("", "client closed it before its first request")
	said := ""
	for _, part := range []struct{ name, words string }{
		{"greeting", "\x05\x03\x00\x01\x02"}, {"credentials", "\x01\x04user\x06secret"}, {"request", connectToName},
	} {
		if said != "" {
			add(said, "SOCKS5: client closed it before its "+part.name)
		}
		for n := 1; n < len(part.words); n++ {
			bytes := fmt.Sprint(n, " bytes")
			if n == 1 {
				bytes = "1 byte"
			}
			add(said+part.words[:n], fmt.Sprintf("SOCKS5: client closed it in the middle of its %s, after %s", part.name, bytes))
		}
		said += part.words
	}
	return all
}

func TestSOCKSCutAtEachByte(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.SOCKS5, Auth: secret, Net: network.Host("proxy.test")})
		last := func() netlog.Connection {
			all := proxy.Log().Connections()
			return all[len(all)-1]
		}
		for _, c := range cuts() {
			conn := dialProxy(t, network, proxy)
			io.WriteString(conn, c.says)
			conn.(interface{ CloseWrite() error }).CloseWrite()
			_, err := io.ReadAll(conn)
			require.NoError(t, err, "after %q", c.says)
			synctestSettle(t, func() bool { return last().CloseReason != "" })
			assert.Equal(t, c.reason, last().CloseReason, "after %q", c.says)
		}
	})
}

// Clients that stop anywhere hold up no Close.
func TestSOCKSStoppedAtEachByte(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		proxy := mitm.New(t, &mitm.Config{Mode: mitm.SOCKS5, Auth: secret, Net: network.Host("proxy.test")})
		n := len(cuts())
		for _, c := range cuts() {
			io.WriteString(dialProxy(t, network, proxy), c.says)
		}
		synctestSettle(t, func() bool { return len(proxy.Log().Connections()) == n })
		began := time.Now()
		require.NoError(t, proxy.Close())
		if inVirtualTime(t) {
			assert.Zero(t, time.Since(began))
		}
		for i, c := range proxy.Log().Connections() {
			assert.Equal(t, "proxy closed", c.CloseReason, "after %q", cuts()[i].says)
		}
	})
}

// Addresses of all three kinds reach their origin.
func TestSOCKSAddresses(t *testing.T) {
	var six net.Listener
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		six = l
		defer six.Close()
	}
	proxy := mitm.New(t, &mitm.Config{Mode: mitm.SOCKS5, Passthrough: []string{"127.0.0.1", "::1", "localhost"}})
	four, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer four.Close()
	greetOn := func(l net.Listener) {
		conn, err := l.Accept()
		if err == nil {
			io.WriteString(conn, "from "+l.Addr().Network())
			conn.Close()
		}
	}
	_, port, _ := net.SplitHostPort(four.Addr().String())
	tried := map[string]net.Listener{four.Addr().String(): four, "localhost:" + port: four}
	if six != nil {
		tried[six.Addr().String()] = six
	}
	for address, l := range tried {
		go greetOn(l)
		conn, err := proxy.DialContext(t.Context(), "tcp", address)
		require.NoError(t, err, address)
		got, err := io.ReadAll(conn)
		require.NoError(t, err, address)
		assert.Equal(t, "from tcp", string(got), address)
		conn.Close()
	}
	for _, c := range proxy.Log().Connections(mitm.Upstream) {
		assert.NotNil(t, tried[c.Host], c.Host)
	}
}
