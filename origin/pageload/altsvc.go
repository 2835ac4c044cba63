package pageload

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// offer is one alternative of an Alt-Svc field.
type offer struct {
	protocol  string
	authority string // host:port; the host is the origin's where the field leaves it out
	maxAge    time.Duration
}

// defaultMaxAge is that of an alternative without ma (RFC 7838, section 3.1).
const defaultMaxAge = 24 * time.Hour

// parseAltSvc reads the values of an Alt-Svc field (RFC 7838, section 3). clear
// is told where it is all that is said. What cannot be read is left out, as
// clients do.
func parseAltSvc(values []string, origin string) (offers []offer, clear bool) {
	for _, member := range split(strings.Join(values, ","), ',') {
		if member == "clear" {
			return nil, true // a field with clear has no other member, and if it has they are ignored (section 3)
		}
		if one, ok := parseOffer(member, origin); ok {
			offers = append(offers, one)
		}
	}
	return offers, false
}

// parseOffer reads h3=":443"; ma=2592000; persist=1.
func parseOffer(member, origin string) (offer, bool) {
	parts := split(member, ';')
	protocol, quoted, ok := strings.Cut(parts[0], "=")
	authority, isQuoted := unquote(quoted)
	protocol, err := url.PathUnescape(protocol)
	if !ok || !isQuoted || protocol == "" || err != nil {
		return offer{}, false
	}
	host, port, err := net.SplitHostPort(authority)
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || number == 0 {
		return offer{}, false
	}
	if host == "" {
		host, _, _ = net.SplitHostPort(origin)
	}
	one := offer{protocol: protocol, authority: net.JoinHostPort(host, port), maxAge: defaultMaxAge}
	for _, parameter := range parts[1:] {
		name, value, _ := strings.Cut(parameter, "=")
		if text, ok := unquote(value); ok {
			value = text
		}
		if seconds, err := strconv.ParseUint(value, 10, 31); strings.EqualFold(name, "ma") && err == nil {
			one.maxAge = time.Duration(seconds) * time.Second
		}
	}
	return one, true
}

// split splits at separators outside of quotes, and trims.
func split(s string, separator byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == separator && !quoted:
			parts = append(parts, strings.TrimSpace(s[from:i]))
			from = i + 1
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted && i+1 < len(s):
			i++
		}
	}
	return parts
}

// unquote reads a quoted-string (RFC 9110, section 5.6.4).
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s, false
	}
	var b strings.Builder
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' && i < len(s)-2 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), true
}
