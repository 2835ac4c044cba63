package ca

import (
	"crypto"
	_ "crypto/md5" // for crypto.MD5
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
)

func signatureSpoilers() []spoiler {
	return []spoiler{
		{"sha1", "signed by RSA with SHA-1", sha1Leaf},
		{"sha1-intermediate", "the intermediate that signed it is itself signed with SHA-1", sha1Intermediate},
		{"md5", "signed by RSA with MD5", md5Leaf},
		{"bad-signature", "one bit of its signature is wrong", badSignature},
	}
}

// newRSAKey takes long, some tenths of a second.
func newRSAKey() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) }

// byRSA has the leaf signed by an intermediate with an RSA key: there is no
// ECDSA with MD5, and SHA-1 is known with RSA.
func (a *Authority) byRSA(d *draft) error {
	key, err := a.rsaKey()
	if err != nil {
		return err
	}
	cert, err := d.by.root().sign(caTemplate("wiretest RSA intermediate", 0), key.Public())
	if err != nil {
		return err
	}
	d.issuer, d.chain = signingCA{cert, key}, [][]byte{cert.Raw}
	return nil
}

func sha1Leaf(a *Authority, d *draft) error {
	d.template.SignatureAlgorithm = x509.SHA1WithRSA
	return a.byRSA(d)
}

func sha1Intermediate(_ *Authority, d *draft) error {
	return d.interpose("SHA-1", func(template *x509.Certificate) { template.SignatureAlgorithm = x509.ECDSAWithSHA1 })
}

// md5Leaf is signed by hand, because crypto/x509 does not sign with MD5.
func md5Leaf(a *Authority, d *draft) error {
	d.template.SignatureAlgorithm = x509.SHA256WithRSA
	err := a.byRSA(d)
	d.finish = func(der []byte) ([]byte, error) { return resign(der, d.issuer.key, crypto.MD5, oidMD5WithRSA) }
	return err
}

// RFC 8017, appendix A.2.4.
var oidMD5WithRSA = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 4}

// signed is a certificate (RFC 5280, section 4.1), or a BasicOCSPResponse without
// certificates (RFC 6960, section 4.2.1).
type signed struct {
	Content   asn1.RawValue
	Algorithm pkix.AlgorithmIdentifier
	Signature asn1.BitString
}

// resign replaces the signature of a certificate, and the algorithm in both
// places that name it, by PKCS #1 v1.5 with hash.
func resign(der []byte, key crypto.Signer, hash crypto.Hash, algorithm asn1.ObjectIdentifier) ([]byte, error) {
	var cert signed
	if _, err := asn1.Unmarshal(der, &cert); err != nil {
		return nil, err
	}
	var fields []asn1.RawValue // of TBSCertificate: version, serial number, signature, …
	if _, err := asn1.Unmarshal(cert.Content.FullBytes, &fields); err != nil {
		return nil, err
	}
	cert.Algorithm = pkix.AlgorithmIdentifier{Algorithm: algorithm, Parameters: asn1.NullRawValue}
	name, err := asn1.Marshal(cert.Algorithm)
	if err != nil {
		return nil, err
	}
	fields[2] = asn1.RawValue{FullBytes: name}
	if cert.Content.FullBytes, err = asn1.Marshal(fields); err != nil {
		return nil, err
	}
	h := hash.New()
	h.Write(cert.Content.FullBytes)
	signature, err := key.Sign(rand.Reader, h.Sum(nil), hash)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	cert.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	return asn1.Marshal(cert)
}

func badSignature(_ *Authority, d *draft) error {
	d.finish = func(der []byte) ([]byte, error) {
		der[len(der)-1] ^= 1
		return der, nil
	}
	return nil
}
