package origin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// What net/http's client makes of a first connection that does not get as far
// as HTTP. Its handshake has a limit of its own, where one is set.
func TestWhatNetHTTPMakesOfConnectionFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault origin.ConnectionFault
		told  string
		took  time.Duration
	}{
		"NeverRead":       {origin.ConnectionFault{Connection: 1, Do: origin.NeverRead}, "TLS handshake timeout", 10 * time.Second},
		"NeverShakeHands": {origin.ConnectionFault{Connection: 1, Do: origin.NeverShakeHands}, "TLS handshake timeout", 10 * time.Second},
		"HangUp":          {origin.ConnectionFault{Connection: 1, Do: origin.HangUp}, "EOF", 0},
		"HangUpHard":      {origin.ConnectionFault{Connection: 1, Do: origin.HangUpHard}, "connection reset by peer", 0},
	} {
		for _, proto := range []string{alpn.H2, alpn.HTTP11} {
			synctest.Test(t, func(t *testing.T) {
				network := linkdelay.NewNetwork(t, linkdelay.Link{})
				s := origin.New(t, &origin.Config{
					Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: hello,
					ConnectionFaults: []origin.ConnectionFault{c.fault},
				})
				tr := s.Transport(network.Host("pc.test"))
				tr.TLSHandshakeTimeout = 10 * time.Second
				client, start := &http.Client{Transport: tr}, time.Now()
				_, err := client.Get(s.URL)
				assert.ErrorContains(t, err, c.told, "%s over %s", name, proto)
				assert.Equal(t, c.took, time.Since(start), "%s over %s", name, proto)
				get(t, client, s.URL)
				netlog.RequireConnections(t, s.Log(), 1, proto, netlog.Used())
				assert.Len(t, s.Log().Connections(), 2)
			})
		}
	}
}

// On sockets it is the kernel that resets.
func TestHangUpHardOnASocket(t *testing.T) {
	leavesNothing(t)
	for _, c := range []struct {
		do   func(context.Context, net.Conn)
		want error
	}{{origin.HangUp, io.EOF}, {origin.HangUpHard, syscall.ECONNRESET}} {
		s := origin.New(t, &origin.Config{ConnectionFaults: []origin.ConnectionFault{{Do: c.do}}})
		conn := must(net.Dial("tcp", s.Addr))
		must(io.WriteString(conn, "hello"))
		_, err := conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, c.want)
		conn.Close()
	}
}

func TestCloseEndsConnectionFaults(t *testing.T) {
	leavesNothing(t)
	s, err := origin.Start(&origin.Config{ConnectionFaults: []origin.ConnectionFault{
		{Connection: 1, Do: origin.NeverRead}, {Connection: 2, Do: origin.NeverShakeHands}, {Do: origin.HangUpHard},
	}})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { ask(&http.Client{Transport: s.Transport(nil)}, must(http.NewRequest("GET", s.URL, nil))) })
	}
	for len(s.Log().Connections()) < 3 {
		<-time.After(time.Millisecond)
	}
	require.NoError(t, s.Close())
	all.Wait()
	for _, c := range s.Log().Connections() {
		assert.Equal(t, "closed by a fault", c.CloseReason)
	}
}

// A connection that is used each second stays, and one that rests longer is
// closed at the very instant; a request that takes longer is no rest.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for _, hard := range []bool{false, true} {
		for _, proto := range []string{alpn.H2, alpn.HTTP11} {
			synctest.Test(t, func(t *testing.T) {
				network := linkdelay.NewNetwork(t, linkdelay.Link{})
				s := origin.New(t, &origin.Config{
					Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: origin.Work(10*time.Second, hello),
					IdleTimeout: 2 * time.Second, IdleReset: hard,
				})
				client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
				for range 3 {
					get(t, client, s.URL)
					time.Sleep(time.Second)
				}
				time.Sleep(time.Minute)
				get(t, client, s.URL)
				netlog.RequireConnections(t, s.Log(), 2, proto, netlog.Used())
				c := s.Log().Connections()[0]
				assert.Equal(t, 34*time.Second, c.Closed.Sub(c.Opened), "3 × 10 s, two rests of 1 s and one of 2 s")
				assert.Equal(t, map[bool]string{false: "closed by server", true: "reset by server"}[hard], c.CloseReason)
			})
		}
	}
}

// An answer that its client is slow to read is no rest, though its handler has
// returned: what is left of it waits for the window of the stream.
func TestAnAnswerThatWaitsIsNoRest(t *testing.T) {
	const window = 1 << 16
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		returned := make(chan time.Time, 1)
		s := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), IdleTimeout: 2 * time.Second,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.CopyN(w, origin.Content(window), window)
				io.WriteString(w, "the rest")
				returned <- time.Now()
			}),
		})
		tr := s.Transport(network.Host("pc.test"))
		tr.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: window}
		start := time.Now()
		resp := must((&http.Client{Transport: tr}).Get(s.URL))
		defer resp.Body.Close()
		time.Sleep(7 * time.Second)
		require.Equal(t, start, <-returned)
		body, err := io.ReadAll(resp.Body)
		assert.NoError(t, err)
		assert.Equal(t, content(window)+"the rest", string(body))
		time.Sleep(time.Minute)
		assert.Equal(t, 9*time.Second, s.Log().Connections()[0].Closed.Sub(start), "seven until it was read, and a rest of two")
	})
}

// Nor is a connection that a handler has taken, whatever it was asked for, whatever
// it has answered, and whoever goes on with it.
func TestATakenConnectionIsNoRest(t *testing.T) {
	const upgrade = "Host: origin.test\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n"
	for _, c := range []struct{ request, answer string }{
		{"GET / HTTP/1.1\r\n" + upgrade, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n"},
		{"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), Plain: true, IdleTimeout: 2 * time.Second,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					conn, _, err := http.NewResponseController(w).Hijack()
					require.NoError(t, err)
					io.WriteString(conn, c.answer)
					time.AfterFunc(10*time.Second, func() { io.WriteString(conn, "late"); conn.Close() })
				}),
			})
			conn := must(network.Host("pc.test").DialContext(t.Context(), "tcp", s.Addr))
			defer conn.Close()
			start := time.Now()
			io.WriteString(conn, c.request)
			said, err := io.ReadAll(conn)
			assert.NoError(t, err)
			assert.Equal(t, c.answer+"late", string(said), c.request)
			assert.Equal(t, 10*time.Second, time.Since(start))
		})
	}
}

// The client does not wait for settings; the answer waits with them.
func TestLateSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		s := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Handler: hello, Prepare: origin.LateSettings(5 * time.Second),
		})
		client, start := &http.Client{Transport: s.Transport(network.Host("pc.test"))}, time.Now()
		get(t, client, s.URL)
		assert.Equal(t, 5*time.Second, time.Since(start))
		assert.Equal(t, start, s.Log().Requests()[0].Start, "the request waited for no settings")
	})
}

func TestSettingsThatAreNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Handler: hello, Prepare: origin.LateSettings(0)})
		start := time.Now()
		_, err := (&http.Client{Transport: s.Transport(network.Host("pc.test")), Timeout: time.Hour}).Get(s.URL)
		assert.NoError(t, err)
		assert.Zero(t, time.Since(start))
	})
}

// 1 MiB up over 100 ms: with the windows' 64 KiB it takes sixteen trips, with
// net/http's own it goes at once.
func TestWindowsAreSettings(t *testing.T) {
	upload := func(window int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), StreamWindow: window, ConnWindow: window,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }),
			})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			get(t, client, s.URL)
			start := time.Now()
			resp := must(client.Post(s.URL, "text/plain", strings.NewReader(strings.Repeat("x", 1<<20-1))))
			resp.Body.Close()
			took = time.Since(start)
		})
		return took
	}
	assert.Equal(t, 100*time.Millisecond, upload(0))
	assert.GreaterOrEqual(t, upload(1<<16-1), 1600*time.Millisecond)
}

func TestMistakenConnectionFaults(t *testing.T) {
	for want, cfg := range map[string]*origin.Config{
		"origin: Config.ConnectionFaults[0]: Do is nil: nothing would go wrong":                   {ConnectionFaults: []origin.ConnectionFault{{}}},
		"origin: Config.ConnectionFaults[0]: Connection: -1 is negative":                          {ConnectionFaults: []origin.ConnectionFault{{Connection: -1}}},
		"origin: Config.IdleReset without IdleTimeout: nothing would be reset":                    {IdleReset: true},
		"origin: Config.IdleTimeout: -1ns is negative":                                            {IdleTimeout: -1},
		"origin: Config.StreamWindow: -1: must be from 0 to 2147483647":                           {StreamWindow: -1},
		"origin: Config.ConnWindow: -1: must be from 0 to 2147483647":                             {ConnWindow: -1},
		"origin: Config.ConnWindow: 65534: must be 0 or at least 65535 (RFC 9113, section 6.9.2)": {ConnWindow: 65534},
	} {
		_, err := origin.Start(cfg)
		assert.EqualError(t, err, want)
	}
}
