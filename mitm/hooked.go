package mitm

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// hookRequest has the hook see the request, and reports whether the origin is to
// be asked.
func (x *exchange) hookRequest() bool {
	hook := x.proxy.hooks.Request
	if hook == nil {
		return true
	}
	r := x.forHook()
	shown := *r.URL
	resp, err := hook(r)
	switch {
	case err != nil:
		x.hookFailed(fmt.Errorf("request hook: %w", err))
		return false
	case resp != nil:
		x.hookAnswers(resp)
		return false
	}
	x.ask = r
	x.sameURL = *r.URL == shown
	if r.URL.Scheme != shown.Scheme || r.URL.Host != shown.Host {
		err = x.leadElsewhere(r.URL)
	}
	if err != nil {
		x.hookFailed(fmt.Errorf("request hook: URL: %w", err))
	}
	return err == nil
}

// forHook is the request with the URL that it is for, and with fields that may be
// changed.
func (x *exchange) forHook() *http.Request {
	r := x.in.WithContext(x.in.Context())
	u := *x.in.URL
	r.URL, r.Header = &u, endToEnd(x.in.Header)
	r.URL.Scheme, r.URL.Host = x.route.scheme, x.in.Host
	if r.URL.Host == "" {
		r.URL.Host = x.route.target.String()
	}
	r.RequestURI = ""
	return r
}

// leadElsewhere makes the request one for another origin.
func (x *exchange) leadElsewhere(u *url.URL) error {
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if port == "" {
		return fmt.Errorf("scheme %q: only http and https", u.Scheme)
	}
	t, err := withPort(u.Host, port)
	if err == nil {
		x.route = x.client.ruled(route{target: t, scheme: u.Scheme, serverName: t.host})
	}
	return err
}

// hookAnswers passes on what a hook has answered.
func (x *exchange) hookAnswers(resp *http.Response) {
	if resp.StatusCode == 0 {
		resp.StatusCode = http.StatusOK
	}
	if resp.Header == nil {
		resp.Header = make(http.Header)
	}
	switch {
	case resp.Body == nil:
		resp.Body, resp.ContentLength = http.NoBody, 0
	case resp.Body != http.NoBody && resp.ContentLength == 0:
		resp.ContentLength = -1
	}
	defer resp.Body.Close()
	stateLength(resp)
	x.hooked = true
	if err := x.answer(resp); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// hookResponse has the hook see an answer. The error is that it does not want it.
func (x *exchange) hookResponse(resp *http.Response) error {
	hook := x.proxy.hooks.Response
	if hook == nil {
		return nil
	}
	resp.Request = x.ask
	body, length := resp.Body, resp.ContentLength
	if err := hook(resp); err != nil {
		return fmt.Errorf("response hook: %w", err)
	}
	if resp.Body == nil {
		resp.Body, resp.ContentLength = http.NoBody, 0
	}
	if resp.Body != body || resp.ContentLength != length {
		x.hooked = true
		stateLength(resp)
	}
	return nil
}

// stateLength has the header say what ContentLength does.
func stateLength(resp *http.Response) {
	if resp.ContentLength < 0 {
		resp.Header.Del("Content-Length")
		return
	}
	resp.Header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
}

// hookTunnel is what becomes of the client's tunnel.
func (c *client) hookTunnel() (passes bool, err error) {
	passes = c.proxy.passes(c.route)
	hook := c.proxy.hooks.Tunnel
	if hook == nil {
		return passes, nil
	}
	t := &Tunnel{
		Host:        c.route.target.String(),
		From:        c.conn.RemoteAddr().String(),
		Rule:        c.route.rule.name,
		Passthrough: passes,
	}
	if err := hook(t); err != nil {
		return false, fmt.Errorf("tunnel hook: %s", strings.TrimSpace(err.Error()))
	}
	return t.Passthrough, nil
}
