package ca

import "math/big"

func identifierSpoilers() []spoiler {
	return []spoiler{
		{"duplicate-serial", "all certificates with this fault have one serial number", inTemplate(func(d *draft) {
			d.template.SerialNumber = new(big.Int).Lsh(big.NewInt(0x51), 120) // 16 bytes, as all others
		})},
		{"wrong-subject-key-id", "its own key identifier is not that of its key", inTemplate(func(d *draft) {
			d.template.SubjectKeyId = make([]byte, 20)
		})},
		{"wrong-authority-key-id", "the key identifier of its issuer is not the issuer's", issuerKeyID(make([]byte, 20))},
		{"no-authority-key-id", "has no key identifier of its issuer", issuerKeyID(nil)},
	}
}

// issuerKeyID makes the leaf believe that its issuer has another key identifier.
func issuerKeyID(id []byte) func(*Authority, *draft) error {
	return inTemplate(func(d *draft) {
		other := *d.issuer.cert
		other.SubjectKeyId = id
		d.issuer.cert = &other
	})
}
