package origin

import (
	"fmt"
	"net"
	"net/http"

	"example.com/wiretest/netlog/wire"
)

// Key says whose requests a Limit counts together: those with equal keys.
type Key func(*http.Request) string

// ByConnection is a Key: the connection that carries the request. Behind a server that
// is no fixture of this module, which tells less, it is the pair of addresses.
func ByConnection(r *http.Request) string {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if rec := wire.ConnectionOf(r); rec != nil {
		c := rec.Connection()
		return fmt.Sprintf("connection %d from %s to %s", c.ID, c.Remote, c.Local)
	}
	return fmt.Sprintf("connection from %s to %v", r.RemoteAddr, local)
}

// ByAddress is a Key: the client's address, without its port.
func ByAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// ByPath is a Key: the path of the URL.
func ByPath(r *http.Request) string { return r.URL.Path }

// ByHeader is a Key: the first value of a header field, such as an API key; "" is one
// client too.
func ByHeader(name string) Key {
	return func(r *http.Request) string { return r.Header.Get(name) }
}
