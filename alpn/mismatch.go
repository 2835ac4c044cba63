package alpn

import (
	"fmt"
	"strconv"
	"strings"
)

// MismatchError is why a handshake ended where Only found none of its
// protocols. tls.Conn.Handshake returns it on the side that refused, for
// errors.As. The client of a server that refuses gets alert 120
// (no_application_protocol; RFC 7301, section 3.2) instead.
type MismatchError struct {
	Wanted  Policy   // what refused
	Offered []string // what the client offered; nil if it does not use ALPN
	Chosen  string   // what the server chose, where the client refused; "" is no ALPN

	byClient bool
	alert    error // why alert 120 could not be sent
}

// Error says which policy refused, and what the other side had for it.
func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alpn: %v: refused: ", e.Wanted)
	if e.byClient {
		fmt.Fprintf(&b, "server chose %s, wanted %s", orNoALPN(nonEmpty(e.Chosen)), quoted(e.Wanted.protos))
	} else {
		fmt.Fprintf(&b, "client offered %s, wanted %s", orNoALPN(e.Offered), quoted(e.Wanted.protos))
	}
	if e.byClient && e.Chosen != "" { // crypto/tls lets a server choose only what was offered
		fmt.Fprintf(&b, "; %s was added to the NextProtos that Client returned, as http.Transport's ForceAttemptHTTP2 does", strconv.Quote(e.Chosen))
	}
	if e.alert != nil {
		fmt.Fprintf(&b, "; alert 120 not sent: %v", e.alert)
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
