package ca

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// Problem is why a client refuses a server's leaf.
type Problem struct {
	Client string // "Apple" or "Chromium"
	What   string // is wrong with the leaf
}

// String is the problem as a sentence.
func (p Problem) String() string { return p.Client + " refuses it: " + p.What }

// Lint returns why Apple's systems and Chromium would refuse a server's leaf of
// an authority that their user trusts, and nil if they would not. It sees the leaf
// alone: not its chain, and not whether it is valid now or for the right host.
//
// Apple's rules are those of support.apple.com/103769. What Chromium says is in
// testdata/faults.md, which its tests asked it.
func Lint(leaf *x509.Certificate) []Problem {
	var problems []Problem
	for _, rule := range lintRules() {
		if rule.breaks(leaf) {
			for _, client := range rule.clients {
				problems = append(problems, Problem{client, rule.what})
			}
		}
	}
	return problems
}

type lintRule struct {
	clients []string
	what    string
	breaks  func(*x509.Certificate) bool
}

func lintRules() []lintRule {
	apple, chromium := []string{"Apple"}, []string{"Chromium"}
	both := []string{"Apple", "Chromium"}
	return []lintRule{
		{apple, "valid for more than 825 days", func(c *x509.Certificate) bool { return c.NotAfter.Sub(c.NotBefore) > 825*day }},
		{apple, "its RSA key has fewer than 2048 bits", func(c *x509.Certificate) bool { return rsaBits(c) < 2048 }},
		{both, "it has no alternative name, and the common name does not count", func(c *x509.Certificate) bool { return len(c.DNSNames)+len(c.IPAddresses) == 0 }},
		{both, "signed with SHA-1 or MD5", hasWeakHash},
		{apple, "serverAuth is not among its extended key usages", func(c *x509.Certificate) bool { return !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) }},
		{chromium, "serverAuth is not among its extended key usages", excludesServers},
		{chromium, "its key cannot sign handshakes (digitalSignature)", func(c *x509.Certificate) bool {
			return c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0
		}},
		{chromium, "its key is of a kind that it does not offer to verify", hasUnknownKey},
		{chromium, "it has a critical extension that it does not know", func(c *x509.Certificate) bool { return len(c.UnhandledCriticalExtensions) > 0 }},
	}
}

func rsaBits(c *x509.Certificate) int {
	if key, ok := c.PublicKey.(*rsa.PublicKey); ok {
		return key.N.BitLen()
	}
	return 2048
}

func hasWeakHash(c *x509.Certificate) bool {
	switch c.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1, x509.MD2WithRSA:
		return true
	}
	return false
}

// excludesServers is that there are extended usages, and none that fits.
func excludesServers(c *x509.Certificate) bool {
	any := slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny) || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	return !any && len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) > 0
}

// hasUnknownKey is by Chromium's signature_algorithms, which have neither Ed25519
// nor any curve but these.
func hasUnknownKey(c *x509.Certificate) bool {
	switch key := c.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return key.Curve != elliptic.P256() && key.Curve != elliptic.P384()
	case ed25519.PublicKey:
		return true
	}
	return false
}

// refused is what Lint finds, as an error.
func refused(leaf *x509.Certificate) error {
	if slices.Equal(leaf.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
		return nil // a client's
	}
	var all []error
	for _, p := range Lint(leaf) {
		all = append(all, fmt.Errorf("Config.Strict: %v", p))
	}
	return errors.Join(all...)
}
