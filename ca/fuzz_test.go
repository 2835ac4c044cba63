package ca

import (
	"slices"
	"strings"
	"testing"
)

// What is accepted is in its final form, can be signed, and reaches the name
// that was asked for.
func FuzzIdentity(f *testing.F) {
	for _, seed := range []string{"a.test", "*.Example.com.", "bücher.example", "例え。テスト。", "::ffff:192.0.2.7", "fe80::1%eth0",
		"o'hara@a.test", "a..b", "1.2.3", "xn--a", "a_b.ö", "*.*.x", "\xff", "ⓐ.test", "x\u3002", "*.例え。"} {
		f.Add(seed)
	}
	authority, err := Generate(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, identity string) {
		first, err := parseSubject(anyUsage, []string{identity})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "identity ") {
				t.Errorf("error %v", err)
			}
			return
		}
		again, err := parseSubject(anyUsage, first.names)
		if err != nil || !slices.Equal(again.names, first.names) {
			t.Fatalf("%q is %q, and that is %q, error %v", identity, first.names, again.names, err)
		}
		m, err := authority.mint(first, "")
		if err != nil {
			t.Fatalf("%q is accepted and cannot be signed: %v", identity, err)
		}
		if len(first.emails) == 1 {
			return
		}
		name := strings.Replace(first.names[0], "*", "a", 1)
		if err := m.cert.Leaf.VerifyHostname(name); err != nil {
			t.Errorf("%q: %v", identity, err)
		}
	})
}
