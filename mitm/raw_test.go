package mitm_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// What net/http would never send, or never show, is sent and seen by hand here:
// bytes on HTTP/1.1, frames on HTTP/2, in one vocabulary for both. No end of it
// is Go's own client or server.

// call is one request and its answer, from one end. Each method does what its
// protocol has for it.
type call interface {
	// head sends the head of a message: "GET /path", "200", "103". size is that
	// of the body, unknown or nothing.
	head(start string, size int64, fields ...string)
	data(s string)
	end(trailers ...string)   // of a body of unknown size
	reset(code http2.ErrCode) // on HTTP/1.1, of the connection
	next() event
}

const (
	nothing int64 = -2 // neither a body nor a length
	unknown int64 = -1
)

// event is what came from the other end.
type event struct {
	kind   string // "head", "data", "end", "reset" or, on HTTP/1.1, "closed"
	start  string // of a head, as in call.head
	fields http.Header
	data   string
	code   http2.ErrCode
}

func (e event) String() string {
	switch e.kind {
	case "head":
		return fmt.Sprintf("head %s %v", e.start, e.fields)
	case "data":
		return fmt.Sprintf("data %.100q", e.data)
	case "end":
		return fmt.Sprintf("end %v", e.fields)
	case "reset":
		return fmt.Sprintf("reset %v", e.code)
	}
	return e.kind
}

// side is a call with what tests want of it. Of the origin's end, which is no
// test's own goroutine, failures end that goroutine alone.
type side struct {
	call
	t      testing.TB
	name   string
	proto  string
	left   string // of data that came
	client bool
}

func (s *side) failf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s (%s): %s", s.name, s.proto, fmt.Sprintf(format, args...))
	if s.client {
		s.t.FailNow()
	}
	runtime.Goexit()
}

// authority is what a request is for, where it is not origin.test.
func (s *side) authority(name string) {
	switch one := s.call.(type) {
	case *rawH1Call:
		one.host = name
	case *rawH2Call:
		one.authority = name
	}
}

// wantHead takes a head, and returns its fields.
func (s *side) wantHead(start string) http.Header {
	s.t.Helper()
	e := s.next()
	if e.kind != "head" || e.start != start {
		s.failf("got %v, want head %s", e, start)
	}
	return e.fields
}

// wantData takes exactly want, in whatever pieces it comes.
func (s *side) wantData(want string) {
	s.t.Helper()
	for want != "" {
		if s.left == "" {
			e := s.next()
			if e.kind != "data" {
				s.failf("got %v, want data %.100q", e, want)
			}
			s.left = e.data
		}
		n := min(len(want), len(s.left))
		if s.left[:n] != want[:n] {
			s.failf("got data %.100q, want %.100q", s.left, want)
		}
		want, s.left = want[n:], s.left[n:]
	}
}

// wantEnd takes the end, and returns the trailers.
func (s *side) wantEnd() http.Header {
	s.t.Helper()
	e := s.next()
	for e.kind == "data" && e.data == "" {
		e = s.next()
	}
	if e.kind != "end" || s.left != "" {
		s.failf("got %v behind %q, want end", e, s.left)
	}
	return e.fields
}

// wantReset takes a reset with code, or on HTTP/1.1 the end of the connection,
// in the middle of a message or of none.
func (s *side) wantReset(code http2.ErrCode) {
	s.t.Helper()
	e := s.next()
	for e.kind == "data" {
		e = s.next()
	}
	switch {
	case s.proto != alpn.HTTP11 && (e.kind != "reset" || e.code != code):
		s.failf("got %v, want reset %v", e, code)
	case s.proto == alpn.HTTP11 && e.kind != "closed":
		s.failf("got %v, want the connection to break off", e)
	}
}

// await waits for the other end's turn.
func (s *side) await(turn <-chan struct{}) {
	s.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-turn:
	case <-timeout.C:
		s.failf("the other end has not come so far in %v", patience)
	}
}

// rawStage is a proxy between raw peers.
type rawStage struct {
	t         testing.TB
	network   *linkdelay.Network
	authority *ca.Authority
	proxy     *mitm.Proxy
	down, up  string
	addr      string // of the origin
	server    *rawServer
}

// eachRawPair runs body for every pair of protocols, in both worlds, with serve
// at the origin's end of each call.
func eachRawPair(t *testing.T, serve func(*side), body func(*testing.T, *rawStage)) {
	t.Helper()
	eachRawPairWith(t, mitm.Config{}, linkdelay.Link{}, serve, body)
}

func eachRawPairWith(t *testing.T, cfg mitm.Config, link linkdelay.Link, serve func(*side), body func(*testing.T, *rawStage)) {
	t.Helper()
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(pairName(down, up), func(t *testing.T) {
				inWorldsOf(t, down, up, link, func(t *testing.T, network *linkdelay.Network) {
					body(t, newRawStage(t, network, cfg, down, up, serve))
				})
			})
		}
	}
}

func newRawStage(t testing.TB, network *linkdelay.Network, cfg mitm.Config, down, up string, serve func(*side)) *rawStage {
	t.Helper()
	authority := ca.New(t, nil)
	server := &rawServer{t: t, name: "origin", proto: up, serve: serve}
	addr := accepting(t, network.Host("origin.test"), afterHandshake(authority, alpn.Only(up), server.conn))
	cfg.Net, cfg.RootCAs, cfg.CA = network.Host("proxy.test"), authority.Pool(), authority
	cfg.Downstream.ALPN = alpn.Only(down)
	cfg = leadTo(t, network, authority, cfg, addr)
	return &rawStage{t, network, authority, mitm.New(t, &cfg), down, up, addr, server}
}

// rawServer is the origin's end.
type rawServer struct {
	t     testing.TB
	name  string // of its sides
	proto string
	serve func(*side)
	setup func(*rawH2) // of each h2 connection, before its preface is answered; nil is nothing
}

func (r *rawServer) conn(conn *tls.Conn) {
	if r.proto == alpn.H2 {
		c := newRawH2(r.t, conn, func(call *rawH2Call) {
			r.serve(&side{call: call, t: r.t, name: r.name, proto: r.proto})
		})
		if r.setup != nil {
			r.setup(c)
		}
		if c.greet() == nil {
			c.run()
		}
		return
	}
	c := newRawH1(conn)
	for c.more() {
		call := &rawH1Call{conn: c, server: true}
		s := &side{call: call, t: r.t, name: r.name, proto: r.proto}
		if !finishes(func() { r.serve(s) }) || !call.reusable() {
			return
		}
	}
}

// finishes reports whether f returned: it may also end its goroutine.
func finishes(f func()) (returned bool) {
	var wg sync.WaitGroup
	wg.Go(func() {
		f()
		returned = true
	})
	wg.Wait()
	return returned
}

// rawClient is a connection of a client.
type rawClient struct {
	s    *rawStage
	conn *tls.Conn
	h1   *rawH1
	h2   *rawH2
}

// client connects by CONNECT and TLS.
func (s *rawStage) client() *rawClient {
	s.t.Helper()
	conn := s.tunnel(s.down)
	c := &rawClient{s: s, conn: conn}
	if s.down == alpn.H2 {
		c.h2 = newRawH2(s.t, conn, nil)
		require.NoError(s.t, c.h2.greet())
		var wg sync.WaitGroup
		wg.Go(c.h2.run)
		s.t.Cleanup(wg.Wait)
	} else {
		c.h1 = newRawH1(conn)
	}
	s.t.Cleanup(func() { conn.NetConn().Close() })
	return c
}

func (s *rawStage) tunnel(proto string) *tls.Conn {
	s.t.Helper()
	conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(s.t.Context(), "tcp", s.addr)
	require.NoError(s.t, err)
	cfg := alpn.Only(proto).Client(s.authority.ClientTLS())
	cfg.ServerName = "origin.test"
	secured := tls.Client(conn, cfg)
	require.NoError(s.t, secured.Handshake())
	return secured
}

// call begins a request.
func (c *rawClient) call() *side {
	var one call
	if c.h2 != nil {
		one = c.h2.open("origin.test")
	} else {
		one = &rawH1Call{conn: c.h1, host: "origin.test"}
	}
	return &side{call: one, t: c.s.t, name: "client", proto: c.s.down, client: true}
}

// call is one on a connection of its own.
func (s *rawStage) call() *side {
	s.t.Helper()
	return s.client().call()
}

// patience bounds what only a hang can take.
const patience = 20 * time.Second

// splitField is for "Name: value".
func splitField(field string) (name, value string) {
	name, value, ok := strings.Cut(field, ": ")
	if !ok {
		panic("not a field: " + field)
	}
	return name, value
}

// resetConn makes the end of a connection a reset.
func resetConn(conn net.Conn) {
	resets, ok := conn.(interface{ SetLinger(int) error })
	if !ok {
		resetConn(conn.(interface{ NetConn() net.Conn }).NetConn())
		return
	}
	resets.SetLinger(0)
	conn.Close()
}
