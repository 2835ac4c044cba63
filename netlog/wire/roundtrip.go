package wire

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"

	"example.com/wiretest/netlog"
)

// RoundTrip sends req and returns the answer as soon as its head is there.
// started, if not nil, is called once the head was sent, with the record that
// the Tap made of it; it returns before RoundTrip does, and must not block.
//
// The answer's body is to be closed as with http.RoundTripper. The hooks of
// req's httptrace are called, among them Got1xxResponse; the body of a 101 is
// an io.ReadWriteCloser. When req's context ends, its stream alone is reset on
// h2, and the connection is closed on http/1.1. Calls beyond Limit wait for
// their turn.
//
// On http/1.1 net/http keeps an answer without a body for 50 ms if the
// request's body is not sent by then; after that the connection is Done.
func (c *ClientConn) RoundTrip(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error) {
	own := ownRequest(req)
	if c.foreign != nil {
		return c.roundTripForeign(req, own, started)
	}
	s := newSending(started)
	var resp *http.Response
	var err error
	if c.protocol == protoH2 {
		resp, err = c.roundTripH2(own, s)
	} else {
		resp, err = c.roundTripHTTP1(own, s)
	}
	if err != nil {
		s.giveUp()
		return nil, fmt.Errorf("wire: client: %s: %w", c.protocol, err)
	}
	resp.Request = req
	resp.TLS = c.tls
	return resp, nil
}

func (c *ClientConn) roundTripForeign(req, own *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error) {
	resp, err := c.foreign.RoundTrip(own, started)
	if err != nil {
		return nil, fmt.Errorf("wire: client: %s: %w", c.protocol, err)
	}
	resp.Request, resp.TLS = req, c.tls
	return resp, nil
}

// ownRequest is req without the User-Agent that net/http would add.
func ownRequest(req *http.Request) *http.Request {
	own := req.WithContext(req.Context())
	if _, has := req.Header["User-Agent"]; has {
		return own
	}
	own.Header = maps.Clone(req.Header)
	if own.Header == nil {
		own.Header = make(http.Header)
	}
	own.Header["User-Agent"] = nil
	return own
}

// roundTripH2 relies on WroteHeaders being called right after the HEADERS
// frame was written, before net/http lets another request write its own.
func (c *ClientConn) roundTripH2(req *http.Request, s *sending) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { s.begun.Store(true) },
		WroteHeaders: func() {
			defer close(s.wrote)
			rec := c.pipe.tap.Last()
			s.before = c.lastSent
			c.lastSent = rec
			s.sent(rec)
		},
	})
	resp, err := c.http.RoundTrip(req.WithContext(ctx))
	if err == nil {
		<-s.told
	}
	return resp, err
}

func (c *ClientConn) roundTripHTTP1(req *http.Request, s *sending) (*http.Response, error) {
	if err := c.takeTurn(req.Context()); err != nil {
		closeBody(req)
		return nil, err
	}
	s.before = c.pipe.tap.Last()
	c.pipe.sending.Store(s)
	resp, err := c.http.RoundTrip(req)
	c.pipe.sending.CompareAndSwap(s, nil)
	if err != nil {
		c.endTurn()
		return nil, err
	}
	s.sent(c.pipe.tap.Last()) // the answer may be here before Write has returned
	<-s.told
	if resp.Close {
		c.restoreConnection(resp)
		c.finishNow()
	}
	c.watchBody(resp)
	return resp, nil
}

// restoreConnection puts the Connection field back that net/http takes out of an
// answer with "close": it may name other fields that belong to the connection.
func (c *ClientConn) restoreConnection(resp *http.Response) {
	t := c.pipe.tap
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		return
	}
	if values := t.last.has().connection; len(values) > 0 {
		resp.Header["Connection"] = values
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// takeTurn waits until no other exchange is on the connection. It does not
// look at done first: whoever sends on a closed connection is to get the error
// of that.
func (c *ClientConn) takeTurn(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// endTurn ends an exchange. net/http makes a connection available again before
// it gives out the end of the answer, unless it is about to close it.
func (c *ClientConn) endTurn() {
	if c.http.Available() == 0 {
		c.finishNow()
	}
	<-c.turn
}

// finishNow is finish where no locks are held.
func (c *ClientConn) finishNow() {
	if c.finish() {
		c.changed()
	}
}
