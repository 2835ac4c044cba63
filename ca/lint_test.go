package ca_test

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/wiretest/ca"
)

func TestLint(t *testing.T) {
	authority := ca.New(t, nil)
	for fault, want := range map[ca.Fault]string{
		"over-398-days":              "[]",
		"over-825-days":              "[Apple refuses it: valid for more than 825 days]",
		"rsa-1024":                   "[Apple refuses it: its RSA key has fewer than 2048 bits]",
		"sha1":                       "[Apple refuses it: signed with SHA-1 or MD5 Chromium refuses it: signed with SHA-1 or MD5]",
		"no-usage":                   "[Apple refuses it: serverAuth is not among its extended key usages]",
		"wrong-key-usage":            "[Chromium refuses it: its key cannot sign handshakes (digitalSignature)]",
		"unknown-critical-extension": "[Chromium refuses it: it has a critical extension that it does not know]",
	} {
		if got := fmt.Sprint(ca.Lint(authority.IssueBroken(fault, "a.test").Leaf)); got != want {
			t.Errorf("%s: %s\n want %s", fault, got, want)
		}
	}
	for _, identities := range [][]string{nil, {"a.test"}, {"127.0.0.1"}, {strings.Repeat("label.", 12) + "test"}} {
		if got := ca.Lint(authority.Issue(identities...).Leaf); len(got) != 0 {
			t.Errorf("%q: %v", identities, got)
		}
	}
}

// What Lint says for Chromium is what Chromium itself says, of faults that are
// in the leaf alone.
func TestLintAgreesWithChromium(t *testing.T) {
	elsewhere := []ca.Fault{ // in the clock, the host asked for, the chain, the transfer, or what is stapled
		"expired", "not-yet-valid", "expired-intermediate", "wrong-host", "ip-as-dns-name", "wildcard-of-everything", "wildcard-of-tld",
		"wildcard-in-label", "wildcard-not-first", "wildcard-of-subdomains", "10000-sans", "sha1-intermediate", "bad-signature",
		"self-signed", "untrusted-root", "incomplete-chain", "name-constrained", "not-an-authority", "path-too-long", "long-chain", "revoked-stapled",
	}
	tab := readTable(t)
	authority := ca.New(t, nil)
	for _, fault := range ca.Faults() {
		if slices.Contains(elsewhere, fault) {
			continue
		}
		problems := ca.Lint(authority.IssueBroken(fault, hostOf(string(fault))).Leaf)
		found := slices.ContainsFunc(problems, func(p ca.Problem) bool { return p.Client == "Chromium" })
		if says := tab.cells[string(fault)]["Chromium"]; found == (says == accepted) {
			t.Errorf("%s: Chromium says %q, Lint finds %v", fault, says, problems)
		}
	}
}

func TestStrict(t *testing.T) {
	long := func(template *x509.Certificate) { template.NotAfter = template.NotBefore.AddDate(3, 0, 0) }
	authority := ca.New(t, &ca.Config{Strict: true, Leaf: long})
	const want = "ca: leaf for a.test: Config.Strict: Apple refuses it: valid for more than 825 days"
	if _, err := authority.Leaf("a.test"); err == nil || err.Error() != want {
		t.Errorf("error %v\n want %s", err, want)
	}
	tb := fails(t, func(tb testing.TB) { ca.New(tb, &ca.Config{Strict: true, Leaf: long}).Issue("a.test") })
	if tb.message != want {
		t.Errorf("Issue says %q", tb.message)
	}
	authority.IssueClient("alice@example.com") // is none of theirs to refuse
	strict := ca.New(t, &ca.Config{Strict: true})
	strict.Issue("a.test")
	strict.Issue()
}
