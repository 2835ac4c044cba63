package ca

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
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
	by          *hierarchy
	from, until time.Time // the window it had before Config.Leaf and Config.Fault
	valid       bool      // by the clock that issued it
}

// draft is a leaf before it is signed, with all that a fault may change.
type draft struct {
	by       *hierarchy
	subject  subject
	template *x509.Certificate
	key      crypto.Signer // nil if only its owner has it
	public   crypto.PublicKey
	issuer   signingCA
	chain    [][]byte                     // what is shown after the leaf
	finish   func([]byte) ([]byte, error) // has its way with the signed certificate; may be nil
	then     func(*tls.Certificate) error // likewise, with what is shown
}

// LeafWith is a new [Authority.Leaf], not from the cache. fault takes the place of
// Config.Fault, which "" leaves as it is; edit, unless it is nil, changes the
// template after Config.Leaf.
func (a *Authority) LeafWith(fault Fault, edit func(*x509.Certificate), identities ...string) (*tls.Certificate, error) {
	s, err := parseSubject(anyUsage, identities)
	if err != nil {
		return nil, fmt.Errorf("ca: %w", err)
	}
	m, err := a.mint(s, cmp.Or(fault, a.cfg.Fault), edit)
	if err != nil {
		return nil, err
	}
	return m.cert, nil
}

// mint issues a leaf with a new key, and with a fault unless that is "". Edits may
// be nil.
func (a *Authority) mint(s subject, fault Fault, edits ...func(*x509.Certificate)) (*minted, error) {
	key, err := newSigner()
	if err != nil {
		return nil, fmt.Errorf("ca: leaf for %v: %w", &s, err)
	}
	m, err := a.mintFor(s, key, key.Public(), fault, edits...)
	if err != nil {
		return nil, fmt.Errorf("ca: leaf for %v: %w", &s, err)
	}
	return m, nil
}

func (a *Authority) mintFor(s subject, key crypto.Signer, public crypto.PublicKey, fault Fault, edits ...func(*x509.Certificate)) (*minted, error) {
	now, by := time.Now(), a.hierarchy()
	d := &draft{by: by, subject: s, template: leafTemplate(s, now), issuer: by.issuer(), chain: by.chain()}
	if err := d.setKey(key, public); err != nil {
		return nil, err
	}
	m := &minted{by: by, from: d.template.NotBefore, until: d.template.NotAfter}
	if err := a.spoil(d, fault); err != nil {
		return nil, err
	}
	a.cfg.nameStatus(d.template, d.issuer.cert)
	if a.cfg.Leaf != nil {
		a.cfg.Leaf(d.template)
	}
	for _, edit := range edits {
		if edit != nil {
			edit(d.template)
		}
	}
	cert, err := d.certificate()
	if err != nil {
		return nil, err
	}
	if a.cfg.Strict {
		if err := refused(cert.Leaf); err != nil {
			return nil, err
		}
	}
	m.cert, m.valid = cert, within(now, cert.Leaf.NotBefore, cert.Leaf.NotAfter)
	return m, nil
}

// setKey makes the leaf one for another key.
func (d *draft) setKey(key crypto.Signer, public crypto.PublicKey) (err error) {
	d.key, d.public = key, public
	d.template.SubjectKeyId, err = keyID(public)
	if _, isRSA := public.(*rsa.PublicKey); isRSA {
		d.template.KeyUsage |= x509.KeyUsageKeyEncipherment // TLS 1.2's RSA key exchange
	}
	return err
}

// certificate signs the draft.
func (d *draft) certificate() (*tls.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, d.template, d.issuer.cert, d.public, d.issuer.key)
	if err == nil && d.finish != nil {
		der, err = d.finish(der)
	}
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	cert := &tls.Certificate{Certificate: append([][]byte{leaf.Raw}, d.chain...), Leaf: leaf}
	if d.key != nil {
		cert.PrivateKey = d.key
	}
	if d.then != nil {
		err = d.then(cert)
	}
	return cert, err
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
func keyID(public crypto.PublicKey) ([]byte, error) {
	info, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	bits, err := keyBits(info)
	if err != nil {
		return nil, err
	}
	return sum(crypto.SHA256, bits)[:20], nil
}

// keyBits is the key in a SubjectPublicKeyInfo (RFC 5280, section 4.1.2.7).
func keyBits(info []byte) ([]byte, error) {
	var parsed struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	_, err := asn1.Unmarshal(info, &parsed)
	return parsed.Key.Bytes, err
}

func within(t, from, until time.Time) bool { return !t.Before(from) && !t.After(until) }
