package mitm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// exchange is one request on both legs.
type exchange struct {
	proxy   *Proxy
	client  *client
	route   route
	w       http.ResponseWriter
	rc      *http.ResponseController
	in      *http.Request         // from the client
	ask     *http.Request         // what the origin is asked: in, or what a hook has made of it
	sameURL bool                  // ask is for the URL of in
	hooked  bool                  // a hook has had its way with the answer
	stream  *wire.Stream          // of in; nil if its connection is not understood
	down    *netlog.RequestRecord // of in
	upgrade string                // what the client wants to switch to; "" is nothing
	upload  *upload               // nil is no body

	// Of the last attempt.
	attempts int
	asked    time.Time
	lease    *wire.Lease
	asking   atomic.Pointer[wire.Stream] // of up, on http/1.1; nil before
	resetUp  atomic.Pointer[resetFunc]   // resets up for a client of HTTP/3; nil before
	up       *netlog.RequestRecord       // what was sent to the origin; nil before
	interim  *interim
	body     *attemptBody // nil is none
	whole    bool         // the answer was passed on
}

// forward is the handler of all clients' connections.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	c := p.clientOf(wire.ConnectionOf(r))
	if c == nil {
		panic(http.ErrAbortHandler) // the connection has just ended
	}
	if err := c.admit(r); err != nil {
		w.Header().Set("Proxy-Authenticate", challenge)
		refuse(w, http.StatusProxyAuthRequired, err)
		return
	}
	route, status, err := c.routeOf(r)
	if err != nil {
		if r.ProtoMajor == 1 { // on h2 it would end the connection of others too
			w.Header().Set("Connection", "close")
		}
		refuse(w, status, fmt.Errorf("%s %s: %w", r.Method, r.RequestURI, err))
		return
	}
	x := &exchange{
		proxy:   p,
		client:  c,
		route:   c.ruled(route),
		w:       w,
		rc:      http.NewResponseController(w),
		in:      r,
		ask:     r,
		sameURL: true,
		stream:  wire.StreamOf(r),
		down:    wire.RequestOf(r),
		upgrade: upgradeOf(r),
		asked:   time.Now(),
	}
	if told := c.notMirrored.Swap(nil); told != nil {
		x.fail(told)
		return
	}
	x.run()
}

// routeOf is where r goes: where CONNECT led, whatever authority r names, or
// else where r itself says.
func (c *client) routeOf(r *http.Request) (route, int, error) {
	if r.Method == http.MethodConnect {
		if c.route.scheme == "" && !c.mode.has(Explicit|ExplicitTLS) {
			return route{}, http.StatusMethodNotAllowed, fmt.Errorf("CONNECT is for a proxy, and Mode is %v", c.proxy.mode)
		}
		return route{}, http.StatusNotImplemented, errors.New("CONNECT must be the first request on its connection")
	}
	if c.route.scheme != "" {
		return c.route, 0, nil
	}
	to, err := c.routeByRequest(r)
	if err != nil {
		return route{}, http.StatusBadRequest, err
	}
	to = c.ruled(to)
	c.rec.Update(func(rec *netlog.Connection) {
		if rec.Host == "" {
			rec.Host, rec.Rule = to.target.String(), to.rule.name
		}
	})
	return to, 0, nil
}

func (x *exchange) run() {
	x.rc.EnableFullDuplex() // HTTP/1.1 would else read all of the request before it answers; HTTP/2 is full duplex, and says that it knows no such thing
	if x.hookRequest() {
		x.passOn()
	}
	x.leaveBody() // not where it has panicked: then the connection ends as it is
}

// passOn asks the origin until it has answered.
func (x *exchange) passOn() {
	if x.sendsBody() {
		x.upload = newUpload(x)
		defer x.upload.stop()
	}
	if x.upgrade != "" && x.mayGetOther() {
		x.route.offered, x.route.mirrored = []string{alpn.HTTP11}, true // HTTP/2 has no Upgrade (RFC 9113, section 8.6), nor has HTTP/3
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(x.in.Context()))
	defer cancel(nil)
	defer context.AfterFunc(x.in.Context(), func() { x.left(cancel) })()
	for x.attempt(ctx) {
	}
}

// hasLeft reports whether the client has. On HTTP/1.1 net/http says so too where a Read
// of the body was interrupted, and then it is seen when something is written.
func (x *exchange) hasLeft() bool {
	return x.in.Context().Err() != nil && (x.in.ProtoMajor != 1 || x.upload == nil || !x.upload.interrupted.Load())
}

// left ends what is asked of the origin, because the client has left.
func (x *exchange) left(cancel context.CancelCauseFunc) {
	if !x.hasLeft() {
		return
	}
	x.closesBecause(errLeft)
	x.resetLikeForeign()
	cancel(context.Cause(x.in.Context()))
}

// closesBecause says why the connection to the origin ends, which an exchange on
// http/1.1 costs that is broken off.
func (x *exchange) closesBecause(why error) {
	if asking := x.asking.Load(); asking != nil {
		asking.Because("closed by the proxy: " + oneLine(why))
	}
}

// mayGetOther reports whether a connection to the origin may come to speak something
// else than http/1.1.
func (x *exchange) mayGetOther() bool {
	leg := x.route.rule.upstream
	return x.route.scheme == "https" && (leg.HTTP3 != nil || slices.Contains(leg.ALPN.Protocols(), alpn.H2))
}

// sendsBody reports whether the client sends a body, or trailers.
func (x *exchange) sendsBody() bool { return x.ask.ContentLength != 0 || len(x.in.Trailer) > 0 }

// hasCome reports whether all of the request has.
func (x *exchange) hasCome() bool { return x.stream != nil && x.stream.RequestEnded() }

// attempt asks the origin, passes its answer on, and reports whether it is to be
// asked again.
func (x *exchange) attempt(ctx context.Context) (again bool) {
	x.attempts++
	x.asked, x.up, x.interim = time.Now(), nil, newInterim(x.w, x.stripAltSvc)
	x.asking.Store(nil)
	x.resetUp.Store(nil)
	x.whole = false
	lease, err := x.proxy.get(ctx, x.route)
	if err != nil {
		x.fail(x.explained(err))
		return false
	}
	x.lease = lease
	defer func() { lease.Release(x.whole || lease.Conn.Protocol() != alpn.HTTP11) }() // elsewhere a broken exchange ends its stream alone
	return x.askOrigin(ctx, attempted{early: !isClosed(lease.Conn.Greeted()), reused: isUsed(lease.Conn.Record())})
}

// conclude passes on what has become of an attempt, and reports whether there is to
// be another.
func (x *exchange) conclude(ctx context.Context, a attempted, o outcome) (again bool) {
	x.interim.end()
	if o.err != nil {
		return x.unansweredBy(ctx, o.err, a)
	}
	resp := o.resp
	defer resp.Body.Close()
	if err := x.hookResponse(resp); err != nil {
		x.closesBecause(err)
		x.hookFailed(err)
		return false
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		x.switchProtocols(resp)
		return false
	}
	if err := x.answer(resp); err != nil {
		x.closesBecause(fmt.Errorf("the answer was broken off: %w", err))
		x.resetToo(err)
		panic(http.ErrAbortHandler) // so that the client sees a broken answer, not a short one
	}
	x.whole = true
	return false
}

// explained is why no connection was to be had.
func (x *exchange) explained(err error) error {
	if x.upgrade == "" {
		return err
	}
	return fmt.Errorf("upgrade to %s, which takes http/1.1: %w", x.upgrade, err)
}

// unansweredBy deals with an origin that did not answer, and reports whether it
// is to be asked again.
func (x *exchange) unansweredBy(ctx context.Context, err error, a attempted) (again bool) {
	if bad := x.upload.malformed(); bad != nil {
		x.answerFor(http.StatusBadRequest, x.badBody(bad))
		return false
	}
	why := x.mayRepeat(err, a)
	if why == "" {
		x.fail(fmt.Errorf("%v: %w", x.route.target, unanswered(err)))
		return false
	}
	x.noteRepeat(why)
	if a.early { // the next attempt is to know the limit
		select {
		case <-x.lease.Conn.Greeted():
		case <-x.lease.Conn.Closed():
		case <-ctx.Done():
		}
	}
	return true
}

func isUsed(rec *netlog.ConnectionRecord) (used bool) {
	rec.Update(func(c *netlog.Connection) { used = c.Used() })
	return used
}

// request is what is sent to the origin.
func (x *exchange) request(ctx context.Context) *http.Request {
	out := &http.Request{
		Method:        x.ask.Method,
		URL:           x.url(),
		Host:          x.ask.Host,
		Proto:         "HTTP/1.1", // else net/http sends the body without waiting for 100
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        x.requestHeader(),
		ContentLength: x.ask.ContentLength,
		Body:          http.NoBody,
	}
	if x.upload != nil {
		x.declareTrailers(out)
		x.body = x.upload.attempt(x.lease.Conn, out)
		out.Body = x.body
	}
	return out.WithContext(x.trace(ctx))
}

// url has the request target as the client wrote it, also where net/url would
// write it differently. (A path that begins with two slashes and has such
// characters is beyond it.)
func (x *exchange) url() *url.URL {
	u := *x.ask.URL
	u.Scheme, u.Host, u.User = x.route.scheme, x.ask.Host, nil
	if u.Host == "" { // HTTP/1.0 needs none
		u.Host = x.route.target.String()
	}
	path, _, _ := strings.Cut(x.in.RequestURI, "?")
	if x.sameURL && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && path != u.EscapedPath() {
		u.Opaque = path
	}
	return &u
}

// started is called when the head was sent.
func (x *exchange) started(up *netlog.RequestRecord) {
	x.up = up
	if x.body != nil {
		x.body.up.Store(up)
	}
	x.linkEnds(up)
	wait, asked := x.lease.Wait, x.asked
	up.Update(func(q *netlog.Request) { q.Start, q.Wait = asked, wait })
	x.pair(up)
	if x.lease.Stalled == "" {
		return
	}
	q := up.Request()
	x.proxy.log.Stall(netlog.Stall{
		Kind:     x.lease.Stalled,
		Leg:      Upstream,
		Host:     x.route.target.String(),
		URL:      q.URL,
		Request:  q.ID,
		Start:    x.lease.StallAt,
		Duration: asked.Add(wait).Sub(x.lease.StallAt),
	})
}

func (x *exchange) pair(up *netlog.RequestRecord) {
	if x.down != nil {
		x.down.Pair(up)
	}
}

// fail answers for an origin that did not.
func (x *exchange) fail(err error) {
	err = fmt.Errorf("upstream leg: %w", err)
	if x.up == nil {
		x.recordUnsent(err)
	}
	x.answerFor(http.StatusBadGateway, err)
}

// answerFor answers in the origin's place. A client that has gone gets none.
func (x *exchange) answerFor(status int, err error) {
	if x.hasLeft() || x.proxy.ctx.Err() != nil || x.resetToo(err) {
		panic(http.ErrAbortHandler)
	}
	clear(x.w.Header())
	x.announceEnd()
	refuse(x.w, status, err)
}

// isBad reports whether err, of a Read of the client's body, is that it is malformed.
// Where the connection has failed net/http has ended the context by then, and on HTTP/2
// it deals with both. Either way it is said before the connection to the origin ends.
func (x *exchange) isBad(err error) bool {
	switch {
	case x.in.ProtoMajor != 1:
		return false
	case x.in.Context().Err() != nil:
		x.closesBecause(errLeft)
		return false
	}
	x.closesBecause(x.badBody(err))
	return true
}

// badBody says what is wrong with the client's body.
func (x *exchange) badBody(err error) error {
	return fmt.Errorf("downstream leg: body of the request: %w", err)
}

// recordUnsent makes the record of a request that no connection carried.
func (x *exchange) recordUnsent(err error) {
	up := x.proxy.log.Request(netlog.Request{
		Leg:    Upstream,
		Method: x.ask.Method,
		URL:    x.route.scheme + "://" + x.ask.Host + x.ask.URL.RequestURI(),
		Start:  x.asked,
	})
	x.pair(up)
	up.End(oneLine(err))
}
