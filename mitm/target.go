package mitm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// target is where a client wants to go.
type target struct{ host, port string }

func (t target) String() string { return net.JoinHostPort(t.host, t.port) }

// parseTarget reads the authority-form of CONNECT (RFC 9112, section 3.2.3).
func parseTarget(authority string) (target, error) {
	host, port, err := net.SplitHostPort(authority)
	if err != nil {
		return target{}, fmt.Errorf("%q: want host:port", authority)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return target{}, fmt.Errorf("%q: port must be from 1 to 65535", authority)
	}
	if why := wrongHost(host); why != "" {
		return target{}, fmt.Errorf("%q: %s", authority, why)
	}
	return target{host, port}, nil
}

// targetOf reads the absolute-form (RFC 9112, section 3.2.2).
func targetOf(u *url.URL) (target, error) {
	switch {
	case u.Host == "":
		return target{}, errors.New("not a request to a proxy: want an absolute URL or CONNECT (RFC 9112, section 3.2)")
	case u.Scheme != "http":
		return target{}, fmt.Errorf("scheme %q in a request line: only http; TLS comes by CONNECT", u.Scheme)
	}
	return withPort(u.Host, "80")
}

// withPort reads an authority in which the port may be missing.
func withPort(authority, port string) (target, error) {
	u := url.URL{Host: authority}
	if u.Port() == "" {
		authority = net.JoinHostPort(u.Hostname(), port)
	}
	return parseTarget(authority)
}

// route is a way to an origin. Requests with equal routes share connections.
type route struct {
	target     target
	scheme     string   // "https" or "http"
	serverName string   // what the client asked for by SNI
	mirrored   bool     // offered says what the origin is offered
	offered    []string // by the client; nil is no ALPN
	rule       *policy  // that decides
	owner      *client  // alone uses the connections; nil is all do
}

// key tells routes apart. A pool is indexed by it, and messages show it.
func (r route) key() string {
	key := r.target.String()
	if r.serverName != "" && r.serverName != r.target.host {
		key += " as " + r.serverName
	}
	if r.mirrored {
		key += " offering " + orNone(r.offered)
	}
	if r.owner != nil {
		key += fmt.Sprintf(" for connection %d", r.owner.id)
	}
	return key
}

func orNone(protos []string) string {
	if len(protos) == 0 {
		return "no ALPN"
	}
	return strings.Join(protos, ", ")
}

// routeKey is under what the context of a pool's Dial has its route.
type routeKey struct{}

func routeOf(ctx context.Context) route { return ctx.Value(routeKey{}).(route) }
