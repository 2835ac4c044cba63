package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlogwriter"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// BrowserConn is an open connection as package pageload wants it; an alias, so
// that pageload need not know of this package.
type BrowserConn = interface {
	// RoundTrip sends a request that has no body. started is told of its record
	// when it is about to be sent.
	RoundTrip(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error)
	// Handshaken is closed when the handshake is over; with 0-RTT that is after
	// the connection could be used.
	Handshaken() <-chan struct{}
	// Done is closed when the connection is over.
	Done() <-chan struct{}
	Close() error
}

// Browser makes of tr what pageload.Config.HTTP3 wants: a way to open HTTP/3
// connections that are recorded. Of tr, Dial, TLSClientConfig and QUICConfig are
// used, and its pool is not. A ClientSessionCache in TLSClientConfig makes it
// resume sessions, and send requests in 0-RTT.
func Browser(tr *http3.Transport) func(ctx context.Context, host, alternative string, rec *netlog.ConnectionRecord) (BrowserConn, error) {
	return func(ctx context.Context, host, alternative string, rec *netlog.ConnectionRecord) (BrowserConn, error) {
		c, err := dial(ctx, tr, host, alternative, rec)
		if err != nil {
			return nil, err // not a nil *clientConn
		}
		return c, nil
	}
}

// clientConn is a connection of Browser or Connect.
type clientConn struct {
	rec      *netlog.ConnectionRecord
	tally    *tally
	conn     *quic.Conn
	running  sync.WaitGroup
	recorded sync.Once        // that the handshake is over
	over     chan struct{}    // closed when its end was recorded
	pooled   *wire.ClientConn // what it passes for; nil of Browser
	turn     chan struct{}    // held by a request with a body until its stream is known

	mu   sync.Mutex
	http *http3.ClientConn // what the next request goes by; guarded by mu
}

func dial(ctx context.Context, tr *http3.Transport, host, alternative string, rec *netlog.ConnectionRecord) (*clientConn, error) {
	if tr.Dial == nil {
		return nil, errors.New("h3: Browser: the Transport has no Dial: set that of a Dialer")
	}
	c := newClientConn(rec)
	if err := c.open(ctx, tr.Dial, alternative, tlsOf(tr, host), tr.QUICConfig); err != nil {
		return nil, fmt.Errorf("h3: %v: %w", err, err.cause)
	}
	c.http = newHTTP(c.conn)
	if c.isShaken() {
		c.recordHandshake()
	}
	c.running.Go(c.watch)
	return c, nil
}

func newClientConn(rec *netlog.ConnectionRecord) *clientConn {
	return &clientConn{rec: rec, tally: newTally(rec, false, nil), over: make(chan struct{}), turn: make(chan struct{}, 1)}
}

type dialFunc = func(ctx context.Context, addr string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error)

// open opens the QUIC connection, and closes the record if it fails.
func (c *clientConn) open(ctx context.Context, dial dialFunc, addr string, cfg *tls.Config, q *quic.Config) *clientError {
	c.rec.Update(func(n *netlog.Connection) {
		n.Network, n.ServerName, n.Offered = "udp", serverName(cfg), cfg.NextProtos
	})
	conn, err := dial(ctx, addr, cfg, c.traced(q))
	if err != nil {
		reason := onClient.reason(err, false)
		c.rec.Close(reason)
		return &clientError{reason, err}
	}
	c.conn = conn
	c.rec.Update(func(n *netlog.Connection) {
		n.Local, n.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	})
	return nil
}

// tlsOf is what http3.Transport would make of its TLSClientConfig.
func tlsOf(tr *http3.Transport, host string) *tls.Config {
	cfg := tr.TLSClientConfig.Clone()
	if cfg == nil {
		cfg = new(tls.Config)
	}
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(host)
	}
	cfg.NextProtos = []string{protocol}
	return cfg
}

func serverName(cfg *tls.Config) string {
	if net.ParseIP(cfg.ServerName) != nil {
		return "" // no SNI is sent for an address (RFC 6066, section 3)
	}
	return cfg.ServerName
}

// traced is cfg, nil or not, with the tally.
func (c *clientConn) traced(cfg *quic.Config) *quic.Config {
	q := &quic.Config{}
	if cfg != nil {
		q = cfg.Clone()
	}
	q.MaxIncomingStreams = -1 // a server opens none in HTTP/3 (RFC 9114, section 6.1)
	ask := q.Tracer
	q.Tracer = func(ctx context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
		if ask != nil {
			c.tally.also = ask(ctx, isClient, id)
		}
		return c.tally
	}
	return q
}

func (c *clientConn) recordHandshake() {
	c.recorded.Do(func() {
		state := c.conn.ConnectionState()
		wire.RecordClient(state.TLS, c.rec)
		c.rec.Update(func(n *netlog.Connection) { n.EarlyData = state.Used0RTT })
	})
}

// watch records the end of the handshake, which with 0-RTT is still to come, and
// that of the connection. It outlives a Close by nothing.
func (c *clientConn) watch() {
	select {
	case <-c.conn.HandshakeComplete():
		c.recordHandshake()
		<-c.conn.Context().Done()
	case <-c.conn.Context().Done():
	}
	if c.isShaken() {
		c.recordHandshake()
	}
	c.rec.Close(onClient.reason(context.Cause(c.conn.Context()), c.isShaken()))
	if c.pooled != nil {
		c.pooled.Finish()
	}
	close(c.over)
}

func (c *clientConn) Handshaken() <-chan struct{} { return c.conn.HandshakeComplete() }
func (c *clientConn) Done() <-chan struct{}       { return c.conn.Context().Done() }

// Close says H3_NO_ERROR to the server, and waits for the record to be closed.
func (c *clientConn) Close() error {
	err := c.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	c.running.Wait()
	return err
}

func newHTTP(conn *quic.Conn) *http3.ClientConn {
	return (&http3.Transport{DisableCompression: true}).NewClientConn(conn)
}

func (c *clientConn) RoundTrip(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error) {
	if hasBody(req) {
		return nil, errors.New("h3: Browser: a request with a body")
	}
	by := c.current()
	resp, err := c.send(by, req, started)
	if !errors.Is(err, quic.Err0RTTRejected) {
		return resp, err
	}
	if by, err = c.afterRejection(req.Context(), by); err != nil {
		return nil, err
	}
	return c.send(by, req, started)
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func (c *clientConn) current() *http3.ClientConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.http
}

// afterRejection is the same connection, as it goes on when the handshake has
// ended without what was sent in 0-RTT (RFC 9001, section 4.6.2).
func (c *clientConn) afterRejection(ctx context.Context, rejected *http3.ClientConn) (*http3.ClientConn, error) {
	if _, err := c.conn.NextConnection(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http == rejected { // of those that were refused the first does it
		c.http = newHTTP(c.conn)
	}
	return c.http, nil
}

func (c *clientConn) send(by *http3.ClientConn, req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error) {
	str, err := by.OpenRequestStream(req.Context())
	if err != nil {
		return nil, err
	}
	x := c.tally.begin(str.StreamID(), netlog.Request{Method: req.Method, URL: req.URL.String()})
	x.quit = func(code http3.ErrCode) {
		x.givenUp(code)
		cancelBoth(str, code)
	}
	x.sent(started)
	body := &answerBody{conn: c, exchange: x}
	body.stop = context.AfterFunc(req.Context(), func() { x.quit(http3.ErrCodeRequestCanceled) })
	resp, err := c.ask(req, str)
	if err != nil {
		return nil, body.end(answerless(err))
	}
	c.answered(req, resp, body)
	return resp, nil
}

func (c *clientConn) answered(req *http.Request, resp *http.Response, body *answerBody) {
	state := c.conn.ConnectionState().TLS
	resp.TLS, resp.Request = &state, req
	body.ReadCloser, resp.Body = resp.Body, body
}

// ask sends the request and reads the head of its final answer. That sending
// fails is no failure by itself: a server may answer before it has read the end
// of the request, and then asks by STOP_SENDING for no more (RFC 9114, section
// 4.1).
func (c *clientConn) ask(req *http.Request, str *http3.RequestStream) (*http.Response, error) {
	early := !c.isShaken()
	if err := str.SendRequestHeader(req); err != nil && !isCut(err) {
		// it is no request that HTTP/3 could carry
		cancelBoth(str, http3.ErrCodeRequestCanceled)
		return nil, err
	}
	_ = str.Close()
	if early {
		if err := c.accepted(req.Context()); err != nil {
			return nil, err
		}
	}
	for {
		resp, err := str.ReadResponse()
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
		if err := tellInterim(req, resp); err != nil {
			return nil, err
		}
	}
}

func cancelBoth(str *http3.RequestStream, code http3.ErrCode) {
	str.CancelRead(quic.StreamErrorCode(code))
	str.CancelWrite(quic.StreamErrorCode(code))
}

// tellInterim tells who traces req of an answer of status 1xx.
func tellInterim(req *http.Request, resp *http.Response) error {
	trace := httptrace.ContextClientTrace(req.Context())
	switch {
	case trace == nil:
		return nil
	case resp.StatusCode == http.StatusContinue && trace.Got100Continue != nil:
		trace.Got100Continue()
	}
	if trace.Got1xxResponse == nil {
		return nil
	}
	return trace.Got1xxResponse(resp.StatusCode, textproto.MIMEHeader(resp.Header))
}

func (c *clientConn) isShaken() bool { return isClosed(c.conn.HandshakeComplete()) }

// accepted waits until it is known what became of 0-RTT: no answer can come
// before. To read from a stream that was refused makes http3 reset it, and the
// stream of the same number with it that is opened next.
func (c *clientConn) accepted(ctx context.Context) error {
	select {
	case <-c.conn.HandshakeComplete():
	case <-c.conn.Context().Done():
		return context.Cause(c.conn.Context())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !c.conn.ConnectionState().Used0RTT {
		return quic.Err0RTTRejected
	}
	return nil
}

// answerBody records the end of an answer.
type answerBody struct {
	io.ReadCloser
	conn     *clientConn
	exchange *exchange
	stop     func() bool // of the watch over the request's context
	upload   *upload     // nil is that the request had no body
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		err = b.end(err)
	}
	return n, err
}

// Close gives up what was not read, and what was not sent.
func (b *answerBody) Close() error {
	b.end(errGivenUp)
	if b.upload == nil {
		return b.ReadCloser.Close()
	}
	b.exchange.quit(http3.ErrCodeRequestCanceled)
	b.upload.stop()
	b.conn.tally.end(b.exchange.id)
	return b.ReadCloser.Close()
}

var (
	errGivenUp  = errors.New("given up by client")
	errNoAnswer = errors.New("the server ended the stream without an answer")
)

// answerless is why there was no answer, for which no end is a good one.
func answerless(err error) error {
	if err == io.EOF {
		return errNoAnswer
	}
	return err
}

// end records the first end, and returns what it was. Of a request that is still
// being sent the rest is counted until Close.
func (b *answerBody) end(err error) error {
	b.stop()
	if b.upload == nil {
		b.conn.tally.end(b.exchange.id)
	}
	if err == io.EOF {
		b.exchange.rec.End("")
		return err
	}
	b.exchange.rec.End(b.conn.failure(err))
	return b.conn.named(err)
}

// failure is what a request's error means. quic-go tells the streams that the
// connection is over before it tells anyone else, so the error alone has to say
// which of the two it is about.
func (c *clientConn) failure(err error) string {
	if text := onClient.reset(err); text != "" {
		return text
	}
	if cause := context.Cause(c.conn.Context()); cause != nil {
		err = cause
	}
	if !endsConnection(err) {
		return err.Error()
	}
	return "connection closed before the answer ended: " + onClient.reason(err, c.isShaken())
}
