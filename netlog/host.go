package netlog

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// authority is a host and a port, in the one spelling that compares.
type authority struct{ name, port string }

// covers reports whether other is meant by a, which may leave the port open.
func (a authority) covers(other authority) bool {
	return a.name == other.name && (a.port == "" || a.port == other.port)
}

// parseAuthority reads host, host:port or a URL; there is nothing that it
// refuses, since a host that cannot be is one that matches nothing.
func parseAuthority(s string) authority {
	if u, err := url.Parse(s); err == nil && u.Host != "" {
		return authority{plainName(u.Hostname()), portOf(u)}
	}
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		return authority{name: plainName(s)}
	}
	return authority{plainName(name), port}
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	switch strings.ToLower(u.Scheme) {
	case "https", "wss":
		return "443"
	case "http", "ws":
		return "80"
	case "socks5", "socks5h":
		return "1080"
	}
	return ""
}

// hostPort is the authority of a URL, with the scheme's port where it has none.
func hostPort(u *url.URL) string { return net.JoinHostPort(plainName(u.Hostname()), portOf(u)) }

func plainName(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip.Unmap().String()
	}
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if ascii, err := idna.Lookup.ToASCII(s); err == nil {
		return ascii // as it goes over the wire
	}
	return s
}

// plainURL is u as it goes over the wire: without user and fragment.
func plainURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	sent := *u
	sent.User, sent.Fragment, sent.RawFragment = nil, "", ""
	return sent.String()
}
