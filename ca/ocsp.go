package ca

import (
	"bytes"
	"crypto"
	"crypto/rand"
	_ "crypto/sha1" // for crypto.SHA1, by which clients name issuers
	_ "crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"time"
)

// Staple puts an OCSP response (RFC 6960) into c, which servers of crypto/tls
// then send along (RFC 6066, section 8): that c is good or that it is revoked,
// as of now, for a week. Servers of other kinds take what is then in c.OCSPStaple,
// which is DER, from a file. The error is that this authority did not issue c.
func (a *Authority) Staple(c *Certificate) error { return a.staple(&c.Certificate) }

func (a *Authority) staple(c *tls.Certificate) error {
	leaf, err := (&Certificate{*c}).leaf()
	if err != nil {
		return err
	}
	response, err := a.ocspResponse(leaf)
	if err == nil {
		c.OCSPStaple = response
	}
	return err
}

// ocspResponse is in DER.
func (a *Authority) ocspResponse(cert *x509.Certificate) ([]byte, error) {
	issuer, err := a.revoked.issuerOf(cert)
	if err != nil {
		return nil, fmt.Errorf("ca: OCSP response: %w", err)
	}
	id, err := newCertID(issuer.cert, crypto.SHA1)
	if err != nil {
		return nil, fmt.Errorf("ca: OCSP response: %w", err)
	}
	id.Serial = cert.SerialNumber
	response, err := a.revoked.respond(issuer, []ocspCertID{id}, nil)
	if err != nil {
		return nil, fmt.Errorf("ca: OCSP response: %w", err)
	}
	return response, nil
}

// answer is the response to an encoded request: that it is malformed, that it
// asks for others' certificates alone, or what it asks for.
func (r *register) answer(request []byte) ([]byte, error) {
	var q ocspRequest
	if rest, err := asn1.Unmarshal(request, &q); err != nil || len(rest) > 0 || len(q.TBS.Requests) == 0 {
		return asn1.Marshal(ocspResponse{Status: ocspMalformed})
	}
	var ids []ocspCertID
	for _, one := range q.TBS.Requests {
		ids = append(ids, one.CertID)
	}
	for _, id := range ids {
		if issuer, ok := r.named(id); ok {
			return r.respond(issuer, ids, q.nonce())
		}
	}
	return asn1.Marshal(ocspResponse{Status: ocspUnauthorized})
}

// named is the authority whose name and key an identifier has.
func (r *register) named(id ocspCertID) (signingCA, bool) {
	hash, ok := ocspHash(id.Hash.Algorithm)
	if !ok {
		return signingCA{}, false
	}
	for _, authority := range r.known() {
		own, err := newCertID(authority.cert, hash)
		if err == nil && bytes.Equal(own.NameHash, id.NameHash) && bytes.Equal(own.KeyHash, id.KeyHash) {
			return authority, true
		}
	}
	return signingCA{}, false
}

// respond signs the status of each certificate that issuer issued. Those of
// others are unknown; what it never issued is good, for good says no more than
// that it is not revoked (RFC 6960, section 2.2).
func (r *register) respond(issuer signingCA, ids []ocspCertID, nonce *ocspExtension) ([]byte, error) {
	now := time.Now().UTC().Truncate(time.Second)
	self, err := newCertID(issuer.cert, crypto.SHA1)
	if err != nil {
		return nil, err
	}
	data := ocspResponseData{Responder: self.KeyHash, ProducedAt: now}
	if nonce != nil {
		data.Extensions = []ocspExtension{*nonce}
	}
	for _, id := range ids {
		one := ocspSingle{CertID: id, ThisUpdate: now.Add(-backdate), NextUpdate: now.Add(statusLifetime)}
		switch by, ok := r.named(id); {
		case !ok || !by.cert.Equal(issuer.cert):
			one.Unknown = true
		default:
			one.setStatus(r.entry(issuer, id.Serial))
		}
		data.Responses = append(data.Responses, one)
	}
	return data.sign(issuer)
}

func (s *ocspSingle) setStatus(entry *x509.RevocationListEntry) {
	if entry == nil {
		s.Good = true
		return
	}
	s.Revoked = ocspRevoked{entry.RevocationTime, asn1.Enumerated(entry.ReasonCode)}
}

// sign makes a successful response. It is by the authority itself, and so brings
// no certificate.
func (d *ocspResponseData) sign(issuer signingCA) ([]byte, error) {
	content, err := asn1.Marshal(*d)
	if err != nil {
		return nil, err
	}
	h := crypto.SHA256.New()
	h.Write(content)
	signature, err := issuer.key.Sign(rand.Reader, h.Sum(nil), crypto.SHA256)
	if err != nil {
		return nil, err
	}
	basic := signed{
		Content:   asn1.RawValue{FullBytes: content},
		Algorithm: pkix.AlgorithmIdentifier{Algorithm: oidECDSAWithSHA256}, // all that are in the register
		Signature: asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)},
	}
	response := ocspResponse{Bytes: ocspBytes{Type: oidOCSPBasic}}
	if response.Bytes.Response, err = asn1.Marshal(basic); err != nil {
		return nil, err
	}
	return asn1.Marshal(response)
}
