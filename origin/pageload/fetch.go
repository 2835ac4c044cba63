package pageload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// maxRedirects is what Chrome and the Fetch standard follow.
const maxRedirects = 20

// fetch is one resource of the page.
type fetch struct {
	plan  *plan
	pools *pools
	url   *url.URL
	asked time.Time // when the page asked for it
	keep  bool      // keep the body of the answer
	sent  bool      // what it asks for now was sent, so that a connection has its record
}

// document is an answer in full.
type document struct {
	base *url.URL // where it came from, after redirects
	body []byte   // if it was to be kept
}

func (f *fetch) run(ctx context.Context) (*document, error) {
	at, asked := f.url, f.asked
	for range maxRedirects + 1 {
		doc, next, err := f.once(ctx, at, asked)
		if err != nil {
			return nil, fmt.Errorf("pageload: GET %s: %w", at, err)
		}
		if next == nil {
			return doc, nil
		}
		at, asked = next, time.Now()
	}
	return nil, fmt.Errorf("pageload: GET %s: more than %d redirects", f.url, maxRedirects)
}

// maxTries bounds how often one request is sent, as in Chrome: a server that drops
// every connection after its first answer must not keep a load going for ever.
const maxTries = 3

// once sends one request. One that is lost is sent again, as browsers do.
func (f *fetch) once(ctx context.Context, at *url.URL, asked time.Time) (doc *document, next *url.URL, err error) {
	f.sent = false
	for range maxTries {
		doc, next, err = f.try(ctx, at, asked)
		var lost *lostError
		if !errors.As(err, &lost) || ctx.Err() != nil {
			break
		}
	}
	if err != nil && !f.sent {
		f.recordUnsent(at, asked, err)
	}
	return doc, next, err
}

// lostError is a request that the server has not processed, for all that it says:
// it refused it, or the connection, which had worked before, was gone.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

func (f *fetch) try(ctx context.Context, at *url.URL, asked time.Time) (*document, *url.URL, error) {
	session, err := f.pools.sessions.get(ctx, at, f.proxied(ctx, at))
	if err != nil {
		return nil, nil, err
	}
	if session == nil {
		return f.overTCP(ctx, at, asked)
	}
	doc, next, err := f.overHTTP3(ctx, session, at, asked)
	var lost *lostError
	switch {
	case err == nil:
		return doc, next, nil
	case errors.As(err, &lost):
		return nil, nil, err
	case f.pools.sessions.failedEarly(session, err):
		return f.overTCP(ctx, at, asked)
	}
	f.pools.sessions.note(session.host, session.where, "not retried", fmt.Sprintf("GET %s failed after the handshake: %v", at, err))
	return nil, nil, err
}

// proxied tells whether requests for the URL go through a proxy. Where that
// cannot be known it is left to the dialler to say so.
func (f *fetch) proxied(ctx context.Context, at *url.URL) bool {
	proxy, err := (&dialer{plan: f.plan, scheme: at.Scheme}).proxyFor(ctx, hostPort(at))
	return proxy != nil || err != nil
}

func (f *fetch) overTCP(ctx context.Context, at *url.URL, asked time.Time) (*document, *url.URL, error) {
	lease, err := f.pools.byScheme[at.Scheme].Get(ctx, hostPort(at))
	if err != nil {
		return nil, nil, err
	}
	whole := false
	defer func() { lease.Release(f.reuses(lease.Conn, whole)) }()

	carrier := lease.Conn.Record().Connection()
	worked := carrier.Used()
	var sent *netlog.RequestRecord
	resp, err := lease.Conn.RoundTrip(f.request(ctx, at, lease), func(q *netlog.RequestRecord) {
		sent, f.sent = q, true
		q.Update(func(q *netlog.Request) { q.Start, q.Wait = asked, time.Since(asked) })
		f.recordStall(at, lease, q.Request().ID)
	})
	if err != nil && (worked && gone(lease.Conn) || wire.IsRefused(err) || leftOut(lease.Conn, sent)) {
		return nil, nil, &lostError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	f.learn(at, resp)
	doc, err := f.read(at, resp)
	whole = err == nil
	return doc, redirect(at, resp), err
}

// reuses reports whether conn is for further requests. On HTTP/2 an exchange that
// was not whole has ended its stream alone.
func (f *fetch) reuses(conn *wire.ClientConn, whole bool) bool {
	return (whole || conn.Protocol() == alpn.H2) && !f.plan.transport.DisableKeepAlives
}

// leftOut reports whether the server has gone without looking at what was sent as q,
// nil if nothing was. Where it says that something was wrong a browser does not ask
// again, nor does net/http of what was first on a connection.
func leftOut(conn *wire.ClientConn, q *netlog.RequestRecord) bool {
	if q == nil {
		return conn.Record().Connection().GoAway != ""
	}
	_, gracefully := wire.IsLeftOut(q)
	return gracefully
}

// gone reports whether conn takes no more requests: the failure of one on it
// is then the connection's, not a reset of that one stream.
func gone(conn *wire.ClientConn) bool {
	select {
	case <-conn.Done():
		return true
	default:
		return false
	}
}

func (f *fetch) request(ctx context.Context, at *url.URL, lease *wire.Lease) *http.Request {
	req := f.bare(ctx, at)
	if at.Scheme == "http" && lease.Conn.Record().Connection().Proxy != "" {
		// To a proxy the request line has the absolute form (RFC 9112,
		// section 3.2.2), which net/http writes from an opaque URL.
		req.URL.Opaque = "//" + at.Host + cmp.Or(at.EscapedPath(), "/")
	}
	return req
}

// bare is the request as it is without a proxy.
func (f *fetch) bare(ctx context.Context, at *url.URL) *http.Request {
	target := *at
	target.Fragment = ""
	return (&http.Request{
		Method: http.MethodGet,
		URL:    &target,
		Host:   at.Host,
		Header: f.plan.header.Clone(),
	}).WithContext(ctx)
}

func (f *fetch) read(at *url.URL, resp *http.Response) (*document, error) {
	defer resp.Body.Close()
	doc := &document{base: at}
	if !f.keep {
		_, err := io.Copy(io.Discard, resp.Body)
		return doc, err
	}
	body, err := io.ReadAll(resp.Body)
	doc.body = body
	return doc, err
}

// redirect is where resp sends the client; nil if nowhere.
func redirect(at *url.URL, resp *http.Response) *url.URL {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	next, err := at.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" || next.Scheme != "http" && next.Scheme != "https" {
		return nil
	}
	return next
}

// recordUnsent makes a record of a request that no connection carried.
func (f *fetch) recordUnsent(at *url.URL, asked time.Time, err error) {
	f.plan.log.Request(netlog.Request{Method: http.MethodGet, URL: at.String(), Start: asked}).End(err.Error())
}

func (f *fetch) recordStall(at *url.URL, lease *wire.Lease, id int64) {
	if lease.Stalled == "" {
		return
	}
	f.plan.log.Stall(netlog.Stall{
		Kind:     lease.Stalled,
		Host:     hostPort(at),
		URL:      at.String(),
		Request:  id,
		Start:    lease.StallAt,
		Duration: time.Since(lease.StallAt),
	})
}

// hostPort is u's host in small letters with its port, the scheme's where it names
// none.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
