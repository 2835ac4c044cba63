package alpn

import (
	"fmt"
	"strings"
)

// MismatchError is why a handshake ended where Only found none of its
// protocols. tls.Conn.Handshake returns it on the side that refused, for
// errors.As; the other side of a refusing server gets alert 120
// (no_application_protocol; RFC 7301, section 3.2).
type MismatchError struct {
	Wanted  Policy   // what refused
	Offered []string // what the client offered; nil if it does not use ALPN
	Chosen  string   // what the server chose, where the client refused; "" is no ALPN

	byClient bool
	alert    error // why alert 120 could not be sent
}

func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alpn: %v: refused: ", e.Wanted)
	if e.byClient {
		fmt.Fprintf(&b, "server chose %s", orNoALPN(nonEmpty(e.Chosen)))
		fmt.Fprintf(&b, " of the offered %s", orNoALPN(e.Offered))
	} else {
		fmt.Fprintf(&b, "client offered %s", orNoALPN(e.Offered))
	}
	fmt.Fprintf(&b, ", wanted %s", quoted(e.Wanted.protos))
	if e.alert != nil {
		fmt.Fprintf(&b, " (alert 120 not sent: %v)", e.alert)
	}
	return b.String()
}

// Unwrap is why the alert could not be sent, if it could not.
func (e *MismatchError) Unwrap() error { return e.alert }

func orNoALPN(names []string) string {
	if len(names) == 0 {
		return "no ALPN"
	}
	return quoted(names)
}

func nonEmpty(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}
