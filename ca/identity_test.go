package ca_test

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/wiretest/ca"
)

var goodIdentities = []struct {
	identities []string
	want       string   // the alternative names
	reach      []string // names that a client may use for it
}{
	{nil, "[localhost] [127.0.0.1 ::1] []", []string{"localhost", "127.0.0.1", "::1"}},
	{[]string{"www.example.com"}, "[www.example.com] [] []", []string{"www.example.com", "WWW.example.COM"}},
	{[]string{"WWW.Example.Com."}, "[www.example.com] [] []", []string{"www.example.com"}},
	{[]string{"origin"}, "[origin] [] []", []string{"origin"}},
	{[]string{"my_host.corp.test"}, "[my_host.corp.test] [] []", []string{"my_host.corp.test"}},
	{[]string{"*.example.com"}, "[*.example.com] [] []", []string{"a.example.com", "b.example.com"}},
	{[]string{"bücher.example"}, "[xn--bcher-kva.example] [] []", []string{"xn--bcher-kva.example"}},
	{[]string{"*.Bücher.example"}, "[*.xn--bcher-kva.example] [] []", []string{"a.xn--bcher-kva.example"}},
	{[]string{"faß.example"}, "[xn--fa-hia.example] [] []", []string{"xn--fa-hia.example"}},
	{[]string{"例え。テスト。"}, "[xn--r8jz45g.xn--zckzah] [] []", []string{"xn--r8jz45g.xn--zckzah"}},
	{[]string{"a_b.bücher.example"}, "[a_b.xn--bcher-kva.example] [] []", []string{"a_b.xn--bcher-kva.example"}},
	{[]string{"192.0.2.7"}, "[] [192.0.2.7] []", []string{"192.0.2.7"}},
	{[]string{"192.0.2.7", "::ffff:192.0.2.7"}, "[] [192.0.2.7] []", []string{"192.0.2.7"}},
	{[]string{"2001:DB8:0::1"}, "[] [2001:db8::1] []", []string{"2001:db8::1"}},
	{[]string{"alice@Example.com"}, "[] [] [alice@example.com]", nil},
	{[]string{"o'hara+x@bücher.example"}, "[] [] [o'hara+x@xn--bcher-kva.example]", nil},
	{[]string{"a.test", "192.0.2.7", "*.b.test", "x@a.test", "A.test", "::1"},
		"[a.test *.b.test] [192.0.2.7 ::1] [x@a.test]", []string{"a.test", "192.0.2.7", "c.b.test", "::1"}},
	{[]string{strings.Repeat(strings.Repeat("a", 49)+".", 5) + "tld"},
		"[" + strings.Repeat(strings.Repeat("a", 49)+".", 5) + "tld] [] []", []string{strings.Repeat(strings.Repeat("a", 49)+".", 5) + "tld"}},
}

func TestIdentities(t *testing.T) {
	for _, c := range goodIdentities {
		t.Run(strings.Join(c.identities, " "), func(t *testing.T) {
			inBothWorlds(t, func(t *testing.T) { checkIdentities(t, c.identities, c.want, c.reach) })
		})
	}
}

// checkIdentities looks at the certificate, and shakes hands by each name that
// is to reach it.
func checkIdentities(t *testing.T, identities []string, want string, reach []string) {
	authority := ca.New(t, &ca.Config{Intermediates: 1})
	leaf := authority.Issue(identities...).Leaf
	if got := fmt.Sprint(leaf.DNSNames, leaf.IPAddresses, leaf.EmailAddresses); got != want {
		t.Fatalf("certificate is for %s, want %s", got, want)
	}
	server := authority.ServerTLS(identities...)
	for _, name := range reach {
		r := requireShake(t, "as "+name, server, quick(named(authority.ClientTLS(), name)))
		if got := leafOf(t, r); got != want && identities != nil {
			t.Errorf("as %s: shown a certificate for %s, want %s", name, got, want)
		}
	}
}

func TestBadIdentities(t *testing.T) {
	authority := ca.New(t, nil)
	for identity, why := range map[string]string{
		"":                              "is empty",
		".":                             "is empty",
		"a..b":                          "has an empty label",
		".a":                            "has an empty label",
		"a.b..":                         "has an empty label",
		"*":                             "a wildcard is the whole first label of several, and stands nowhere else",
		"*.":                            "is empty",
		"*.*.example.com":               "a wildcard is the whole first label of several, and stands nowhere else",
		"a*.example.com":                "a wildcard is the whole first label of several, and stands nowhere else",
		"[::1]":                         "has brackets; give the IPv6 address alone",
		"[::1]:443":                     "has brackets; give the IPv6 address alone",
		"example.com:443":               "has a port; give the host alone",
		"https://example.com/":          "is a URL; give its host alone",
		"fe80::1%eth0":                  "a zone is this machine's own affair (RFC 4007, section 11.2); leave it out",
		"192.0.2":                       "ends in a number as an IPv4 address does, and is none",
		"192.0.2.256":                   "ends in a number as an IPv4 address does, and is none",
		"a b":                           `' ' cannot be in a host name`,
		"a\x00.test":                    `'\x00' cannot be in a host name`,
		"::12345":                       `':' cannot be in a host name`,
		"-a.test":                       `label "-a" begins or ends with a hyphen`,
		"a-.test":                       `label "a-" begins or ends with a hyphen`,
		strings.Repeat("a", 64):         `label "` + strings.Repeat("a", 64) + `" has 64 bytes; at most 63 are allowed`,
		strings.Repeat("a.", 127) + "a": "has 255 bytes; a host name has at most 253",
		"bücher\u200c.example":          `idna: invalid label "bücher\u200c"`,
		"alice@":                        "after the @: is empty",
		"@example.com":                  "has an empty part before the @",
		"a..b@example.com":              "has an empty part before the @",
		"a@b@example.com":               `'@' cannot be before the @ of an e-mail address`,
		"älice@example.com":             `'ä' cannot be before the @ of an e-mail address`,
		"alice@*.example.com":           "after the @: a wildcard is the whole first label of several, and stands nowhere else",
		"alice@[192.0.2.7]":             "after the @: has brackets; give the IPv6 address alone",
		strings.Repeat("a", 65) + "@b":  "has 65 bytes before the @; at most 64 are allowed",
	} {
		want := fmt.Sprintf("ca: identity %q: %s", identity, why)
		for range 2 { // the second time must not come from the cache
			if _, err := authority.Leaf("good.test", identity); err == nil || err.Error() != want {
				t.Errorf("error %v\n want %s", err, want)
			}
			if _, err := authority.Leaf(identity); err == nil || err.Error() != want {
				t.Errorf("alone: error %v\n want %s", err, want)
			}
		}
	}
}

func TestOneUsageEach(t *testing.T) {
	authority := ca.New(t, nil)
	const server, client = x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for what, c := range map[string]struct {
		leaf *x509.Certificate
		want x509.ExtKeyUsage
	}{
		"a host":               {authority.Issue("a.test").Leaf, server},
		"a host and an e-mail": {authority.Issue("a@a.test", "a.test").Leaf, server},
		"e-mail alone":         {authority.Issue("a@a.test", "b@a.test").Leaf, client},
		"a client's host":      {authority.IssueClient("a.test").Leaf, client},
		"ServerTLS":            {authority.ServerTLS("a@a.test").Certificates[0].Leaf, server},
		"ClientTLS":            {authority.ClientTLS("a.test").Certificates[0].Leaf, client},
	} {
		if !slices.Equal(c.leaf.ExtKeyUsage, []x509.ExtKeyUsage{c.want}) {
			t.Errorf("%s: usages %v, want %v alone", what, c.leaf.ExtKeyUsage, c.want)
		}
		if c.leaf.KeyUsage != x509.KeyUsageDigitalSignature {
			t.Errorf("%s: key usage %b", what, c.leaf.KeyUsage)
		}
	}
}
