package ca

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"time"
)

// hierarchy is a root and what stands between it and a leaf. It never changes:
// a rotation puts another in its place, and what was issued by this one leaves
// the cache for that reason.
type hierarchy struct {
	authorities []signingCA // the root first, the one that issues last
	crosses     [][]byte    // certificates of the root's key by other roots
}

// signingCA is a parsed certificate with its key. Parsed, because what it
// signs takes the issuer's name and key identifier from it byte by byte.
type signingCA struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func newHierarchy(cfg *Config) (*hierarchy, error) {
	h := new(hierarchy)
	for i := range cfg.Intermediates + 1 {
		template := caTemplate(cfg.nameOf(i), cfg.Intermediates-i)
		if i == 0 {
			// A root that may be crossed with others sets no limit.
			template.MaxPathLen, template.MaxPathLenZero = -1, false
		} else {
			cfg.nameStatus(template, h.issuer().cert)
		}
		if err := h.extend(template); err != nil {
			return nil, fmt.Errorf("ca: certificate of %q: %w", cfg.nameOf(i), err)
		}
	}
	return h, nil
}

// extend adds an authority that is signed by the last or, if there is none, by
// itself.
func (h *hierarchy) extend(template *x509.Certificate) error {
	parent := signingCA{}
	if len(h.authorities) > 0 {
		parent = h.issuer()
	}
	next, err := parent.authority(template)
	if err == nil {
		h.authorities = append(h.authorities, next)
	}
	return err
}

func (h *hierarchy) root() signingCA   { return h.authorities[0] }
func (h *hierarchy) issuer() signingCA { return h.authorities[len(h.authorities)-1] }

// chain is what follows a leaf: the authorities up to the root, without it, and
// in its place what others say of its key.
func (h *hierarchy) chain() (chain [][]byte) {
	for i := len(h.authorities) - 1; i > 0; i-- {
		chain = append(chain, h.authorities[i].cert.Raw)
	}
	return append(chain, h.crosses...)
}

// crossSignBy lets those who trust other's root trust this one.
func (h *hierarchy) crossSignBy(other *hierarchy) error {
	cross, err := other.root().crossSign(h.root().cert)
	if err != nil {
		return err
	}
	h.crosses = append(h.crosses, cross.Raw)
	h.crosses = append(h.crosses, other.crosses...)
	return nil
}

// authority is a new authority that s signs; one that is zero lets it sign
// itself.
func (s signingCA) authority(template *x509.Certificate) (signingCA, error) {
	key, err := newSigner()
	if err != nil {
		return signingCA{}, err
	}
	if s.cert == nil {
		s = signingCA{template, key}
	}
	if template.SubjectKeyId, err = keyID(key.Public()); err != nil {
		return signingCA{}, err
	}
	cert, err := s.sign(template, key.Public())
	return signingCA{cert, key}, err
}

func (s signingCA) sign(template *x509.Certificate, key crypto.PublicKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, s.cert, key, s.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (s signingCA) crossSign(other *x509.Certificate) (*x509.Certificate, error) {
	template := caTemplate("", -1)
	template.RawSubject, template.SubjectKeyId = other.RawSubject, other.SubjectKeyId
	template.MaxPathLen, template.MaxPathLenZero = other.MaxPathLen, other.MaxPathLenZero
	cross, err := s.sign(template, other.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("ca: cross-signing %q: %w", other.Subject.CommonName, err)
	}
	return cross, nil
}

// caTemplate is valid from before synctest's year 2000 until after any
// test. Its dates are not relative to now, because now may be either. below is
// how many authorities may follow; -1 is no limit.
func caTemplate(name string, below int) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Date(1999, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2099, time.December, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLen:            below,
		MaxPathLenZero:        below == 0,
	}
}
