package ca

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// anyUsage leaves it to the identities: a client has an e-mail address, a
// server has not.
const anyUsage = x509.ExtKeyUsageAny

// subject is what a leaf is for.
type subject struct {
	usage  x509.ExtKeyUsage
	names  []string // all of them as they are signed, each once, in the order given
	dns    []string
	ips    []net.IP
	emails []string
}

// String is all names, for messages.
func (s *subject) String() string { return strings.Join(s.names, ", ") }

// key tells subjects apart; no name has a space in it.
func (s *subject) key() string {
	role := "server "
	if s.usage == x509.ExtKeyUsageClientAuth {
		role = "client "
	}
	return role + strings.Join(s.names, " ")
}

func loopback() []string { return []string{"localhost", "127.0.0.1", "::1"} }

func parseSubject(usage x509.ExtKeyUsage, identities []string) (subject, error) {
	if len(identities) == 0 {
		identities = loopback()
	}
	var s subject
	for _, identity := range identities {
		if err := s.add(identity); err != nil {
			return subject{}, fmt.Errorf("identity %q: %w", identity, err)
		}
	}
	s.usage = usage
	if usage == anyUsage {
		s.usage = x509.ExtKeyUsageServerAuth
		if len(s.emails) == len(s.names) {
			s.usage = x509.ExtKeyUsageClientAuth
		}
	}
	return s, nil
}

func (s *subject) add(identity string) error {
	if addr, err := netip.ParseAddr(identity); err == nil {
		return s.addIP(addr)
	}
	if strings.Contains(identity, "@") {
		email, err := parseEmail(identity)
		if err == nil && s.isNew(email) {
			s.emails = append(s.emails, email)
		}
		return err
	}
	host, err := parsePattern(identity)
	if err == nil && s.isNew(host) {
		s.dns = append(s.dns, host)
	}
	return err
}

func (s *subject) addIP(addr netip.Addr) error {
	if addr.Zone() != "" {
		return errors.New("a zone is this machine's own affair (RFC 4007, section 11.2); leave it out")
	}
	addr = addr.Unmap()
	if s.isNew(addr.String()) {
		s.ips = append(s.ips, addr.AsSlice())
	}
	return nil
}

// isNew notes name and reports whether it was not there before.
func (s *subject) isNew(name string) bool {
	if slices.Contains(s.names, name) {
		return false
	}
	s.names = append(s.names, name)
	return true
}

// parsePattern reads a host name whose first label may be a wildcard (RFC
// 9525, section 6.3).
func parsePattern(s string) (string, error) {
	rest, wild := strings.CutPrefix(s, "*.")
	host, err := parseHost(rest)
	if err != nil {
		return "", err
	}
	if wild {
		host = "*." + host
	}
	if len(host) > 253 {
		return "", fmt.Errorf("has %d bytes; a host name has at most 253", len(host))
	}
	return host, nil
}

func parseHost(s string) (string, error) {
	if why := notAHost(s); why != "" {
		return "", errors.New(why)
	}
	host, err := toASCII(s)
	if err != nil {
		return "", err
	}
	host = strings.TrimSuffix(host, ".")
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return "", err
		}
	}
	// Clients take such a name for an IPv4 address and never look for it.
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return "", errors.New("ends in a number as an IPv4 address does, and is none")
	}
	return host, nil
}

// notAHost recognizes what people give instead of a host name.
func notAHost(s string) string {
	switch {
	case s == "" || s == ".":
		return "is empty"
	case strings.Contains(s, "://"):
		return "is a URL; give its host alone"
	case strings.HasPrefix(s, "["):
		return "has brackets; give the IPv6 address alone"
	case strings.Contains(s, "*"):
		return "a wildcard is the whole first label of several, and stands nowhere else"
	}
	if _, _, err := net.SplitHostPort(s); err == nil {
		return "has a port; give the host alone"
	}
	return ""
}

// toASCII lowers s and converts its internationalized labels (RFC 5890,
// section 2.3.2.1) as browsers do, without their ban on underscores: those
// occur in host names inside companies.
func toASCII(s string) (string, error) {
	if isASCII(s) {
		return strings.ToLower(s), nil
	}
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))
	return profile.ToASCII(s)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// checkLabel is RFC 1123, section 2.1, and the underscore.
func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("has an empty label")
	case len(label) > 63:
		return fmt.Errorf("label %q has %d bytes; at most 63 are allowed", label, len(label))
	case label[0] == '-' || label[len(label)-1] == '-':
		return fmt.Errorf("label %q begins or ends with a hyphen", label)
	}
	for _, r := range label {
		if !isLetterOrDigit(r) && r != '-' && r != '_' {
			return fmt.Errorf("%q cannot be in a host name", r)
		}
	}
	return nil
}

// parseEmail reads an address whose local part is a dot-atom (RFC 5322,
// section 3.2.3): all that a test needs, and all in ASCII.
func parseEmail(s string) (string, error) {
	at := strings.LastIndex(s, "@")
	local, domain := s[:at], s[at+1:]
	if len(local) > 64 {
		return "", fmt.Errorf("has %d bytes before the @; at most 64 are allowed", len(local))
	}
	for _, atom := range strings.Split(local, ".") {
		if atom == "" {
			return "", errors.New("has an empty part before the @")
		}
		for _, r := range atom {
			if !isLetterOrDigit(r) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r) {
				return "", fmt.Errorf("%q cannot be before the @ of an e-mail address", r)
			}
		}
	}
	host, err := parseHost(domain)
	if err != nil {
		return "", fmt.Errorf("after the @: %w", err)
	}
	return local + "@" + host, nil
}

func isLetterOrDigit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
