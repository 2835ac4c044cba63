package mitm

import (
	"fmt"
	"strings"
)

// Mode is how clients reach the proxy. Modes joined by | share the listener: a
// connection belongs to SOCKS5 if its first byte is 5, to ExplicitTLS,
// Transparent or Reverse if it begins with a TLS handshake, and else to a mode
// that takes HTTP. Where several do, CONNECT and absolute URLs are for Explicit,
// and everything else for Transparent or Reverse.
//
// ExplicitTLS, Transparent and Reverse exclude each other, for nothing tells
// their TLS handshakes apart.
type Mode uint8

const (
	// Explicit is the HTTP proxy that clients are told of: CONNECT, or a request
	// with an absolute URL whose scheme is http. It is the mode of a zero Mode.
	Explicit Mode = 1 << iota

	// ExplicitTLS is Explicit within TLS to the proxy itself, which Config.Outer
	// is about. There HTTP/2 also has CONNECT (RFC 9113, section 8.5), of which
	// each stream is a tunnel, and requests whose :scheme is http or https.
	//
	// In the Log each tunnel is a connection of its own, whose Proxy is this one
	// and whose OpenReason names the connection, and the stream, that it is in.
	ExplicitTLS

	// SOCKS5 is RFC 1928: CONNECT to names, IPv4 and IPv6, without
	// authentication or, with Config.Auth, by RFC 1929. BIND and UDP ASSOCIATE
	// are refused with reply 7. As in Explicit, the client is told that it is
	// connected at once, unless the host is in Config.Passthrough; the address
	// in the reply always is 0.0.0.0:0.
	SOCKS5

	// Transparent takes connections that clients mean for the origin: one that
	// begins with TLS is for the name in its SNI at port 443, and a request
	// without TLS for what its Host says, at port 80 if that says none.
	// Config.Dial leads such names to where a test has put the origin.
	Transparent

	// Reverse takes connections for one origin, Config.Origin, with TLS and
	// without. Host stays what the client wrote.
	Reverse
)

var modeNames = []struct {
	mode         Mode
	name, scheme string // of the proxy's URL
}{
	{Explicit, "Explicit", "http"},
	{ExplicitTLS, "ExplicitTLS", "https"},
	{SOCKS5, "SOCKS5", "socks5"},
	{Transparent, "Transparent", "https"},
	{Reverse, "Reverse", ""}, // that of the origin
}

// String is the modes' names, joined by |.
func (m Mode) String() string {
	var names []string
	for _, one := range modeNames {
		if m.has(one.mode) {
			names = append(names, one.name)
			m &^= one.mode
		}
	}
	if m != 0 || len(names) == 0 {
		names = append(names, fmt.Sprintf("Mode(%d)", uint8(m)))
	}
	return strings.Join(names, "|")
}

// has reports whether m has one of these.
func (m Mode) has(one Mode) bool { return m&one != 0 }

// first is the mode that Proxy's URL and its transports are for.
func (m Mode) first() Mode { return m & -m }

func (m Mode) validate() error {
	if m >= Reverse<<1 {
		return fmt.Errorf("Config.Mode: %v: there is no such mode", m)
	}
	tls := m & (ExplicitTLS | Transparent | Reverse)
	if tls != tls.first() {
		return fmt.Errorf("Config.Mode: %v: nothing tells TLS handshakes of %v and %v apart", m, tls.first(), tls&^tls.first())
	}
	return nil
}
