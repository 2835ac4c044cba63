package ca

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// SignRequest issues a certificate for a certificate signing request (PKCS #10,
// RFC 2986), in PEM or in DER, as [Authority.Issue] does: for its alternative
// names or, if it has none, for its common name. Of what else it asks for
// nothing is granted; its key may be of any kind. The certificate has no
// PrivateKey, which the requester keeps.
//
// The error says what is wrong with the request, whose signature has to be that
// of its key. With [Config.Fault] there is always one.
func (a *Authority) SignRequest(request []byte) (*Certificate, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, fmt.Errorf("ca: signing request: %w", err)
	}
	if a.cfg.Fault != "" {
		return nil, fmt.Errorf("ca: signing request: Config.Fault is %q: for keys of others nothing is broken", string(a.cfg.Fault))
	}
	s, err := parseSubject(anyUsage, identitiesOf(csr))
	if err != nil {
		return nil, fmt.Errorf("ca: signing request: %w", err)
	}
	m, err := a.mintFor(s, nil, csr.PublicKey, "")
	if err != nil {
		return nil, fmt.Errorf("ca: signing request for %v: %w", &s, err)
	}
	return &Certificate{*m.cert}, nil
}

func parseRequest(request []byte) (*x509.CertificateRequest, error) {
	if block, _ := pem.Decode(request); block != nil {
		if block.Type != "CERTIFICATE REQUEST" && block.Type != "NEW CERTIFICATE REQUEST" { // RFC 7468, section 7
			return nil, fmt.Errorf("its PEM is a %q", block.Type)
		}
		request = block.Bytes
	} else if bytes.Contains(request, []byte("-----BEGIN")) {
		return nil, errors.New("its PEM is damaged")
	}
	csr, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, err
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("its signature is not by its key: %w", err)
	}
	if len(identitiesOf(csr)) == 0 {
		return nil, errors.New("it names nobody: neither alternative names nor a common name")
	}
	if len(csr.URIs) > 0 {
		return nil, fmt.Errorf("alternative name %q: URIs are not issued", csr.URIs[0])
	}
	return csr, nil
}

func identitiesOf(csr *x509.CertificateRequest) []string {
	names := append([]string(nil), csr.DNSNames...)
	for _, ip := range csr.IPAddresses {
		names = append(names, ip.String())
	}
	names = append(names, csr.EmailAddresses...)
	if len(names) == 0 && csr.Subject.CommonName != "" {
		names = append(names, csr.Subject.CommonName)
	}
	return names
}
