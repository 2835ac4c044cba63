package mitm_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
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

// toProxy is a connection to the proxy itself.
func (s *stage) toProxy(t *testing.T) net.Conn {
	t.Helper()
	conn, err := s.network.Host("pc.test").DialContext(t.Context(), "tcp", strings.TrimPrefix(s.proxy.URL, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestClientsThatAreNone(t *testing.T) {
	for name, c := range map[string]struct{ sent, reason string }{
		"nothing":            {"", "client closed it before its first request"},
		"TLS":                {"\x16\x03\x01\x00\x05hello", "not HTTP: a TLS handshake with the proxy itself; its URL begins with http://"},
		"SOCKS4":             {"\x04\x01\x00\x50", "not HTTP: a SOCKS4 greeting"},
		"SOCKS":              {"\x05\x01\x00", "not HTTP: a SOCKS5 greeting"},
		"garbage":            {"GE\x00\x01garbage", `not HTTP: begins with "GE\x00"`},
		"endless word":       {strings.Repeat("A", 100), `not HTTP: begins with "` + strings.Repeat("A", 32) + `"`},
		"half a method":      {"CONN", `client closed it in the middle of a method: "CONN"`},
		"half a head":        {"CONNECT origin.test:443 HTTP/1.1\r\nHost:", "client closed it in the middle of the head of its CONNECT, after 39 bytes"},
		"endless head":       {"CONNECT origin.test:443 HTTP/1.1\r\nX: " + strings.Repeat("x", 70_000), "head of CONNECT is longer than 65536 bytes"},
		"no port":            {"CONNECT origin.test HTTP/1.1\r\n\r\n", `CONNECT: "origin.test": want host:port`},
		"port 0":             {"CONNECT origin.test:0 HTTP/1.1\r\n\r\n", `CONNECT: "origin.test:0": port must be from 1 to 65535`},
		"no host":            {"CONNECT :443 HTTP/1.1\r\n\r\n", `CONNECT: ":443": no host`},
		"not a version":      {"CONNECT origin.test:443 HTTQ\r\n\r\n", `CONNECT: malformed HTTP version "HTTQ"`},
		"garbage in CONNECT": {"CONNECT origin.test:443 HTTP/1.1\r\n\r\n\x00\x01\x02", `after CONNECT: alpn: ClientHello: byte 0: not a ClientHello but garbage: "\x00\x01\x02"`},
		"SSH in CONNECT":     {"CONNECT origin.test:22 HTTP/1.1\r\n\r\nSSH-2.0-x\r\n", `after CONNECT: alpn: ClientHello: byte 0: not a ClientHello but an SSH banner: "SSH-2.0-x"`},
		"h2c in CONNECT":     {"CONNECT origin.test:80 HTTP/1.1\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", `after CONNECT: alpn: ClientHello: byte 0: not a ClientHello but an HTTP/2 preface: "PRI * HTTP/2.0"`},
		"half a hello":       {"CONNECT origin.test:443 HTTP/1.1\r\n\r\n\x16\x03\x01", "after CONNECT: alpn: ClientHello: byte 3: truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
				conn := s.toProxy(t)
				_, err := io.WriteString(conn, c.sent)
				require.NoError(t, err)
				conn.(interface{ CloseWrite() error }).CloseWrite()
				answer, _ := io.ReadAll(conn) // ends, because the proxy closes
				log := s.proxy.Log()
				synctestSettle(t, func() bool { return log.Connections()[0].CloseReason != "" })
				assert.Contains(t, log.Connections()[0].CloseReason, c.reason)
				if strings.HasPrefix(c.reason, "CONNECT") {
					assert.Equal(t, http.StatusBadRequest, statusOf(t, answer))
					assert.Contains(t, string(answer), "\r\n\r\nmitm: "+c.reason+"\n")
				}
				netlog.RequireConnections(t, log, 1, "")
				assert.Empty(t, log.Requests())
			})
		})
	}
}

func statusOf(t *testing.T, answer []byte) int {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(answer))), nil)
	require.NoError(t, err, "%q", answer)
	return resp.StatusCode
}

// A client may send its hello with CONNECT, without waiting; and it may send
// everything byte by byte.
func TestConnectInAnyCut(t *testing.T) {
	for name, cut := range map[string]int{"at once": 1 << 20, "byte by byte": 1} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
				conn := &eager{Conn: s.toProxy(t), ahead: fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", s.site.Addr), cut: cut}
				cfg := s.proxy.CA().ClientTLS()
				cfg.ServerName = "origin.test"
				secured := tls.Client(conn, cfg)
				_, err := io.WriteString(secured, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n")
				require.NoError(t, err)
				resp, err := http.ReadResponse(bufio.NewReader(secured), nil)
				require.NoError(t, err)
				assert.Equal(t, "hello", text(t, resp))
			})
		})
	}
}

// eager sends ahead with its first write, in pieces of cut bytes, and takes the
// answer to CONNECT out of what it reads.
type eager struct {
	net.Conn
	ahead    string
	cut      int
	answered bool
}

func (e *eager) Write(p []byte) (int, error) {
	all := append([]byte(e.ahead), p...)
	e.ahead = ""
	for len(all) > 0 {
		n := min(e.cut, len(all))
		if _, err := e.Conn.Write(all[:n]); err != nil {
			return 0, err
		}
		all = all[n:]
	}
	return len(p), nil
}

func (e *eager) Read(p []byte) (int, error) {
	for tail := ""; !e.answered; {
		var b [1]byte
		if _, err := e.Conn.Read(b[:]); err != nil {
			return 0, err
		}
		tail += string(b[:])
		e.answered = strings.HasSuffix(tail, "\r\n\r\n")
	}
	return e.Conn.Read(p)
}

// The name that a client asks for by SNI wins over its CONNECT target; without
// one the target is what the leaf is for.
func TestLeafIsForWhatTheClientAsksFor(t *testing.T) {
	eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
		_, port, _ := net.SplitHostPort(s.site.Addr)
		for sni, want := range map[string]string{"other.example": "other.example", "": "origin.test"} {
			conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", "origin.test:"+port)
			require.NoError(t, err)
			secured := tls.Client(conn, &tls.Config{ServerName: sni, InsecureSkipVerify: true})
			require.NoError(t, secured.Handshake())
			assert.Equal(t, []string{want}, secured.ConnectionState().PeerCertificates[0].DNSNames)
			secured.Close()
		}
		for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
			conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", net.JoinHostPort(ip, "443"))
			require.NoError(t, err)
			cfg := s.proxy.CA().ClientTLS()
			cfg.ServerName = ip
			secured := tls.Client(conn, cfg)
			assert.NoError(t, secured.Handshake(), ip)
			secured.Close()
		}
	})
}

// plainSite echoes requests, without TLS and without fields of its own.
func plainSite(t *testing.T, network *linkdelay.Network) (addr string) {
	return accepting(t, network.Host("plain.test"), func(conn net.Conn) {
		for reader := bufio.NewReader(conn); ; {
			req, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			body := fmt.Sprintf("%s %s %s %v", req.Method, req.RequestURI, req.Host, req.Header)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	})
}

func TestPlainHTTPIsForwarded(t *testing.T) {
	eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
		addr := plainSite(t, s.network)
		s.tr.DisableCompression = true
		for range 2 {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/a%20b?c", nil)
			req.Header["User-Agent"] = nil
			resp := s.do(t, req)
			assert.Equal(t, "GET /a%20b?c "+addr+" map[]", text(t, resp))
			assert.NotContains(t, resp.Header, "Date")
		}
		down := s.proxy.Log().Connections(mitm.Downstream)
		require.Len(t, down, 1)
		assert.Equal(t, addr, down[0].Host)
		assert.Equal(t, netlog.NoALPN, down[0].ALPN)
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.HTTP11, mitm.Upstream)
		for _, q := range s.proxy.Log().Requests() {
			assert.Equal(t, "http://"+addr+"/a%20b?c", q.URL)
		}
	})
}

func TestPlainHTTPInsideConnect(t *testing.T) {
	eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
		addr := plainSite(t, s.network)
		conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		io.WriteString(conn, "GET /a|b HTTP/1.1\r\nHost: some.name\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		assert.Equal(t, "GET /a|b some.name map[]", text(t, resp))
		assert.Equal(t, addr, s.proxy.Log().Connections(mitm.Downstream)[0].Host)
	})
}

// Each name has connections of its own, and the origin is asked for it.
func TestNamesOfOneTargetAreKeptApart(t *testing.T) {
	s := serving(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.TLS.ServerName) })
	s.up = alpn.H2
	eachWorld(t, s, func(t *testing.T, s *stage) {
		for _, name := range []string{"a.example", "b.example", "a.example"} {
			conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", s.site.Addr)
			require.NoError(t, err)
			defer conn.Close()
			cfg := s.proxy.CA().ClientTLS()
			cfg.ServerName = name
			secured := tls.Client(conn, cfg)
			io.WriteString(secured, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(secured), nil)
			require.NoError(t, err)
			assert.Equal(t, name, text(t, resp))
		}
		netlog.RequireConnections(t, s.proxy.Log(), 2, alpn.H2, mitm.Upstream)
	})
}

func TestRequestsThatAreNoneToAProxy(t *testing.T) {
	for name, c := range map[string]struct {
		request, body string
		status        int
	}{
		"origin-form": {"GET /path HTTP/1.1\r\nHost: x.test\r\n\r\n",
			"mitm: GET /path: not a request to a proxy: want an absolute URL or CONNECT (RFC 9112, section 3.2)\n", 400},
		"https": {"GET https://x.test/ HTTP/1.1\r\nHost: x.test\r\n\r\n",
			"mitm: GET https://x.test/: scheme \"https\" in a request line: only http; TLS comes by CONNECT\n", 400},
		"late CONNECT": {"GET http://plain.test:9/ HTTP/1.1\r\nHost: x\r\n\r\nCONNECT x.test:443 HTTP/1.1\r\nHost: x.test\r\n\r\n",
			"mitm: CONNECT x.test:443: CONNECT must be the first request on its connection\n", 501},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
				conn := s.toProxy(t)
				io.WriteString(conn, c.request)
				conn.SetReadDeadline(time.Now().Add(patience))
				reader := bufio.NewReader(conn)
				resp, err := http.ReadResponse(reader, nil)
				require.NoError(t, err)
				body := text(t, resp)
				if strings.HasPrefix(c.request, "GET http:") {
					assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
					resp, err = http.ReadResponse(reader, nil)
					require.NoError(t, err)
					body = text(t, resp)
				}
				assert.Equal(t, c.status, resp.StatusCode)
				assert.Equal(t, c.body, body)
				assert.True(t, resp.Close)
			})
		})
	}
}
