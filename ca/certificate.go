package ca

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// Certificate is a leaf with its chain and its key. Its PrivateKey is a
// crypto.Signer; KeyPEM gives the key itself.
type Certificate struct{ tls.Certificate }

// SPKIHash is the SHA-256 of the certificate's public key (the
// SubjectPublicKeyInfo of RFC 5280, section 4.1) in standard base64, as
// Chrome's --ignore-certificate-errors-spki-list takes it. It is "" if there
// is no certificate, or none that can be read.
func (c *Certificate) SPKIHash() string {
	leaf, err := c.leaf()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (c *Certificate) leaf() (*x509.Certificate, error) {
	if c.Leaf != nil {
		return c.Leaf, nil
	}
	if len(c.Certificate.Certificate) == 0 {
		return nil, errors.New("ca: Certificate: it is empty")
	}
	return x509.ParseCertificate(c.Certificate.Certificate[0])
}

// CertPEM is the leaf and, after it, the intermediates in PEM.
func (c *Certificate) CertPEM() []byte { return certificatePEM(c.Certificate.Certificate...) }

// KeyPEM is the private key in PEM, as PKCS #8 (RFC 5958).
func (c *Certificate) KeyPEM() ([]byte, error) {
	key := c.PrivateKey
	if s, ok := key.(*signer); ok {
		key = s.key
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("ca: Certificate: private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
