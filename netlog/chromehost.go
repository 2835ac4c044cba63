package netlog

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// authorityOf is host:port of a URL; "" if it has none.
func authorityOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return ""
	}
	return hostPort(u)
}

// hostOfGroup is host:port of the name that the socket pool gives to connections
// that can replace one another: "pm/https://a.test <https://a.test same_site>"
// or, until 2020, "pm/ssl/a.test:443".
func hostOfGroup(group string) string {
	name, _, _ := strings.Cut(group, " ")
	scheme := strings.LastIndex(name, "://")
	if scheme < 0 {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	return authorityOf(name[strings.LastIndexByte(name[:scheme], '/')+1:])
}

// proxiesOf is host:port of each proxy of "[https://a:1, https://b:2]", or of
// "PROXY a:1" as it was until 2023; "" if there is none.
func proxiesOf(chain string) string {
	var all []string
	for one := range strings.SplitSeq(strings.Trim(chain, "[]"), ",") {
		one = strings.TrimSpace(one)
		if _, rest, ok := strings.Cut(one, " "); ok { // the older form
			one = rest
		}
		if _, rest, ok := strings.Cut(one, "://"); ok {
			one = rest
		}
		if _, _, err := net.SplitHostPort(one); err == nil {
			all = append(all, one)
		}
	}
	return strings.Join(all, ", ")
}

// isPublic reports whether host, which may have a port, is a name that a public
// authority could vouch for (RFC 6761, RFC 6762, RFC 8375 and ICANN's "internal").
func isPublic(host string) bool {
	name := parseAuthority(host).name
	if _, err := netip.ParseAddr(name); err == nil || !strings.Contains(name, ".") {
		return false
	}
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "test", "example", "invalid", "localhost", "local", "internal", "arpa", "lan", "home", "corp", "intranet":
		return false
	}
	return true
}
