package mitm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// exchange is one request on both legs.
type exchange struct {
	proxy   *Proxy
	route   route
	w       http.ResponseWriter
	rc      *http.ResponseController
	in      *http.Request         // from the client
	down    *netlog.RequestRecord // of in
	up      *netlog.RequestRecord // what was sent to the origin; nil before
	upload  *upload               // nil is no body
	interim *interim
	lease   *wire.Lease
	asked   time.Time
}

// forward is the handler of all clients' connections.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	c := p.clientOf(wire.ConnectionOf(r))
	if c == nil {
		panic(http.ErrAbortHandler) // the connection has just ended
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
		route:   route,
		w:       w,
		rc:      http.NewResponseController(w),
		in:      r,
		down:    wire.RequestOf(r),
		asked:   time.Now(),
		interim: newInterim(w),
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
		return route{}, http.StatusNotImplemented, errors.New("CONNECT must be the first request on its connection")
	}
	if c.route.scheme != "" {
		return c.route, 0, nil
	}
	t, err := targetOf(r.URL)
	if err != nil {
		return route{}, http.StatusBadRequest, err
	}
	c.rec.Update(func(rec *netlog.Connection) {
		if rec.Host == "" {
			rec.Host = t.String()
		}
	})
	return route{target: t, scheme: "http"}, 0, nil
}

func (x *exchange) run() {
	x.rc.EnableFullDuplex() // HTTP/1.1 would else read all of the request before it answers; HTTP/2 is full duplex, and says that it knows no such thing
	ctx, cancel := context.WithCancel(x.in.Context())
	defer cancel()
	lease, err := x.proxy.get(ctx, x.route)
	if err != nil {
		x.fail(err)
		return
	}
	x.lease = lease
	whole := false
	defer func() { lease.Release(whole || lease.Conn.Protocol() == alpn.H2) }() // there a broken exchange ends its stream alone
	resp, err := lease.Conn.RoundTrip(x.request(ctx), x.started)
	x.interim.end()
	if err != nil {
		x.stopUpload()
		x.fail(fmt.Errorf("%v: %w", x.route.target, unanswered(err)))
		return
	}
	defer resp.Body.Close()
	defer x.stopUpload() // before Close, which on h2 waits for it
	if resp.StatusCode == http.StatusSwitchingProtocols {
		x.fail(fmt.Errorf("%v: 101 Switching Protocols, which nobody asked for", x.route.target))
		return
	}
	if whole = x.answer(resp); !whole {
		panic(http.ErrAbortHandler) // so that the client sees a broken answer, not a short one
	}
}

// request is what is sent to the origin.
func (x *exchange) request(ctx context.Context) *http.Request {
	out := &http.Request{
		Method:        x.in.Method,
		URL:           x.url(),
		Host:          x.in.Host,
		Proto:         "HTTP/1.1", // else net/http sends the body without waiting for 100
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        requestHeader(x.in),
		ContentLength: x.in.ContentLength,
		Body:          http.NoBody,
		Trailer:       x.in.Trailer,
	}
	if x.in.ContentLength != 0 || len(x.in.Trailer) > 0 {
		x.upload = newUpload(x.in.Body)
		out.Body = x.upload
	}
	if len(out.Trailer) > 0 {
		out.ContentLength = -1 // HTTP/1.1 has room for trailers in a chunked body only
	}
	return out.WithContext(x.interim.trace(ctx))
}

// url has the request target as the client wrote it, also where net/url would
// write it differently. (A path that begins with two slashes and has such
// characters is beyond it.)
func (x *exchange) url() *url.URL {
	u := *x.in.URL
	u.Scheme, u.Host, u.User = x.route.scheme, x.in.Host, nil
	if u.Host == "" { // HTTP/1.0 needs none
		u.Host = x.route.target.String()
	}
	path, _, _ := strings.Cut(x.in.RequestURI, "?")
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && path != u.EscapedPath() {
		u.Opaque = path
	}
	return &u
}

// started is called when the head was sent.
func (x *exchange) started(up *netlog.RequestRecord) {
	x.up = up
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

// fail answers for an origin that did not. A client that has gone gets none.
func (x *exchange) fail(err error) {
	err = fmt.Errorf("upstream leg: %w", err)
	if x.up == nil {
		x.recordUnsent(err)
	}
	if x.in.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	clear(x.w.Header())
	refuse(x.w, http.StatusBadGateway, err)
}

// recordUnsent makes the record of a request that no connection carried.
func (x *exchange) recordUnsent(err error) {
	up := x.proxy.log.Request(netlog.Request{
		Leg:    Upstream,
		Method: x.in.Method,
		URL:    x.route.scheme + "://" + x.in.Host + x.in.URL.RequestURI(),
		Start:  x.asked,
	})
	x.pair(up)
	up.End(oneLine(err))
}

func (x *exchange) stopUpload() {
	if x.upload != nil {
		x.upload.stop(x.rc)
	}
}
