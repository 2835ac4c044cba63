package alpn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/wiretest/alpn/internal/probing"
)

// Names of protocols, as registered with IANA for ALPN.
const (
	H3     = "h3"
	H2     = "h2"
	HTTP11 = "http/1.1"
	HTTP10 = "http/1.0"
)

// Policy is what one side offers or accepts over TLS on TCP. The zero value
// leaves the choice to its owner. A Policy never changes and may be shared.
//
// As a server, with what the peer offers:
//
//	policy                   h2, http/1.1   http/1.1        no ALPN
//	Prefer("h2","http/1.1")  h2             http/1.1        no ALPN
//	Prefer("h2")             h2             no ALPN         no ALPN
//	Only("h2")               h2             alert 120       alert 120
//	Only("http/1.1")         http/1.1       http/1.1        no ALPN
//	None()                   no ALPN        no ALPN         no ALPN
type Policy struct {
	kind   kind
	protos []string // never written after construction
}

type kind int

const (
	unset kind = iota
	prefer
	only
	none
)

// Prefer is the first of protos that the peer has too. If there is none the
// connection goes on without ALPN: on purpose a departure from RFC 7301,
// section 3.2, which wants it refused, because that is how servers and
// middleboxes that fall back to HTTP/1.1 behave.
func Prefer(protos ...string) Policy { return Policy{prefer, slices.Clone(protos)} }

// Only is one of protos, the first that the peer has too; a peer that has none
// of them is refused. A peer that does not use ALPN speaks HTTP/1.1 by custom:
// it passes, without ALPN, where http/1.1 is listed, and is refused elsewhere.
func Only(protos ...string) Policy { return Policy{only, slices.Clone(protos)} }

// None takes no part in ALPN: it offers nothing, and answers an offer as
// something that never heard of ALPN does.
func None() Policy { return Policy{kind: none} }

// IsZero reports whether the choice is left to the owner.
func (p Policy) IsZero() bool { return p.kind == unset }

// Or is p, or other if p is zero.
func (p Policy) Or(other Policy) Policy {
	if p.IsZero() {
		return other
	}
	return p
}

// Protocols are the names in p, in its order of preference; nil where p is
// zero or None. The caller may change the slice.
func (p Policy) Protocols() []string { return slices.Clone(p.protos) }

// String is the policy as it is written in Go, for messages; the zero value
// has no constructor and is alpn.Policy{}.
func (p Policy) String() string {
	switch p.kind {
	case prefer:
		return "Prefer(" + quoted(p.protos) + ")"
	case only:
		return "Only(" + quoted(p.protos) + ")"
	case none:
		return "None()"
	}
	return "Policy{}"
}

// Validate says what is wrong with p as a policy over TLS on TCP: no name, an
// empty or too long one, one twice, h3. The zero value and None are valid.
func (p Policy) Validate() error {
	if p.IsZero() || p.kind == none {
		return nil
	}
	if len(p.protos) == 0 {
		return p.wrong("no protocol; None() is the policy without one")
	}
	for i, name := range p.protos {
		if why := wrongName(name); why != "" {
			return p.wrong(why)
		}
		if slices.Contains(p.protos[:i], name) {
			return p.wrong(strconv.Quote(name) + " twice")
		}
	}
	return p.wrongLength()
}

func (p Policy) wrong(why string) error { return fmt.Errorf("alpn: %v: %s", p, why) }

func wrongName(name string) string {
	switch {
	case name == "":
		return "empty protocol name"
	case len(name) > probing.MaxName:
		return fmt.Sprintf("protocol name of %d bytes; at most %d fit (RFC 7301, section 3.1)", len(name), probing.MaxName)
	case name == H3:
		return `"h3" runs over QUIC; a policy rules TLS over TCP only`
	}
	return ""
}

// wrongLength refuses a list whose two length bytes overflow on the wire.
func (p Policy) wrongLength() error {
	total := 0
	for _, name := range p.protos {
		total += 1 + len(name)
	}
	if total > 1<<16-3 { // the extension's length counts the list's own length too
		return p.wrong(fmt.Sprintf("%d bytes of protocol names do not fit one extension", total))
	}
	return nil
}

// Choose is what a server with policy p answers to an offer: a name of p, or
// "" for no ALPN. A nil offer is a peer that does not use ALPN. The error is a
// *MismatchError where p refuses. The zero value chooses nothing.
func (p Policy) Choose(offered []string) (string, error) {
	for _, name := range p.protos {
		if slices.Contains(offered, name) {
			return name, nil
		}
	}
	if p.kind != only || p.passesWithout(offered) {
		return "", nil
	}
	return "", &MismatchError{Wanted: p, Offered: slices.Clone(offered)}
}

func (p Policy) passesWithout(offered []string) bool {
	return len(offered) == 0 && slices.Contains(p.protos, HTTP11)
}

// quoted is names as Go writes the arguments of a call.
func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}
