package ca

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"time"
)

const (
	// Servers' and clients' clocks differ.
	backdate = time.Hour

	// lifetime is less than what any client will accept: Apple's limit for a
	// private root is 825 days, that of public roots goes down to 47 days in
	// 2029.
	lifetime = 30 * 24 * time.Hour
)

// minted is a leaf and what decides how long it may be reused.
type minted struct {
	cert        *tls.Certificate
	from, until time.Time // the window it had before Config.Leaf
	valid       bool      // by the clock that issued it
}

func (a *Authority) mint(s subject) (*minted, error) {
	key, err := newSigner()
	if err != nil {
		return nil, fmt.Errorf("ca: leaf for %v: %w", &s, err)
	}
	now := time.Now()
	template := leafTemplate(s, now)
	template.SubjectKeyId = keyID(key)
	m := &minted{from: template.NotBefore, until: template.NotAfter}
	if a.edit != nil {
		a.edit(template)
	}
	leaf, err := a.issuer.sign(template, key)
	if err != nil {
		return nil, fmt.Errorf("ca: leaf for %v: %w", &s, err)
	}
	m.valid = within(now, leaf.NotBefore, leaf.NotAfter)
	m.cert = &tls.Certificate{
		Certificate: append([][]byte{leaf.Raw}, a.chain...),
		PrivateKey:  key,
		Leaf:        leaf,
	}
	return m, nil
}

func leafTemplate(s subject, now time.Time) *x509.Certificate {
	from := now.UTC().Truncate(time.Second).Add(-backdate)
	return &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{CommonName: commonName(s.names[0])},
		NotBefore:             from,
		NotAfter:              from.Add(lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{s.usage},
		BasicConstraintsValid: true,
		DNSNames:              s.dns,
		IPAddresses:           s.ips,
		EmailAddresses:        s.emails,
	}
}

// commonName is for people to read; clients look at the alternative names. A
// name too long for it stays out.
func commonName(name string) string {
	if len(name) > maxCommonName {
		return ""
	}
	return name
}

// keyID is by RFC 7093, section 2, method 1, as crypto/x509 does for
// authorities.
func keyID(key *signer) []byte {
	point, err := key.key.PublicKey.Bytes()
	if err != nil {
		return nil // not for a P-256 key
	}
	sum := sha256.Sum256(point)
	return sum[:20]
}

func within(t, from, until time.Time) bool { return !t.Before(from) && !t.After(until) }
