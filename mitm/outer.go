package mitm

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// outer serves a client that begins with TLS to the proxy itself.
func (c *client) outer() {
	p := c.proxy
	ctx := context.WithValue(p.ctx, targetKey{}, localOf(c.conn))
	secured, err := wire.HandshakeServer(ctx, c.rest(), p.outerTLS, c.rec)
	if err != nil {
		return // HandshakeServer recorded it and closed the connection
	}
	if secured.ConnectionState().NegotiatedProtocol == alpn.H2 {
		p.outerServer.ServeConn(secured, c.rec)
		return
	}
	within := &client{proxy: p, mode: ExplicitTLS, conn: secured, reader: bufio.NewReader(secured), rec: c.rec}
	within.firstRequest()
}

// reachWithin is reach for a connection whose TLS is with the proxy: the tunnel
// is recorded as a connection in it, and it as one that carried no request.
func (c *client) reachWithin(t target) {
	c.rec.Update(func(r *netlog.Connection) { r.BytesUp, r.BytesDown = -1, -1 })
	tunnel := c.proxy.newClient(c.conn, c.about(t, ""))
	tunnel.mode, tunnel.reader = ExplicitTLS, c.reader
	defer tunnel.over()
	if c.proxy.add(tunnel) {
		tunnel.reach(t, answer{tunnel.established, tunnel.refuseConnect})
		c.rec.Close(tunnel.rec.Connection().CloseReason)
	}
}

// about is what is known of a tunnel in c.
func (c *client) about(t target, stream string) netlog.Connection {
	outer := c.rec.Connection()
	return netlog.Connection{
		Host:       t.String(),
		Proxy:      outer.Local,
		OpenReason: fmt.Sprintf("CONNECT on connection %d%s", outer.ID, stream),
	}
}

// serveOuter is the handler of HTTP/2 with the proxy itself.
func (p *Proxy) serveOuter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.forward(w, r)
		return
	}
	c := p.clientOf(wire.ConnectionOf(r))
	stream := wire.StreamOf(r)
	if c == nil || stream == nil {
		panic(http.ErrAbortHandler) // the connection has just ended
	}
	if err := p.unauthorized(r.Header); err != nil {
		w.Header().Set("Proxy-Authenticate", challenge)
		refuse(w, http.StatusProxyAuthRequired, err)
		return
	}
	t, err := parseTarget(r.Host)
	if err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("CONNECT: %w", err))
		return
	}
	if c.tunnel(t, w, r, stream) {
		stream.ResetAs(http2.ErrCodeConnect) // RFC 9113, section 8.5
		panic(http.ErrAbortHandler)
	}
}

// tunnel serves a stream as a client's connection, and reports whether it is to
// be reset.
func (c *client) tunnel(t target, w http.ResponseWriter, r *http.Request, stream *wire.Stream) (reset bool) {
	p := c.proxy
	h2 := &h2Tunnel{w: w, rc: http.NewResponseController(w), stream: stream}
	h2.ctx, h2.cancel = context.WithCancel(r.Context())
	defer h2.cancel()
	conn := newStreamConn(c.conn.LocalAddr(), c.conn.RemoteAddr(), r.Body, h2)
	tunnel := p.newClient(conn, c.about(t, fmt.Sprintf(", stream %d", stream.ID())))
	tunnel.mode = ExplicitTLS
	defer func() {
		tunnel.over()
		reset = conn.finish()
	}()
	if p.add(tunnel) {
		tunnel.reach(t, answer{h2.accept, func(status int, err error) {
			tunnel.rec.Close(oneLine(err))
			refuse(w, status, err)
		}})
	}
	return false
}

// h2Tunnel writes to the client's end of a tunnel in HTTP/2.
type h2Tunnel struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	stream *wire.Stream
	ctx    context.Context // of the request, until Interrupt
	cancel context.CancelFunc
}

// accept answers CONNECT. A client that has gone is seen by who reads: to this one
// it may say so too late, when the client has had the answer, and used it.
func (t *h2Tunnel) accept() bool {
	t.w.Header()["Date"], t.w.Header()["Content-Type"] = nil, nil
	t.w.WriteHeader(http.StatusOK)
	t.rc.Flush()
	return true
}

func (t *h2Tunnel) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if err != nil {
		return n, err
	}
	return n, t.rc.Flush()
}

func (t *h2Tunnel) CloseWrite() error {
	if t.stream.Flushed(t.ctx) != nil || t.stream.CloseWrite() != nil {
		return errLeft
	}
	return nil
}

// Interrupt resets the stream, which is all that net/http has for it.
func (t *h2Tunnel) Interrupt() {
	t.cancel()
	t.stream.ResetAs(http2.ErrCodeConnect)
	t.rc.SetWriteDeadline(time.Unix(1, 0))
}
