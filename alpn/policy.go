// Package alpn says what one side of a TLS connection offers and accepts by
// ALPN (RFC 7301), reads what a ClientHello offers, and asserts on what was
// negotiated.
package alpn

import "crypto/tls"

// Names of protocols, as registered with IANA for ALPN.
const (
	H3     = "h3"
	H2     = "h2"
	HTTP11 = "http/1.1"
	HTTP10 = "http/1.0"
)

// Policy is what one side offers or accepts. The zero value leaves the choice
// to its owner.
type Policy struct {
	kind   kind
	protos []string
}

type kind int

// Prefer …
func Prefer(protos ...string) Policy { return Policy{1, protos} }

// Only …
func Only(protos ...string) Policy { return Policy{2, protos} }

// None …
func None() Policy { return Policy{3, nil} }

// IsZero reports whether the choice is left to the owner.
func (p Policy) IsZero() bool { return p.kind == 0 }

// Or is p, or other if p is zero.
func (p Policy) Or(other Policy) Policy { panic("to be written") }

// Protocols are the names in p, in its order of preference.
func (p Policy) Protocols() []string { panic("to be written") }

// String is the policy as it is written in Go, for messages.
func (p Policy) String() string { panic("to be written") }

// Validate says what is wrong with p as a policy over TLS on TCP: no name, an
// empty or too long one, one twice, h3.
func (p Policy) Validate() error { panic("to be written") }

// Server returns a copy of cfg that accepts connections by p.
func (p Policy) Server(cfg *tls.Config) *tls.Config { panic("to be written") }

// Client returns a copy of cfg that offers by p, and that refuses (Only) a
// server which chose something else.
func (p Policy) Client(cfg *tls.Config) *tls.Config { panic("to be written") }
