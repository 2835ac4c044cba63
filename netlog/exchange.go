package netlog

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// exchange is one RoundTrip: what is known of it beside its record.
type exchange struct {
	t      *transport
	record *RequestRecord
	id     int64
	asked

	mu      sync.Mutex
	proxy   *url.URL
	place   group
	wait    wait
	dialing []*recordedConn   // dialled for it, TLS not done yet; oldest first
	conn    *recordedConn     // what carries it, if that was dialled here
	carrier *ConnectionRecord // what carries it
	hints   int64             // bytes of informational answers
}

// asked is what is needed of the request, which is the caller's again when the
// exchange is over, while a dial for it may still run.
type asked struct {
	url, scheme, host string
	websocket         bool  // never goes over HTTP/2
	head, close       bool  // the method; Connection: close
	length            int64 // of the body; 0 is none, -1 unknown
}

func askedBy(req *http.Request) asked {
	a := asked{url: plainURL(req.URL), head: req.Method == http.MethodHead, close: req.Close}
	a.websocket = strings.EqualFold(req.Header.Get("Upgrade"), "websocket")
	if req.URL != nil {
		a.scheme, a.host = req.URL.Scheme, hostPort(req.URL)
	}
	if req.Body != nil && req.Body != http.NoBody {
		a.length = -1
		if req.ContentLength > 0 {
			a.length = req.ContentLength
		}
	}
	return a
}

type exchangeKey struct{}

// exchangeOf is nil where ctx is none of an exchange. net/http dials under the
// values of the request's context that it dials for.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (t *transport) begin(req *http.Request) *exchange {
	a := askedBy(req)
	q := Request{Method: req.Method, URL: a.url, HeaderBytesUp: -1, HeaderBytesDown: -1}
	if q.Method == "" {
		q.Method = http.MethodGet
	}
	if a.length != 0 {
		q.BodyBytesUp = -1
	}
	x := &exchange{t: t, asked: a, record: t.log.Request(q)}
	x.id = x.record.Request().ID
	x.place = x.group(nil)
	return x
}

func (x *exchange) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, x), x.trace())
}

// trace observes x. The hooks run on goroutines of net/http, some after the
// exchange is over, and one under a lock of its HTTP/2 pool: they only take
// locks that nobody blocks under.
func (x *exchange) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:              func(string) { x.asks() },
		GotConn:              x.got,
		PutIdleConn:          x.putIdle,
		GotFirstResponseByte: x.firstByte,
		Got1xxResponse:       x.informational,
		TLSHandshakeDone:     x.handshaken,
		WroteHeaders:         x.wroteHeaders,
		WroteRequest:         x.wroteRequest,
	}
}

// through notes the proxy that net/http chose; nil is none.
func (x *exchange) through(proxy *url.URL) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.proxy, x.place = proxy, x.group(proxy)
}

// got is the end of the wait: this connection takes the request.
func (x *exchange) got(info httptrace.GotConnInfo) {
	conn := x.t.recorded(info.Conn)
	carrier := x.t.carrierOf(info.Conn, conn, x)
	var before Connection // as it was when it was chosen
	if carrier != nil {
		before = carrier.Connection()
	}
	x.settle(func(asked time.Time) bool {
		if before.ALPN == "h2" { // shared: it need not have been idle
			return before.Handshaken.Before(asked)
		}
		return info.WasIdle
	})
	switch {
	case conn != nil:
		conn.carries(x, info.Conn)
	case carrier != nil:
		settle(carrier, info.Conn)
	}
	x.attach(conn, carrier)
}

// attach starts the times anew: it may be a replay.
func (x *exchange) attach(conn *recordedConn, carrier *ConnectionRecord) {
	x.mu.Lock()
	x.conn, x.carrier = conn, carrier
	x.mu.Unlock()
	proto := ""
	if carrier != nil {
		x.record.Attach(carrier)
		proto = carrier.Connection().Protocol
	}
	x.record.Update(func(q *Request) {
		q.Wait, q.Sent, q.FirstByte, q.Protocol = time.Since(q.Start), time.Time{}, time.Time{}, proto
	})
}

// putIdle says whether the connection went back to the pool after the answer.
func (x *exchange) putIdle(err error) {
	if conn, _ := x.carriedBy(); conn != nil {
		conn.rests(err)
	}
}

func (x *exchange) carriedBy() (*recordedConn, *ConnectionRecord) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.conn, x.carrier
}

// handshaken says how a handshake on a connection dialled for x ended; behind a
// proxy that is itself spoken to over TLS there are two.
func (x *exchange) handshaken(state tls.ConnectionState, err error) {
	if conn := x.handshaking(err != nil); conn != nil {
		conn.handshaken(state, err)
	}
}

// handshaking is the connection that is meant: of those that can be the one where
// bytes moved last, as a handshake ends with them. A request has several where it was
// sent by another connection than it was dialled for, and then again. net/http closes a
// connection before it tells that its handshake failed.
func (x *exchange) handshaking(failed bool) (conn *recordedConn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.dialing {
		if c.isClosed() == failed && (conn == nil || c.moved.Load() > conn.moved.Load()) {
			conn = c
		}
	}
	if conn == nil {
		return nil
	}
	if conn.layers--; conn.layers == 0 || failed {
		x.dialing = slices.DeleteFunc(x.dialing, func(c *recordedConn) bool { return c == conn })
	}
	return conn
}

func (x *exchange) wroteHeaders() {
	x.whileOpen(func(q *Request) { q.Sent = time.Now() })
}

// whileOpen drops what comes after the end: an answer to a request that was
// given up.
func (x *exchange) whileOpen(change func(*Request)) {
	x.record.Update(func(q *Request) {
		if q.End.IsZero() {
			change(q)
		}
	})
}

func (x *exchange) wroteRequest(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		x.record.Update(func(q *Request) { q.BodyBytesUp = x.length })
	}
}

func (x *exchange) firstByte() {
	x.whileOpen(func(q *Request) { q.FirstByte = time.Now() })
}

// defaultMaxHeader is net/http's default for MaxResponseHeaderBytes.
const defaultMaxHeader = 10 << 20

// informational takes back the first byte, which was not the final answer's. To
// listen lifts net/http's limit on such answers, so it is kept here.
func (x *exchange) informational(code int, header textproto.MIMEHeader) error {
	x.whileOpen(func(q *Request) { q.FirstByte = time.Time{} })
	limit := x.t.maxHeader
	if limit <= 0 {
		limit = defaultMaxHeader
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, values := range header {
		for _, value := range values {
			x.hints += int64(len(name) + len(value) + len(": \r\n"))
		}
	}
	if x.hints > limit {
		return fmt.Errorf("netlog: transport: headers of informational answers, the last of status %d, exceed %d bytes", code, limit)
	}
	return nil
}

// fail is the end without an answer.
func (x *exchange) fail(err error) {
	x.settle(func(time.Time) bool { return false })
	x.end(err)
}

// answered is the end of RoundTrip, when the head of the answer is there.
func (x *exchange) answered(resp *http.Response) {
	conn, carrier := x.carriedBy()
	proto := protocolOf(resp)
	if carrier != nil {
		carrier.Update(func(c *Connection) { c.Protocol = proto })
	}
	x.record.Update(func(q *Request) {
		q.Status, q.Protocol = resp.StatusCode, proto
		if q.FirstByte.IsZero() {
			q.FirstByte = time.Now()
		}
		if resp.Uncompressed {
			q.BodyBytesDown = -1
		}
	})
	if conn != nil && resp.ProtoMajor == 1 && (resp.Close || x.close || x.t.noReuse) {
		conn.because("Connection: close")
	}
	x.wrapBody(resp)
}

func protocolOf(resp *http.Response) string {
	if resp.ProtoMajor >= 2 {
		return fmt.Sprintf("h%d", resp.ProtoMajor)
	}
	return fmt.Sprintf("http/%d.%d", resp.ProtoMajor, resp.ProtoMinor)
}

// end records the end; nil is success. A connection that net/http closed for
// that error says so.
func (x *exchange) end(err error) {
	if err == nil {
		x.record.End("")
		return
	}
	x.record.End(err.Error())
	if conn, carrier := x.carriedBy(); conn != nil && carrier.Connection().Protocol != "h2" {
		conn.because(fmt.Sprintf("request %d failed: %v", x.id, err))
	}
}

// opening is what is known of a connection that was dialled for x; x may be
// nil.
func (x *exchange) opening(conn net.Conn, network, addr string) Connection {
	c := Connection{Network: network, Host: addr, Local: address(conn.LocalAddr()), Remote: address(conn.RemoteAddr())}
	c.BytesUp, c.BytesDown, c.HeaderBytesUp, c.HeaderBytesDown = -1, -1, -1, -1
	if x == nil {
		return c
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	c.Host, c.OpenReason = x.host, fmt.Sprintf("request %d", x.id)
	if x.proxy != nil {
		c.Proxy = hostPort(x.proxy)
	}
	return c
}

func address(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// group is the pool of net/http in which x looks for a connection.
func (x *exchange) group(proxy *url.URL) group {
	g := group{scheme: x.scheme, host: x.host, h1: x.websocket}
	if proxy == nil {
		return g
	}
	g.proxy = proxy.String()
	if g.scheme == "http" && strings.HasPrefix(proxy.Scheme, "http") {
		g.host = "" // such a connection serves any host
	}
	return g
}
