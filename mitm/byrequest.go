package mitm

import (
	"fmt"
	"net/http"

	"example.com/wiretest/netlog/wire"
)

// admit asks for credentials where a request is one to the proxy, and takes
// from it what is meant for the proxy alone.
func (c *client) admit(r *http.Request) error {
	if c.route.scheme != "" || !c.asksProxy(r) {
		return nil
	}
	err := c.proxy.unauthorized(r.Header)
	r.Header.Del("Proxy-Authorization")
	return err
}

// asksProxy reports whether the request is one for a proxy to forward, by a
// client that knows of it.
func (c *client) asksProxy(r *http.Request) bool {
	switch {
	case c.mode == ExplicitTLS:
		return true
	case !c.mode.has(Explicit):
		return false
	}
	return r.URL.Host != "" || !c.mode.has(Transparent|Reverse)
}

// routeByRequest is where a request without CONNECT is for.
func (c *client) routeByRequest(r *http.Request) (route, error) {
	switch {
	case !c.asksProxy(r):
		return c.routeByHost(r)
	case r.ProtoMajor == 2:
		return routeByFields(r)
	}
	t, err := targetOf(r.URL)
	return route{target: t, scheme: "http"}, err
}

// routeByFields is for a proxy's HTTP/2, where :scheme and :authority are what
// the absolute URL is elsewhere (RFC 9113, section 8.3.1).
func routeByFields(r *http.Request) (route, error) {
	scheme := schemeOf(wire.StreamOf(r))
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	if port == "" {
		return route{}, fmt.Errorf(":scheme %q: only http and https", scheme)
	}
	t, err := withPort(r.Host, port)
	return route{target: t, scheme: scheme, serverName: t.host}, err
}

func schemeOf(s *wire.Stream) string {
	if s == nil {
		return ""
	}
	_, fields := s.RequestHead()
	for _, f := range fields {
		if f.Name == ":scheme" {
			return f.Value
		}
	}
	return ""
}
