package netlog

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

// NewTransport returns a RoundTripper that sends requests as base does and
// records them, their connections and their stalls in log, as the pool of
// net/http sees them.
//
// If base is an *http.Transport, or nil for http.DefaultTransport, a clone of it
// does the work, with its own pool: base stays usable, and what is changed on
// base afterwards has no effect. As with http.Transport.Clone, protocols
// registered by RegisterProtocol are not taken along. The connections that the
// clone dials are recorded from the dial to their end; a dial that fails makes
// no connection, only a failed request. What a DialTLSContext of base returns is
// recorded too, except for its offered protocols and its end, which nobody else
// can see. Any other base is observed through net/http/httptrace, as far as it
// serves that: its connections are known from their first request on.
//
// A request's Sent is when its head was written, FirstByte when the head of the
// final answer, not an informational one, began to arrive, and End when its body
// was read to the end or closed, or when it failed. A Stall is a request that
// net/http queued because of MaxConnsPerHost, recorded when it goes on. What
// cannot be seen from here is unknown: header bytes, HTTP/2 stream ids and limits
// (and so waits for a stream), and bytes inside of TLS.
//
// The RoundTripper starts no goroutine. Its CloseIdleConnections is what
// http.Client.CloseIdleConnections calls. A response's body also has
// OfferedALPN() []string, which alpn.RequireProtocol uses. NewTransport panics
// if log is nil.
func NewTransport(base http.RoundTripper, log *Log) http.RoundTripper {
	if log == nil {
		panic("netlog: NewTransport: log is nil; want a Log to record in, such as netlog.New(t)")
	}
	t := &transport{log: log, slots: slots{groups: make(map[group]*usage)}, seen: make(map[net.Conn]*ConnectionRecord)}
	if base == nil || base == http.RoundTripper((*http.Transport)(nil)) {
		base = http.DefaultTransport
	}
	if own, ok := base.(*http.Transport); ok {
		base = t.over(own)
	}
	t.base = base
	return t
}

type transport struct {
	log   *Log
	base  http.RoundTripper
	slots slots
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)

	noReuse   bool  // of the base: DisableKeepAlives
	plainH2   bool  // of the base: unencrypted connections speak HTTP/2
	maxHeader int64 // of the base: MaxResponseHeaderBytes, or its default

	moves atomic.Int64 // of bytes under TLS, on all connections

	mu   sync.Mutex
	seen map[net.Conn]*ConnectionRecord // connections that others dialled; guarded by mu
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x := t.begin(req)
	resp, err := t.base.RoundTrip(req.WithContext(x.context(req.Context())))
	if err != nil {
		x.fail(err)
		return resp, err
	}
	x.answered(resp)
	resp.Request = req
	return resp, nil
}

// CloseIdleConnections closes the base's connections that carry no request.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// over is a clone of base that dials, and asks for its proxy, through t.
func (t *transport) over(base *http.Transport) *http.Transport {
	clone := base.Clone()
	clone.ForceAttemptHTTP2 = clone.ForceAttemptHTTP2 || automaticHTTP2(base, clone)
	t.slots.max = clone.MaxConnsPerHost
	t.noReuse = clone.DisableKeepAlives
	t.plainH2 = clone.Protocols != nil && clone.Protocols.UnencryptedHTTP2() && !clone.Protocols.HTTP1()
	t.maxHeader = clone.MaxResponseHeaderBytes
	t.dial = dialerOf(clone)
	clone.DialContext, clone.Dial = t.dialContext, nil
	if clone.DialTLSContext != nil || clone.DialTLS != nil {
		clone.DialTLSContext, clone.DialTLS = t.watchTLS(tlsDialerOf(clone)), nil
	}
	if clone.Proxy != nil {
		clone.Proxy = watchProxy(clone.Proxy)
	}
	return clone
}

// automaticHTTP2 reports whether base, cloned a moment ago, speaks HTTP/2
// without having been told to. The clone has a DialContext, for which net/http
// would take that back. Clone has made base decide, so that its TLSNextProto
// tells; the clone's is nil unless base's was the user's own.
func automaticHTTP2(base, clone *http.Transport) bool {
	return base.Protocols == nil && clone.TLSNextProto == nil && base.TLSNextProto["h2"] != nil
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func dialerOf(t *http.Transport) dialFunc {
	if t.DialContext != nil {
		return t.DialContext
	}
	if dial := t.Dial; dial != nil {
		return func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
	}
	return new(net.Dialer).DialContext
}

func tlsDialerOf(t *http.Transport) dialFunc {
	if t.DialTLSContext != nil {
		return t.DialTLSContext
	}
	dial := t.DialTLS
	return func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
}

// watchProxy tells the exchange which proxy was chosen. Asking a second time
// might get another answer.
func watchProxy(choose func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		proxy, err := choose(req)
		if x := exchangeOf(req.Context()); x != nil && err == nil {
			x.through(proxy)
		}
		return proxy, err
	}
}

// dialContext dials and records the connection.
func (t *transport) dialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	x := exchangeOf(ctx)
	place := x.dials()
	t.slots.take(place)
	conn, err := t.dial(ctx, network, addr)
	if err != nil || conn == nil {
		t.slots.free(place)
		return conn, err
	}
	return t.record(conn, x, network, addr, place), nil
}

// watchTLS records what dial returns without wrapping it: net/http looks for
// methods of its connections.
func (t *transport) watchTLS(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		x := exchangeOf(ctx)
		place := x.dials()
		t.slots.take(place)
		conn, err := dial(ctx, network, addr)
		if err != nil || conn == nil {
			t.slots.free(place)
			return conn, err
		}
		t.observe(conn, x.opening(conn, network, addr))
		return conn, nil
	}
}
