package ca

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
)

func usageSpoilers() []spoiler {
	return []spoiler{
		{"client-only", "for clients' authentication alone, and so wrong for a server", extKeyUsages(x509.ExtKeyUsageClientAuth)},
		{"server-only", "for servers' authentication alone, and so wrong for a client", extKeyUsages(x509.ExtKeyUsageServerAuth)},
		{"other-usage", "for the protection of e-mail alone", extKeyUsages(x509.ExtKeyUsageEmailProtection)},
		{"no-usage", "has neither key usages nor extended ones, which is any usage (RFC 5280, section 4.2.1.12)", inTemplate(func(d *draft) {
			d.template.KeyUsage, d.template.ExtKeyUsage = 0, nil
		})},
		{"wrong-key-usage", "its key may sign revocation lists, and not handshakes", inTemplate(func(d *draft) {
			d.template.KeyUsage = x509.KeyUsageCRLSign
		})},
		{"unknown-critical-extension", "has a critical extension that nobody knows", inTemplate(func(d *draft) {
			d.template.ExtraExtensions = append(d.template.ExtraExtensions, pkix.Extension{
				Id: asn1.ObjectIdentifier{2, 999, 1}, Critical: true, Value: []byte{asn1.TagNull, 0}, // the arc of examples, 2.999
			})
		})},
	}
}

func extKeyUsages(usages ...x509.ExtKeyUsage) func(*Authority, *draft) error {
	return inTemplate(func(d *draft) { d.template.ExtKeyUsage = usages })
}
