package netlog

import "testing"

func TestHostOfGroup(t *testing.T) {
	for group, want := range map[string]string{
		"https://a.test <https://a.test same_site>": "a.test:443",
		"pm/https://a.test:8443 <null>":             "a.test:8443",
		"dsd/pm/http://[::1]:80 <null>":             "[::1]:80",
		"ssl/a.test:443":                            "a.test:443",
		"pm/ssl/a.test:443":                         "a.test:443",
		"a.test:80":                                 "a.test:80",
		"":                                          "",
	} {
		if got := hostOfGroup(group); got != want {
			t.Errorf("%q is for %q, want %q", group, got, want)
		}
	}
}

func TestProxiesOf(t *testing.T) {
	for chain, want := range map[string]string{
		"[direct://]": "", "DIRECT": "", "": "", "[127.0.0.1:3128]": "127.0.0.1:3128",
		"[https://a.test:443, https://b.test:8443]": "a.test:443, b.test:8443",
		"PROXY a.test:80": "a.test:80", "HTTPS a.test:443": "a.test:443", "[socks5://[::1]:1080]": "[::1]:1080",
	} {
		if got := proxiesOf(chain); got != want {
			t.Errorf("%q is %q, want %q", chain, got, want)
		}
	}
}

func TestIsPublic(t *testing.T) {
	for host, want := range map[string]bool{
		"shop.com:443": true, "www.shop.co.uk": true, "shop.com.": true,
		"shop": false, "shop.test:443": false, "printer.local": false, "wiki.corp": false, "1.0.0.127.in-addr.arpa": false,
		"192.0.2.1:443": false, "[2001:db8::1]:443": false, "localhost:443": false, "": false,
	} {
		if got := isPublic(host); got != want {
			t.Errorf("%q is public: %v", host, got)
		}
	}
}

// TestReadFlight reads what a server says in QUIC's handshake, byte by byte as
// it comes.
func TestReadFlight(t *testing.T) {
	flight := []byte{8, 0, 0, 11, 0, 9, 0, 16, 0, 5, 0, 3, 2, 'h', '3', 20, 0, 0, 1, 0}
	for n := range flight {
		var facts tlsFacts
		facts.readFlight(flight[:n])
		if facts.said != (n >= 15) || facts.said && facts.proto != "h3" {
			t.Errorf("%d bytes: %+v", n, facts)
		}
	}
	for _, bad := range [][]byte{{8, 0, 0, 2, 0, 9}, {8, 0, 0, 6, 0, 4, 0, 16, 0, 9}, {11, 0, 0, 4, 0, 0, 0, 9}, {11, 0, 0, 0}} {
		var facts tlsFacts
		if facts.readFlight(bad); facts.proto != "" || facts.cert.issuer != "" {
			t.Errorf("%v: %+v", bad, facts)
		}
	}
}
