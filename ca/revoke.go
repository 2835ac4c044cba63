package ca

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"
)

// Reason is why a certificate is revoked (RFC 5280, section 5.3.1).
type Reason int

// The reasons, in RFC 5280's words.
const (
	Unspecified          Reason = 0
	KeyCompromise        Reason = 1
	CACompromise         Reason = 2
	AffiliationChanged   Reason = 3
	Superseded           Reason = 4
	CessationOfOperation Reason = 5
	CertificateHold      Reason = 6
	PrivilegeWithdrawn   Reason = 9
)

// known leaves out what a list or a response cannot say of a certificate: 8 is for
// lists of changes alone, and 10 for certificates without a key.
func (r Reason) known() bool {
	return r >= Unspecified && r <= CertificateHold || r == PrivilegeWithdrawn
}

// statusLifetime is how long lists and OCSP responses are good for.
const statusLifetime = 7 * day

// register is what is known about revocation. It is asked from inside and outside
// of bubbles: see cache.
type register struct {
	mu          sync.Mutex
	authorities []signingCA                           // all that ever were, in the order of their making
	revoked     map[string][]x509.RevocationListEntry // by the key identifier of who issued
	lists       int64
}

// know lets r answer for authorities from now on.
func (r *register) know(authorities []signingCA) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.authorities = append(r.authorities, authorities...)
}

// known are all authorities so far.
func (r *register) known() []signingCA {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.authorities)
}

// issuerOf is the authority that issued cert.
func (r *register) issuerOf(cert *x509.Certificate) (signingCA, error) {
	if cert == nil || len(cert.Raw) == 0 {
		return signingCA{}, errors.New("the certificate is nil, or was never parsed")
	}
	issuer, ok := r.authority(cert.AuthorityKeyId)
	if !ok {
		return signingCA{}, fmt.Errorf("certificate of %q by %q is not by this authority", cert.Subject.CommonName, cert.Issuer.CommonName)
	}
	return issuer, nil
}

func (r *register) authority(keyID []byte) (signingCA, bool) {
	for _, authority := range r.known() {
		if bytes.Equal(authority.cert.SubjectKeyId, keyID) {
			return authority, true
		}
	}
	return signingCA{}, false
}

// entry is the revocation of a serial number, or nil.
func (r *register) entry(issuer signingCA, serial *big.Int) *x509.RevocationListEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(issuer, serial)
}

// find is called with r.mu held.
func (r *register) find(issuer signingCA, serial *big.Int) *x509.RevocationListEntry {
	for _, entry := range r.revoked[string(issuer.cert.SubjectKeyId)] {
		if entry.SerialNumber.Cmp(serial) == 0 {
			return &entry
		}
	}
	return nil
}

// Revoke revokes a certificate, a leaf's or an intermediate's, as of now. What
// [Authority.RevocationLists], [Authority.StatusHandler] and
// [Authority.Staple] say from then on says so; responses that were stapled
// before stay what they were. A certificate that is revoked already stays
// so, by its first reason. The error is that this authority did not issue it,
// or that reason is none of the constants.
func (a *Authority) Revoke(cert *x509.Certificate, reason Reason) error {
	issuer, err := a.revoked.issuerOf(cert)
	if err != nil {
		return fmt.Errorf("ca: revoking: %w", err)
	}
	if !reason.known() {
		return fmt.Errorf("ca: revoking: Reason: %d: must be one of the constants (RFC 5280, section 5.3.1)", reason)
	}
	a.revoked.add(issuer, x509.RevocationListEntry{
		SerialNumber:   cert.SerialNumber,
		RevocationTime: time.Now().UTC().Truncate(time.Second),
		ReasonCode:     int(reason),
	})
	return nil
}

// add keeps the first entry of a serial number.
func (r *register) add(issuer signingCA, entry x509.RevocationListEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(issuer, entry.SerialNumber) != nil {
		return
	}
	if r.revoked == nil {
		r.revoked = make(map[string][]x509.RevocationListEntry)
	}
	id := string(issuer.cert.SubjectKeyId)
	r.revoked[id] = append(r.revoked[id], entry)
}

// RevocationLists returns the certificate revocation lists (RFC 5280, section
// 5) of the root and of each intermediate, also of those before a rotation, in
// PEM, as openssl's -CRLfile and curl's --crlfile read them. They are good for a
// week from now.
func (a *Authority) RevocationLists() ([]byte, error) {
	var all []byte
	for _, authority := range a.revoked.known() {
		list, err := a.revoked.list(authority)
		if err != nil {
			return nil, err
		}
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list})...)
	}
	return all, nil
}

// list is the list of one authority, in DER.
func (r *register) list(issuer signingCA) ([]byte, error) {
	now := time.Now().UTC().Truncate(time.Second)
	template := &x509.RevocationList{ThisUpdate: now.Add(-backdate), NextUpdate: now.Add(statusLifetime)}
	r.mu.Lock()
	r.lists++
	template.Number = big.NewInt(r.lists)
	template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, r.revoked[string(issuer.cert.SubjectKeyId)]...)
	r.mu.Unlock()
	der, err := x509.CreateRevocationList(rand.Reader, template, issuer.cert, issuer.key)
	if err != nil {
		return nil, fmt.Errorf("ca: revocation list of %q: %w", issuer.cert.Subject.CommonName, err)
	}
	return der, nil
}
