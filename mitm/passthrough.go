package mitm

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// pattern is an entry of Config.Passthrough.
type pattern struct {
	name  string // in the one spelling that compares
	below bool   // stands for the names below name
	port  string // "" is any
}

func parsePattern(entry string) (pattern, error) {
	host, port, err := splitPattern(entry)
	if err != nil {
		return pattern{}, err
	}
	rest, below := strings.CutPrefix(host, "*.")
	if why := wrongHost(rest); why != "" {
		return pattern{}, errors.New(why)
	}
	return pattern{plainHost(rest), below, port}, nil
}

// splitPattern tells "host:port" from a host, which may be an IPv6 address
// with or without brackets.
func splitPattern(entry string) (host, port string, err error) {
	if strings.Contains(entry, "/") {
		return "", "", errors.New("a URL or a path: want host or host:port")
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")
	if isAddress(bare) {
		return bare, "", nil
	}
	if !strings.Contains(entry, ":") {
		return entry, "", nil
	}
	host, port, err = net.SplitHostPort(entry)
	if err != nil {
		return "", "", errors.New("want host or host:port, with an IPv6 address in brackets")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("port %q: must be from 1 to 65535", port)
	}
	return host, port, nil
}

func wrongHost(host string) string {
	switch {
	case host == "":
		return "no host"
	case strings.Contains(host, "*"):
		return `"*" may only stand in front, as in "*.example.com"`
	case strings.ContainsFunc(host, notInHost), strings.Contains(host, ":") && !isAddress(host):
		return "not a host name"
	}
	return ""
}

// notInHost are control characters, and what ends a host in a URL.
func notInHost(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`@?#/\`, r) }

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (p pattern) matches(name, port string) bool {
	if p.port != "" && p.port != port {
		return false
	}
	if p.below {
		return strings.HasSuffix(name, "."+p.name)
	}
	return name == p.name
}

// plainHost is the one spelling of a host that compares.
func plainHost(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// passes reports whether what goes by r is not intercepted: by its rule, or else by
// Config.Passthrough.
func (p *Proxy) passes(r route) bool {
	if r.rule != p.policy {
		return r.rule.passthrough
	}
	name, port := plainHost(r.target.host), r.target.port
	for _, pat := range p.passthrough {
		if pat.matches(name, port) {
			return true
		}
	}
	return false
}
