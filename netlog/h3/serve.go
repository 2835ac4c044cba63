package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// servedConn is a connection of a Server.
type servedConn struct {
	server     *Server
	rec        *netlog.ConnectionRecord
	tally      *tally
	handshaken func(tls.ConnectionState) // set during the handshake
	recorded   sync.Once                 // that the handshake is over

	// turn is held from the moment at which the head of a request was read until
	// its handler begins, which is all that tells the handler its stream: http3
	// does not. Nothing waits in between.
	turn     chan struct{}
	entering *exchange // of who holds turn

	conn    atomic.Pointer[quic.Conn] // set by serve; nil as long as the handshake has not got so far
	running sync.WaitGroup            // what serve starts

	mu      sync.Mutex
	streams map[quic.StreamID]*quic.Stream // that are served; guarded by mu
}

func newServedConn(s *Server, local, remote net.Addr) *servedConn {
	c := &servedConn{server: s, rec: s.cfg.Open(local, remote), turn: make(chan struct{}, 1), streams: make(map[quic.StreamID]*quic.Stream)}
	c.rec.Update(func(n *netlog.Connection) { n.StreamLimit = s.cfg.MaxConcurrentStreams })
	c.tally = newTally(c.rec, true, nil)
	c.tally.begun, c.tally.lost = c.enter, c.isLost
	return c
}

// serve returns when the connection is over and its handlers have returned.
func (c *servedConn) serve(conn *quic.Conn) {
	c.conn.Store(conn)
	if !c.server.add(c) {
		c.close()
		return
	}
	defer c.server.remove(c)
	h := &http3.Server{Handler: http.HandlerFunc(c.handle), IdleTimeout: c.server.cfg.IdleTimeout, Logger: c.server.logger()}
	raw, err := h.NewRawServerConn(conn)
	if err != nil { // as where the connection is over already
		c.close()
		return
	}
	c.running.Go(c.awaitHandshake)
	c.running.Go(func() {
		for {
			str, err := conn.AcceptUniStream(context.Background())
			if err != nil {
				return
			}
			c.running.Go(func() { raw.HandleUnidirectionalStream(str) })
		}
	})
	for {
		str, err := conn.AcceptStream(context.Background())
		if err != nil {
			break
		}
		c.running.Go(func() { c.serveStream(raw, str) })
	}
	c.running.Wait()
	// This stops the timer of the HTTP/3 layer.
	raw.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
}

// close waits until quic-go has said so to the client.
func (c *servedConn) close() {
	c.conn.Load().CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
}

func (c *servedConn) awaitHandshake() {
	conn := c.conn.Load()
	select {
	case <-conn.HandshakeComplete():
		c.recordHandshake()
	case <-conn.Context().Done(): // over looks again
	}
}

func (c *servedConn) isShaken() bool {
	conn := c.conn.Load()
	return conn != nil && isClosed(conn.HandshakeComplete())
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// recordHandshake is called by whoever first sees that it is over.
func (c *servedConn) recordHandshake() {
	c.recorded.Do(func() {
		state := c.conn.Load().ConnectionState()
		if c.handshaken != nil {
			c.handshaken(state.TLS)
		}
		c.rec.Update(func(n *netlog.Connection) { n.EarlyData = state.Used0RTT })
		c.named()
	})
}

func (c *servedConn) named() {
	if f := c.server.cfg.Handshaken; f != nil {
		f(c.rec)
	}
}

// over records the end of the connection, also of one whose handshake failed.
func (c *servedConn) over(cause error) {
	shaken := c.isShaken()
	if shaken {
		c.recordHandshake()
	} else {
		c.named()
	}
	c.rec.Close(onServer.reason(cause, shaken))
	if f := c.server.cfg.Closed; f != nil {
		f(c.rec)
	}
}

// enter takes the turn for the request whose head was read just now.
func (c *servedConn) enter(x *exchange) {
	c.turn <- struct{}{}
	c.entering, x.entered = x, true
}

func (c *servedConn) leave() *exchange {
	x := c.entering
	c.entering = nil
	<-c.turn
	return x
}

func (c *servedConn) handle(w http.ResponseWriter, r *http.Request) {
	x := c.leave()
	x.served = true
	if c.isShaken() { // else it came in 0-RTT
		c.recordHandshake() // a client may be quicker than awaitHandshake
	}
	c.lookForBody(x.id, r)
	own := answer{w.(answerWriter)}
	defer own.clean()
	c.server.cfg.Wire.ServeForeign(&wire.Foreign{
		Connection: c.rec,
		Request:    x.rec,
		Reset:      func(code http2.ErrCode) { c.reset(x.id, code) },
		Close:      c.close,
		PeerReset:  func() (http2.ErrCode, bool) { return c.peerReset(x.id) },
	}, own, r)
}

// probePatience is net/http's, of a client that looks whether a body of unknown length
// is one.
const probePatience = 200 * time.Millisecond

// lookForBody finds that a request has no body. HTTP/3 says so by the end of the
// stream alone, which may come behind the head, and http3 takes each request without
// a length for one that has a body. Methods that usually have one are not kept
// waiting for it.
func (c *servedConn) lookForBody(id quic.StreamID, r *http.Request) {
	if r.ContentLength != -1 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch || r.Method == http.MethodConnect {
		return
	}
	str := c.stream(id)
	if str == nil {
		return
	}
	str.SetReadDeadline(time.Now().Add(probePatience))
	_, err := str.Peek(make([]byte, 1))
	str.SetReadDeadline(time.Time{})
	if err != io.EOF {
		return
	}
	r.Body.Read(make([]byte, 1)) // so that http3 knows it too
	r.ContentLength, r.Body = 0, http.NoBody
}

func (c *servedConn) serveStream(raw *http3.RawServerConn, str *quic.Stream) {
	id := str.StreamID()
	c.mu.Lock()
	c.streams[id] = str
	c.mu.Unlock()
	stop := context.AfterFunc(str.Context(), func() { c.cut(str) })
	raw.HandleRequestStream(str)
	stop()
	c.mu.Lock()
	delete(c.streams, id)
	c.mu.Unlock()
	x := c.tally.end(id)
	if x == nil {
		return
	}
	if x.entered && !x.served { // http3 has refused it after it had read the head
		c.leave()
	}
	x.rec.End(c.outcome(str))
}

// cut ends the request on a stream that does not wait for its handler.
func (c *servedConn) cut(str *quic.Stream) {
	if x, why := c.tally.exchange(str.StreamID()), c.outcome(str); x != nil && why != "" {
		x.rec.End(why)
	}
}

func (c *servedConn) isLost(id quic.StreamID) bool {
	str := c.stream(id)
	return str != nil && str.Context().Err() != nil
}

// outcome is why the answer on the stream has not ended as it should; "" if it
// has. The first cause for the end of a stream is the one that its context has.
func (c *servedConn) outcome(str *quic.Stream) string {
	cause := context.Cause(str.Context())
	if cause == nil || errors.Is(cause, quic.ErrStreamClosed) { // nil: a handler took the stream over
		return ""
	}
	if text := onServer.reset(cause); text != "" {
		return text
	}
	return "connection closed before the answer ended: " + onServer.reason(cause, true)
}

// stream is nil when it is over.
func (c *servedConn) stream(id quic.StreamID) *quic.Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[id]
}

// peerReset is how a client has given up an answer.
func (c *servedConn) peerReset(id quic.StreamID) (http2.ErrCode, bool) {
	var told *quic.StreamError
	str := c.stream(id)
	if str == nil || !errors.As(context.Cause(str.Context()), &told) || !told.Remote {
		return 0, false
	}
	return codeOf(http3.ErrCode(told.ErrorCode)), true
}

// reset ends a stream before http3 would, whose code is always
// H3_INTERNAL_ERROR. Where the client takes part in RESET_STREAM_AT
// (draft-ietf-quic-reliable-stream-reset) what was written arrives before it.
func (c *servedConn) reset(id quic.StreamID, code http2.ErrCode) {
	str := c.stream(id)
	if str == nil {
		return
	}
	str.SetReliableBoundary()
	str.CancelRead(quic.StreamErrorCode(codeFor(code)))
	str.CancelWrite(quic.StreamErrorCode(codeFor(code)))
}
