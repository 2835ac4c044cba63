package ca

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"time"
)

// The messages of RFC 6960, section 4, in the words of encoding/asn1.

type ocspExtension = pkix.Extension

type ocspRequest struct {
	TBS       ocspTBS
	Signature asn1.RawValue `asn1:"explicit,tag:0,optional"`
}

type ocspTBS struct {
	Version    int           `asn1:"explicit,tag:0,default:0,optional"`
	Requestor  asn1.RawValue `asn1:"explicit,tag:1,optional"`
	Requests   []ocspOne
	Extensions []ocspExtension `asn1:"explicit,tag:2,optional"`
}

type ocspOne struct {
	CertID     ocspCertID
	Extensions []ocspExtension `asn1:"explicit,tag:0,optional"`
}

type ocspCertID struct {
	Hash     pkix.AlgorithmIdentifier
	NameHash []byte
	KeyHash  []byte
	Serial   *big.Int
}

type ocspResponse struct {
	Status asn1.Enumerated
	Bytes  ocspBytes `asn1:"explicit,tag:0,optional"`
}

const (
	ocspMalformed    asn1.Enumerated = 1
	ocspUnauthorized asn1.Enumerated = 6
)

type ocspBytes struct {
	Type     asn1.ObjectIdentifier
	Response []byte
}

type ocspResponseData struct {
	Responder  []byte    `asn1:"explicit,tag:2"` // by key: the SHA-1 of it
	ProducedAt time.Time `asn1:"generalized"`
	Responses  []ocspSingle
	Extensions []ocspExtension `asn1:"explicit,tag:1,optional,omitempty"`
}

type ocspSingle struct {
	CertID     ocspCertID
	Good       asn1.Flag   `asn1:"tag:0,optional"`
	Revoked    ocspRevoked `asn1:"tag:1,optional"`
	Unknown    asn1.Flag   `asn1:"tag:2,optional"`
	ThisUpdate time.Time   `asn1:"generalized"`
	NextUpdate time.Time   `asn1:"generalized,explicit,tag:0"`
}

type ocspRevoked struct {
	Time   time.Time       `asn1:"generalized"`
	Reason asn1.Enumerated `asn1:"explicit,tag:0"`
}

var (
	oidOCSPBasic       = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 1}
	oidOCSPNonce       = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 48, 1, 2} // RFC 9654
	oidECDSAWithSHA256 = asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}
)

// nonce is the request's extension that the response has to repeat.
func (q *ocspRequest) nonce() *ocspExtension {
	for _, e := range q.TBS.Extensions {
		if e.Id.Equal(oidOCSPNonce) {
			return &e
		}
	}
	return nil
}

// ocspHashes are the functions by which requests may name an issuer.
var ocspHashes = [...]struct {
	oid  asn1.ObjectIdentifier
	hash crypto.Hash
}{
	{asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}, crypto.SHA1},
	{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}, crypto.SHA256},
	{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}, crypto.SHA384},
	{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}, crypto.SHA512},
}

func ocspHash(oid asn1.ObjectIdentifier) (crypto.Hash, bool) {
	for _, h := range ocspHashes {
		if h.oid.Equal(oid) {
			return h.hash, true
		}
	}
	return 0, false
}

// newCertID names an issuer, without a serial number.
func newCertID(issuer *x509.Certificate, hash crypto.Hash) (ocspCertID, error) {
	key, err := keyBits(issuer.RawSubjectPublicKeyInfo)
	if err != nil {
		return ocspCertID{}, err
	}
	id := ocspCertID{NameHash: sum(hash, issuer.RawSubject), KeyHash: sum(hash, key)}
	for _, h := range ocspHashes {
		if h.hash == hash {
			id.Hash = pkix.AlgorithmIdentifier{Algorithm: h.oid, Parameters: asn1.NullRawValue}
		}
	}
	return id, nil
}

func sum(hash crypto.Hash, content []byte) []byte {
	h := hash.New()
	h.Write(content)
	return h.Sum(nil)
}
