package origin_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

func TestPlainInBothWorlds(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		t.Run(proto, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Plain: true, ALPN: alpn.Only(proto), Handler: hello})
				client, log := recorded(t, s.Transport(network.Host("pc.test")))
				for range 3 {
					body, resp := get(t, client, s.URL)
					assert.Equal(t, "hello", body)
					assert.Nil(t, resp.TLS)
				}
				assert.Contains(t, s.URL, "http://")
				requireAtOnce(t, 1, proto, log, s)
				assert.Zero(t, s.Log().Connections()[0].TLSVersion)
				assert.Contains(t, s.Log().Requests()[0].URL, "http://")
			})
		})
	}
}

// curl, which knows nothing of the origin, by prior knowledge, by HTTP/1.1 and
// by HTTP/1.0, and with an Upgrade that is not taken.
func TestCurlInPlain(t *testing.T) {
	curl := tool(t, "curl", "curl")
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Plain: true, Handler: hello})
	for arg, version := range map[string]string{"--http2-prior-knowledge": "2", "--http1.1": "1.1", "--http1.0": "1", "--http2": "1.1"} {
		before := len(s.Log().Connections())
		told := run(t, curl, "-sS", "-o", os.DevNull, "-w", "%{http_version} %{http_code} %{num_connects}", arg, s.URL)
		assert.Equal(t, version+" 200 1", told, arg)
		assert.Len(t, s.Log().Connections(), before+1, arg)
	}
	netlog.RequireConnections(t, s.Log(), 1, alpn.H2, netlog.Protocol(alpn.H2))
	netlog.RequireConnections(t, s.Log(), 1, alpn.HTTP10, netlog.Protocol(alpn.HTTP10))
	netlog.RequireConnections(t, s.Log(), 2, alpn.HTTP11, netlog.Protocol(alpn.HTTP11))
}

// A client of HTTP/1.0 gets no chunks, and the connection's end for a length.
func TestHTTP10(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Plain: true, Handler: origin.Body{Size: 10, Length: -1, Chunk: 3}})
	conn := must(net.Dial("tcp", s.Addr))
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", s.Addr)
	answer := string(must(io.ReadAll(conn)))
	head, body, _ := strings.Cut(answer, "\r\n\r\n")
	assert.Equal(t, content(10), body)
	assert.NotContains(t, head, "Transfer-Encoding")
	assert.NotContains(t, head, "Content-Length")
}

func TestCloseEndsSilentPlainClients(t *testing.T) {
	leavesNothing(t)
	s, err := origin.Start(&origin.Config{Plain: true})
	require.NoError(t, err)
	conn := must(net.Dial("tcp", s.Addr))
	defer conn.Close()
	io.WriteString(conn, "PRI * HT")
	for len(s.Log().Connections()) == 0 {
		<-time.After(time.Millisecond)
	}
	require.NoError(t, s.Close())
	_, err = origin.Start(&origin.Config{Plain: true, TLS: new(tls.Config)})
	assert.EqualError(t, err, "origin: Config.Plain and Config.TLS are both set: without TLS it rules nothing")
}

// A client that opens a connection and says nothing, or begins to, may do so for as
// long as IdleTimeout lets it, and the ledger knows who has ended that.
func TestSilentPlainConnections(t *testing.T) {
	for _, said := range []string{"", "PRI * HT"} {
		for _, c := range []struct {
			idle, lives    time.Duration
			reset          bool
			err            error
			because        string
			becauseAnother string // which is open when the origin closes
		}{
			{0, time.Hour, false, os.ErrDeadlineExceeded, "closed by client", "closed by server"},
			{2 * time.Second, 2 * time.Second, false, io.EOF, "closed by server", "closed by server"},
			{2 * time.Second, 2 * time.Second, true, syscall.ECONNRESET, "reset by server", "closed by server"},
		} {
			synctest.Test(t, func(t *testing.T) {
				network := linkdelay.NewNetwork(t, linkdelay.Link{})
				s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Plain: true, Handler: hello, IdleTimeout: c.idle, IdleReset: c.reset})
				dial := func() net.Conn {
					conn := must(network.Host("pc.test").DialContext(t.Context(), "tcp", s.Addr))
					io.WriteString(conn, said)
					return conn
				}
				start, conn := time.Now(), dial()
				conn.SetReadDeadline(start.Add(time.Hour))
				_, err := conn.Read(make([]byte, 1))
				assert.ErrorIs(t, err, c.err)
				assert.Equal(t, c.lives, time.Since(start))
				conn.Close()
				defer dial().Close()
				synctest.Wait()
				s.Close()
				for i, because := range []string{c.because, c.becauseAnother} {
					assert.Equal(t, because, s.Log().Connections()[i].CloseReason, "connection %d, idle %v, said %q", i+1, c.idle, said)
				}
			})
		}
	}
}

// An origin that takes nothing but HTTP/2 by prior knowledge says SETTINGS to a
// client of HTTP/1.1, as such servers do, and serves it nothing.
func TestPlainHTTP2Alone(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Plain: true, ALPN: alpn.Only(alpn.H2), Handler: hello})
	_, err := new(http.Transport).RoundTrip(must(http.NewRequest("GET", s.URL, nil)))
	assert.ErrorContains(t, err, "net/http: HTTP/1.x transport connection broken: malformed HTTP response")
	netlog.RequireConnections(t, s.Log(), 0, "", netlog.Used())
	assert.Empty(t, s.Log().Requests())
}

// Sessions are resumed, not after the tickets' keys were rotated, and never where
// tickets are off.
func TestResumption(t *testing.T) {
	leavesNothing(t)
	for _, off := range []bool{false, true} {
		s := origin.New(t, &origin.Config{Handler: hello, TLS: &tls.Config{SessionTicketsDisabled: off}})
		cache := tls.NewLRUClientSessionCache(0)
		visit := func() bool {
			tr := s.Transport(nil)
			tr.TLSClientConfig.ClientSessionCache = cache
			_, resp := get(t, &http.Client{Transport: tr}, s.URL)
			all := s.Log().Connections()
			assert.Equal(t, resp.TLS.DidResume, all[len(all)-1].Resumed)
			return resp.TLS.DidResume
		}
		assert.Equal(t, []bool{false, !off}, []bool{visit(), visit()}, "tickets off: %v", off)
		s.RotateTickets()
		assert.Equal(t, []bool{false, !off}, []bool{visit(), visit()}, "rotated; tickets off: %v", off)
	}
}

// Several hosts by SNI, with a certificate each, in one ledger; and one
// certificate for two, over which a browser would reuse a connection.
func TestHostsShareALedger(t *testing.T) {
	leavesNothing(t)
	authority := must(ca.Generate(nil))
	s := origin.New(t, &origin.Config{CA: authority, Handler: http.HandlerFunc(origin.Echo)})
	dial := func(host string) *tls.Conn {
		cfg := authority.ClientTLS()
		cfg.ServerName = host
		cfg.NextProtos = []string{alpn.HTTP11}
		return must(tls.Dial("tcp", s.Addr, cfg))
	}
	for _, host := range []string{"shop.test", "cdn.test", "api.test"} {
		conn := dial(host)
		assert.NoError(t, conn.ConnectionState().PeerCertificates[0].VerifyHostname(host))
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		assert.Contains(t, string(must(io.ReadAll(conn))), `"ServerName":"`+host+`"`)
		conn.Close()
		netlog.RequireConnections(t, s.Log(), 1, alpn.HTTP11, netlog.Host(host))
	}
	netlog.RequireConnections(t, s.Log(), 3, alpn.HTTP11)
}
