package h3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

var (
	errUploadOver = errors.New("h3: the request is over")
	errUnwanted   = errors.New("h3: the body is not wanted: the server has answered without 100 (Continue)")
)

// upload is a request's body as http3 reads it, in a goroutine of its own that may
// outlive the request.
type upload struct {
	io.Reader
	closer    func() error
	continued chan struct{} // closed by 100; nil is that the request does not wait for it
	answered  chan struct{} // closed by the final answer
	begun     bool          // it has waited; of the goroutine that reads
	over      chan struct{} // closed by stop
	reading   chan struct{} // held during a Read, and after stop for ever
	stopping  sync.Once
}

func newUpload(req *http.Request) *upload {
	u := &upload{
		Reader:   req.Body,
		closer:   sync.OnceValue(req.Body.Close),
		answered: make(chan struct{}),
		over:     make(chan struct{}),
		reading:  make(chan struct{}, 1),
	}
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		u.continued = make(chan struct{})
	}
	return u
}

// traced has u know of a 100, of which http3 takes no notice.
func (u *upload) traced(ctx context.Context) context.Context {
	if u.continued == nil {
		return ctx
	}
	goOn := sync.OnceFunc(func() { close(u.continued) })
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: goOn})
}

func (u *upload) Read(p []byte) (int, error) {
	if err := u.await(); err != nil {
		return 0, err
	}
	select {
	case <-u.over:
		return 0, errUploadOver
	case u.reading <- struct{}{}:
	}
	defer func() { <-u.reading }()
	if isClosed(u.over) {
		return 0, errUploadOver
	}
	return u.Reader.Read(p)
}

// await waits, before the first Read, until the server wants the body.
func (u *upload) await() error {
	if u.begun || u.continued == nil {
		return nil
	}
	timer := time.NewTimer(wire.ContinueTimeout)
	defer timer.Stop()
	select {
	case <-u.continued:
	case <-timer.C:
	case <-u.over:
		return errUploadOver
	case <-u.answered:
		if !isClosed(u.continued) {
			return errUnwanted
		}
	}
	u.begun = true
	return nil
}

func (u *upload) Close() error { return u.closer() }

// stop returns when no Read runs anymore and none will.
func (u *upload) stop() {
	u.stopping.Do(func() {
		close(u.over)
		u.closer()
		u.reading <- struct{}{}
	})
}

// sendWithBody leaves to http3 what only http3.ClientConn.RoundTrip does: a length in
// the head, and trailers. It tells neither the stream that it opens nor, until there
// is an answer, how to reset that with a code: the code always is
// H3_REQUEST_CANCELLED.
func (c *clientConn) sendWithBody(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error) {
	u := newUpload(req)
	ctx, cancel := context.WithCancel(u.traced(req.Context()))
	body := &answerBody{conn: c, upload: u, stop: func() bool { return true }}
	begun := func(x *exchange) {
		x.quit = func(http3.ErrCode) {
			x.givenUp(http3.ErrCodeRequestCanceled)
			cancel()
		}
		body.exchange = x
		x.sent(started)
	}
	asked := req.WithContext(ctx)
	asked.Body = u
	resp, err := c.roundTripKnown(asked, begun)
	if err != nil {
		if ctx.Err() != nil && body.exchange != nil && !isCut(err) {
			err = &quic.StreamError{StreamID: body.exchange.id, ErrorCode: quic.StreamErrorCode(http3.ErrCodeRequestCanceled)}
		}
		cancel()
		u.stop()
		return nil, c.unanswered(body, err)
	}
	close(u.answered)
	c.answered(req, resp, body)
	return resp, nil
}

// roundTripKnown is http3's RoundTrip, with begun told which stream it is that was
// opened. The one that opens one by itself has the turn until its head is written.
func (c *clientConn) roundTripKnown(req *http.Request, begun func(*exchange)) (*http.Response, error) {
	select {
	case c.turn <- struct{}{}:
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	case <-c.conn.Context().Done():
		return nil, context.Cause(c.conn.Context())
	}
	leave := sync.OnceFunc(func() { <-c.turn })
	defer leave()
	taken := false
	c.tally.open(func(id quic.StreamID) { // called by this goroutine
		taken = true
		defer leave()
		begun(c.tally.begin(id, netlog.Request{Method: req.Method, URL: req.URL.String()}))
	})
	resp, err := c.current().RoundTrip(req)
	if !taken {
		c.tally.takeOpening()
	}
	return resp, err
}

// unanswered records that there was no answer, if a stream was opened.
func (c *clientConn) unanswered(body *answerBody, err error) error {
	if body.exchange == nil {
		return err
	}
	c.tally.end(body.exchange.id)
	return body.end(answerless(err))
}
