package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// world is where a test's connections are: in memory and virtual time, or on
// loopback.
type world struct {
	t        testing.TB
	loopback bool
	listener net.Listener
}

// eachWorld runs body in both worlds, and looks for what it left behind.
func eachWorld(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { body(t, newWorld(t, false)) })
		checkLeaks(t)
	})
	t.Run("loopback", func(t *testing.T) {
		t.Run("in", func(t *testing.T) { body(t, newWorld(t, true)) })
		checkLeaks(t)
	})
}

// inMemory runs body in virtual time only.
func inMemory(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { body(t, newWorld(t, false)) })
	checkLeaks(t)
}

func newWorld(t testing.TB, loopback bool) *world {
	w := &world{t: t, loopback: loopback}
	if !loopback {
		w.listener = &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	} else {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		w.listener = l
	}
	t.Cleanup(func() { w.listener.Close() })
	return w
}

func (w *world) addr() string { return w.listener.Addr().String() }

func (w *world) dial(ctx context.Context) (net.Conn, error) {
	if w.loopback {
		return new(net.Dialer).DialContext(ctx, "tcp", w.addr())
	}
	return w.listener.(*memListener).dial(ctx)
}

// memListener accepts connections in memory.
type memListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	mu     sync.Mutex
	dialed int
	room   int
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memListener) Addr() net.Addr { return memAddr("10.0.0.1:443") }

func (l *memListener) dial(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	l.dialed++
	name := fmt.Sprintf("10.0.0.2:%d", 40000+l.dialed)
	l.mu.Unlock()
	client, server := newMemConns(name, "10.0.0.1:443", l.room)
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// spoken is one way to speak HTTP over a connection.
type spoken struct {
	name, protocol string
	encrypted      bool
}

var allSpoken = []spoken{
	{"h1", "http/1.1", true},
	{"h2", "h2", true},
	{"h1-plain", "http/1.1", false},
	{"h2c", "h2", false},
}

// eachProtocol runs body in each protocol and each world.
func eachProtocol(t *testing.T, body func(t *testing.T, p *pair)) {
	for _, s := range allSpoken {
		t.Run(s.name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) { body(t, &pair{t: t, world: w, spoken: s}) })
		})
	}
}

// pair is a Server and what its clients need.
type pair struct {
	t testing.TB
	*world
	spoken
	authority            *ca.Authority
	server               *wire.Server
	serverLog, clientLog netlog.Log
	serverTLS, clientTLS *tls.Config
	config               wire.ServerConfig
	accepting            sync.WaitGroup
}

// start serves handler until the test ends.
func (p *pair) start(handler http.HandlerFunc) *pair {
	p.config.Handler = handler
	p.server = wire.NewServer(p.config)
	if p.encrypted && p.serverTLS == nil {
		p.authority = authority(p.t)
		p.serverTLS = p.authority.ServerTLS("origin.test")
		p.serverTLS.NextProtos = []string{p.protocol}
		p.clientTLS = p.authority.ClientTLS()
		p.clientTLS.ServerName = "origin.test"
		p.clientTLS.NextProtos = []string{p.protocol}
	}
	p.accepting.Go(p.accept)
	p.t.Cleanup(func() {
		p.listener.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.server.Close(ctx); err != nil {
			p.t.Errorf("server: %v", err)
		}
		p.accepting.Wait()
	})
	return p
}

// authority is new for each test: it may keep what belongs to a bubble.
func authority(t testing.TB) *ca.Authority {
	a, err := ca.Generate(&ca.Config{Name: "Test Authority"})
	require.NoError(t, err)
	return a
}

func (p *pair) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.accepting.Go(func() { p.serve(conn) })
	}
}

func (p *pair) serve(conn net.Conn) {
	rec := p.serverLog.Open(p.opened(conn))
	if !p.encrypted {
		p.server.ServeConn(conn, rec)
		return
	}
	tlsConn, err := wire.HandshakeServer(context.Background(), conn, p.serverTLS, rec)
	if err != nil {
		return
	}
	p.server.ServeConn(tlsConn, rec)
}

// opened says by its ALPN what is spoken over a plain connection.
func (p *pair) opened(conn net.Conn) netlog.Connection {
	c := netlog.Connection{
		Network: "tcp", Host: "origin.test:443",
		Local: conn.LocalAddr().String(), Remote: conn.RemoteAddr().String(),
	}
	if !p.encrypted {
		c.ALPN = p.protocol
	}
	return c
}

// connect opens a connection to the server.
func (p *pair) connect(ctx context.Context) (*wire.ClientConn, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	rec := p.clientLog.Open(p.opened(conn))
	if p.encrypted {
		if conn, err = wire.HandshakeClient(ctx, conn, p.clientTLS, rec); err != nil {
			return nil, err
		}
	}
	return wire.NewClientConn(conn, wire.ClientConfig{Record: rec})
}

// client is a connection that the test's end closes.
func (p *pair) client() *wire.ClientConn {
	p.t.Helper()
	c, err := p.connect(context.Background())
	require.NoError(p.t, err)
	p.t.Cleanup(func() { c.Close() })
	return c
}

func (p *pair) url(path string) string {
	if p.encrypted {
		return "https://origin.test" + path
	}
	return "http://origin.test" + path
}

func (p *pair) get(path string) *http.Request {
	req, err := http.NewRequest("GET", p.url(path), nil)
	require.NoError(p.t, err)
	return req
}

// checkLeaks fails t if a goroutine of this package or of what it runs is
// still there after a while.
func checkLeaks(t *testing.T) {
	t.Helper()
	var found []string
	for range 1500 { // half a minute, for busy machines
		if found = leaked(); len(found) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines were left behind:\n%s", len(found), strings.Join(found, "\n\n"))
}

func leaked() (found []string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, one := range strings.Split(string(stacks), "\n\n") {
		for _, ours := range []string{"netlog/wire.", "net/http.", "net/http/internal/http2.", "x/net/http2."} {
			if strings.Contains(one, ours) && !strings.Contains(one, "testing.tRunner") && !strings.Contains(one, "leaked()") {
				found = append(found, one)
				break
			}
		}
	}
	return found
}

// fetch sends req and reads the whole answer.
func fetch(t testing.TB, c *wire.ClientConn, req *http.Request) string {
	t.Helper()
	resp, err := c.RoundTrip(req, nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}
