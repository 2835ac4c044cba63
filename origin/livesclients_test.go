package origin_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin/pageload"
)

// pools say of the clients' shared Transports what is not the origin's own.
type pools struct {
	perHost     int
	noKeepAlive bool
	idle        time.Duration
	expect      time.Duration
}

func (d *dice) drawPools() (p pools) {
	if d.one(3) {
		p.perHost = 1 + d.IntN(4)
	}
	p.noKeepAlive = d.one(6)
	if d.one(4) {
		p.idle = d.upTo(time.Second)
	}
	p.expect = d.upTo(time.Second)
	d.say("clients %+v", p)
	return p
}

// openPools makes the RoundTrippers that clients share: "net/http", "recorded",
// which keeps a ledger, and "HTTP/3".
func (s *stage) openPools() {
	set := func(tr *http.Transport) *http.Transport {
		tr.MaxConnsPerHost, tr.DisableKeepAlives, tr.IdleConnTimeout = s.pools.perHost, s.pools.noKeepAlive, s.pools.idle
		tr.ExpectContinueTimeout = s.pools.expect
		return tr
	}
	s.base = set(s.site.Transport(s.pc))
	s.pool = map[string]http.RoundTripper{
		"net/http": s.base,
		"recorded": netlog.NewTransport(set(s.site.Transport(s.pc)), s.told),
		"HTTP/3":   s.site.HTTP3Transport(s.pc),
	}
}

// leave closes what rests at the clients.
func (s *stage) leave() {
	for _, name := range slices.Sorted(maps.Keys(s.pool)) {
		(&http.Client{Transport: s.pool[name]}).CloseIdleConnections()
	}
}

func (d *dice) drawClient() {
	switch d.IntN(8) {
	case 0, 1:
		d.drawLoad()
	case 2:
		d.drawRude()
	default:
		d.drawRequest()
	}
}

// drawLoad is a browser, which may share a Transport with others.
func (d *dice) drawLoad() {
	patience, shared, perHost := d.patience(), d.one(2), d.IntN(4)
	loaded := d.goods
	d.step(func(s *stage) {
		ctx, cancel := s.patient(patience)
		defer cancel()
		cfg := &pageload.Config{Transport: s.site.Transport(s.pc), PerHost: perHost, Log: s.told}
		if shared {
			cfg.Transport = s.base
		}
		if s.cfg.HTTP3 != nil {
			cfg.HTTP3 = h3.Browser(s.site.HTTP3Transport(s.pc))
		}
		for i := range 2 * len(loaded) {
			cfg.URLs = append(cfg.URLs, s.site.URL+loaded[i/2].path)
		}
		if loaded == nil {
			cfg.URL = s.site.URL + "/"
		}
		defer s.inTime(patience, "a load")()
		pageload.Load(ctx, cfg)
	}, "a load (Transport shared: %v, at most %d connections), given up after %v", shared, perHost, patience)
}

func (d *dice) patience() time.Duration { return 20*time.Millisecond + d.upTo(10*time.Second) }

// inTime fails the life if a client needs longer than its patience.
func (s *stage) inTime(patience time.Duration, what string) func() {
	begun := time.Now()
	return func() {
		assert.LessOrEqual(s.t, time.Since(begun), patience+time.Second, "%s, from when it was given up", what)
	}
}

// drawRude is a client that speaks by hand, and not much.
func (d *dice) drawRude() {
	said := []string{
		"", "\x16\x03\x01\x02\x00\x01\x00", "GET /0 HTTP/1.1\r\n", "GET /0 HTTP/1.1\r\nHost: origin.test\r\n\r\n",
		"POST /0 HTTP/1.1\r\nHost: origin.test\r\nContent-Length: 10\r\n\r\nhalf", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x08\x07\x00\x00\x00\x00\x00garbage!",
		strings.Repeat("garbage\r\n\x00", 100),
	}[d.IntN(9)]
	secure, stays, how := d.one(2), d.upTo(5*time.Second), d.IntN(3)
	d.step(func(s *stage) {
		ctx, cancel := s.patient(stays)
		defer cancel()
		conn, err := s.pc.DialContext(ctx, "tcp", s.site.Addr)
		if err != nil {
			return
		}
		defer leaveBy(conn, how)
		s.sayRudely(ctx, conn, secure, said)
	}, "a client that says %.40q (TLS: %v), stays for %v and leaves by %s", said, secure, stays, []string{"Close", "a reset", "CloseWrite, and then Close"}[how])
}

func (s *stage) sayRudely(ctx context.Context, conn net.Conn, secure bool, said string) {
	if secure && !s.cfg.Plain {
		cfg := s.site.CA().ClientTLS()
		cfg.ServerName, cfg.NextProtos = "origin.test", s.cfg.ALPN.Protocols()
		client := tls.Client(conn, cfg)
		if client.HandshakeContext(ctx) != nil {
			return
		}
		conn = client
	}
	io.WriteString(conn, said)
	deadline, _ := ctx.Deadline()
	conn.SetReadDeadline(deadline)
	io.Copy(io.Discard, conn)
	<-ctx.Done()
}

func leaveBy(conn net.Conn, how int) {
	switch how {
	case 1:
		conn.(interface{ SetLinger(int) error }).SetLinger(0)
	case 2:
		conn.(interface{ CloseWrite() error }).CloseWrite()
		conn.SetReadDeadline(time.Now().Add(time.Second))
		io.Copy(io.Discard, conn)
	}
	conn.Close()
}

// request is one request of a client, and what it does with the answer.
type request struct {
	url      string // behind the origin's own
	method   string
	pool     string
	size     int64 // of what is sent; -1 is without end
	pieces   int64 // in which it is sent
	every    time.Duration
	expect   bool // 100 first
	patience time.Duration
	reads    int64 // of the answer, and then it is closed; -1 is all
	good     *good // nil of a page
}

// answer is how a request went.
type answer struct {
	request
	sent     []byte
	status   int // 0 is none
	body     []byte
	trailer  http.Header
	whole    bool
	attempts int // how often net/http had a connection for it
	err      error
}

func (d *dice) drawRequest() {
	q := &request{method: []string{"GET", "GET", "HEAD", "POST"}[d.IntN(4)], patience: d.patience(), reads: -1}
	q.pool = []string{"net/http", "recorded"}[d.IntN(2)]
	if d.cfg.HTTP3 != nil && d.one(2) {
		q.pool = "HTTP/3"
	}
	path := "/"
	if d.goods != nil {
		q.good = &d.goods[d.IntN(len(d.goods))]
		path = q.good.path
	} else if paths := d.cfg.Page.Paths(); len(paths) > 0 && !d.one(4) {
		path = paths[d.IntN(len(paths))]
	}
	q.url = fmt.Sprintf("%s?n=%d", path, len(d.steps))
	if d.one(4) {
		q.reads = d.size()
	}
	what := ""
	if q.method == "POST" {
		q.size, q.pieces, q.every, q.expect = d.size(), 1+d.Int64N(4), d.upTo(200*time.Millisecond), d.one(3)
		if d.one(6) {
			q.size = -1
		}
		what = fmt.Sprintf(" with %d bytes in %d pieces each %v (100 first: %v)", q.size, q.pieces, q.every, q.expect)
	}
	d.step(func(s *stage) { s.ask(q) }, "%s %s%s by %s, given up after %v, reads %d", q.method, q.url, what, q.pool, q.patience, q.reads)
}

func (s *stage) ask(q *request) {
	ctx, cancel := s.patient(q.patience)
	defer cancel()
	var attempts atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { attempts.Add(1) }})
	a := answer{request: *q}
	req := s.build(ctx, &a)
	in := s.inTime(q.patience, q.method+" "+q.url)
	resp, err := s.pool[q.pool].RoundTrip(req)
	if err == nil {
		a.read(resp)
	} else {
		a.err = err
	}
	in()
	a.attempts = int(attempts.Load())
	s.mu.Lock()
	s.answers = append(s.answers, a)
	s.mu.Unlock()
}

func (s *stage) build(ctx context.Context, a *answer) *http.Request {
	var body io.Reader
	if a.method == "POST" {
		a.sent = []byte(content(max(a.size, 0)))
		body = &upload{ctx: ctx, left: a.sent, piece: 1 + max(a.size, 0)/a.pieces, every: a.every, endless: a.size < 0}
	}
	req := must(http.NewRequestWithContext(ctx, a.method, s.site.URL+a.url, body))
	if a.size > 0 && a.pieces > 2 {
		req.ContentLength = a.size
	}
	if a.expect {
		req.Header.Set("Expect", "100-continue")
	}
	return req
}

func (a *answer) read(resp *http.Response) {
	defer resp.Body.Close()
	a.status = resp.StatusCode
	var body io.Reader = resp.Body
	if a.reads >= 0 {
		body = io.LimitReader(body, a.reads)
	}
	a.body, a.err = io.ReadAll(body)
	a.whole = a.err == nil && a.reads < 0
	a.trailer = resp.Trailer
}

// wrong says what is wrong with an answer that is whole; "" is nothing.
func (a *answer) wrong() string {
	if !a.whole || a.status != http.StatusOK || a.good == nil || a.good.want == nil {
		return ""
	}
	want := a.good.want(a.sent)
	if a.method == "HEAD" {
		want = nil
	}
	if !bytes.Equal(want, a.body) {
		return fmt.Sprintf("%d bytes, want %d", len(a.body), len(want))
	}
	return ""
}

// upload is a body that comes in pieces.
type upload struct {
	ctx     context.Context
	left    []byte
	piece   int64
	every   time.Duration
	endless bool
}

func (u *upload) Read(p []byte) (int, error) {
	if u.every > 0 { // under -race timers that expire at once can crash Go 1.26 in a bubble
		select {
		case <-u.ctx.Done():
		case <-time.After(u.every):
		}
	}
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	if len(u.left) == 0 && !u.endless {
		return 0, io.EOF
	}
	if len(u.left) == 0 {
		<-u.ctx.Done()
		return 0, u.ctx.Err()
	}
	n := copy(p, u.left[:min(u.piece, int64(len(u.left)))])
	u.left = u.left[n:]
	return n, nil
}
