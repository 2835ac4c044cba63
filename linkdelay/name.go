package linkdelay

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// canonical is a name as the Network keeps it: case and a final dot do not
// matter in names of hosts (RFC 4343; RFC 1034, section 3.1).
func canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// checkName refuses what cannot be the name of a host in a URL.
func checkName(name string) error {
	if isSelf(name) {
		return errors.New("means the host itself, on every host")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return errors.New("is an IP address; hosts of a Network have names only")
	}
	if len(name) > 253 {
		return fmt.Errorf("has %d bytes; a name has at most 253", len(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(label string) error {
	if label == "" {
		return errors.New("has an empty label")
	}
	if len(label) > 63 {
		return fmt.Errorf("has a label of %d bytes; a label has at most 63", len(label))
	}
	for i := range len(label) {
		if !isNameByte(label[i]) {
			return fmt.Errorf("has byte %q; letters, digits, '-' and '_' only (an international name is written as xn--…)", label[i])
		}
	}
	return nil
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_'
}

// isSelf reports whether a host means itself by name: loopback addresses, the
// unspecified ones and no name at all.
func isSelf(name string) bool {
	if name == "" || name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// splitAddress takes "host:port" apart. The port is a number, none
// (for 0), or "http" or "https".
func splitAddress(address string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = parsePort(service)
	if err != nil {
		return "", 0, err
	}
	return canonical(host), port, nil
}

// parsePort does not ask the system about services: its resolver keeps channels
// of the whole process, which belong to the bubble that first used them.
func parsePort(service string) (int, error) {
	switch service {
	case "":
		return 0, nil
	case "http":
		return 80, nil
	case "https":
		return 443, nil
	}
	port, err := strconv.Atoi(service)
	if err != nil || port < 0 || port > 65535 {
		return 0, &net.AddrError{Err: "invalid port", Addr: service}
	}
	return port, nil
}
