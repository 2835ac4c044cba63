package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// ClientConfig says how Connect opens a connection. Address and Record have to be
// set.
type ClientConfig struct {
	// Address is host:port. ListenPacket is as in Dialer.
	Address      string
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)
	// TLS is cloned; nil is its zero value. NextProtos is of no account, and without a
	// ServerName it is Address's. What is remembered in a ClientSessionCache is
	// resumed, but nothing is sent in 0-RTT.
	TLS *tls.Config
	// QUIC is cloned; nil is quic-go's own, with a PING every 10 seconds as in
	// http3.Transport. What the fields below say goes before it.
	QUIC   *quic.Config
	Record *netlog.ConnectionRecord
	// MaxStreams keeps the requests at once from being more, whatever the server
	// allows; 0 is no limit of the client's own.
	MaxStreams int
	// StreamWindow and ConnWindow are how much a server may send before it was read,
	// in bytes; 0 leaves it to QUIC.
	StreamWindow, ConnWindow int
}

// Connect opens a connection for a wire.Pool, and returns after the handshake. A
// request's body is streamed, while an answer may already come; with Expect:
// 100-continue it waits a second for it. Trailers pass both ways, and answers of
// status 1xx are told to the request's httptrace. Of a request with a body quic-go
// takes no more than five of those, and resets it by H3_REQUEST_CANCELLED only.
func Connect(ctx context.Context, cfg ClientConfig) (*wire.ClientConn, error) {
	d := &Dialer{ListenPacket: cfg.ListenPacket}
	c := newClientConn(cfg.Record)
	limit := 0 // told during the handshake
	c.tally.limited = func(n int) { limit = n }
	failed := c.open(ctx, d.Dial, cfg.Address, cfg.tls(), cfg.quic())
	if failed == nil {
		failed = c.settle(ctx)
	}
	if failed != nil {
		d.Close()
		return nil, failed
	}
	c.pool(d, limit, cfg.MaxStreams)
	return c.pooled, nil
}

func (cfg *ClientConfig) tls() *tls.Config {
	return tlsOf(&http3.Transport{TLSClientConfig: cfg.TLS}, cfg.Address)
}

// keepAlive is that of http3.Transport. Without it QUIC's idle timeout, of 30 seconds,
// ends a connection on which an answer takes longer.
const keepAlive = 10 * time.Second

func (cfg *ClientConfig) quic() *quic.Config {
	q := &quic.Config{KeepAlivePeriod: keepAlive}
	if cfg.QUIC != nil {
		q = cfg.QUIC.Clone()
	}
	q.EnableStreamResetPartialDelivery = true // so that a part of an answer can come before a reset
	setWindows(q, cfg.StreamWindow, cfg.ConnWindow)
	return q
}

// settle waits for the end of the handshake, which where 0-RTT was possible is
// still to come.
func (c *clientConn) settle(ctx context.Context) *clientError {
	_, err := c.conn.NextConnection(ctx)
	select {
	case <-c.conn.HandshakeComplete():
		return nil
	default:
	}
	c.conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	reason := onClient.reason(err, false)
	c.rec.Close(reason)
	return &clientError{reason, err}
}

// pool has the connection pass for a ClientConn, which owns d.
func (c *clientConn) pool(d *Dialer, limit, own int) {
	c.recordHandshake()
	c.rec.Update(func(n *netlog.Connection) { n.StreamLimit, n.EarlyData = limit, false })
	state := c.conn.ConnectionState().TLS
	c.pooled = wire.NewForeignConn(&wire.ForeignConn{
		Protocol:   protocol,
		Record:     c.rec,
		TLS:        &state,
		Limit:      max(limit, 1), // with none at first, a request waits for leave
		MaxStreams: own,
		RoundTrip:  c.roundTrip,
		Reset:      c.reset,
		Close: func() error {
			c.Close()
			return d.Close()
		},
		Closed: c.over,
	})
	c.tally.goneBy = c.pooled.Finish
	c.http = newHTTP(c.conn)
	c.running.Go(c.watch)
}

// roundTrip is RoundTrip for a request that may have a body, with errors that say
// what has happened.
func (c *clientConn) roundTrip(req *http.Request, started func(*netlog.RequestRecord)) (resp *http.Response, err error) {
	if hasBody(req) {
		resp, err = c.sendWithBody(req, started)
	} else {
		resp, err = c.send(c.current(), req, started)
	}
	if err != nil {
		return nil, c.named(err)
	}
	return resp, nil
}

// reset ends a request, of which http3 lets one with a body have no code.
func (c *clientConn) reset(rec *netlog.RequestRecord, code http2.ErrCode) {
	x := c.tally.exchange(quic.StreamID(rec.Request().Stream))
	if x != nil && x.rec == rec {
		x.quit(codeFor(code))
	}
}

// clientError says in words of the record what an error of quic-go means.
type clientError struct {
	text  string
	cause error
}

func (e *clientError) Error() string { return e.text }
func (e *clientError) Unwrap() error { return e.cause }

// named is err as a ForeignConn has it. Where it is about a connection for a Pool,
// the record is closed, and so is Done, before anyone is told.
func (c *clientConn) named(err error) error {
	var known *clientError
	if errors.As(err, &known) {
		return err
	}
	var told *quic.StreamError
	switch {
	case errors.As(err, &told) && told.Remote:
		return &clientError{onClient.reset(err), http2.StreamError{Code: codeOf(http3.ErrCode(told.ErrorCode)), Cause: err}}
	case c.pooled == nil:
		return err
	case endsConnection(err) && c.conn.Context().Err() == nil:
		// quic-go tells the streams first.
		<-c.conn.Context().Done()
	}
	if c.conn.Context().Err() == nil || told != nil {
		return err
	}
	<-c.over
	return &clientError{c.failure(err), err}
}
