package ca

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
)

func revocationSpoilers() []spoiler {
	return []spoiler{
		{"revoked", "revoked when it was issued, as lists and OCSP say", func(a *Authority, d *draft) error {
			d.then = a.revokeAtOnce
			return nil
		}},
		{"revoked-stapled", "revoked, and comes with an OCSP response that says so", func(a *Authority, d *draft) error {
			d.then = func(cert *tls.Certificate) error {
				if err := a.revokeAtOnce(cert); err != nil {
					return err
				}
				return a.staple(cert)
			}
			return nil
		}},
		{"must-staple", "says that an OCSP response comes with it (RFC 7633), and none does", inTemplate(func(d *draft) {
			d.template.ExtraExtensions = append(d.template.ExtraExtensions, mustStaple())
		})},
	}
}

func (a *Authority) revokeAtOnce(cert *tls.Certificate) error {
	return a.Revoke(cert.Leaf, KeyCompromise)
}

// mustStaple is the TLS feature extension with status_request, 5.
func mustStaple() pkix.Extension {
	return pkix.Extension{
		Id:    asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24},
		Value: []byte{asn1.TagSequence | 0x20, 3, asn1.TagInteger, 1, 5},
	}
}
