package ca

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// tooLong is a number of intermediates that nobody follows: crypto/x509 and
// OpenSSL stop at about a hundred.
const tooLong = 110

func chainSpoilers() []spoiler {
	return []spoiler{
		{"self-signed", "signed by its own key", selfSigned},
		{"untrusted-root", "its root, which comes with it, is one that nobody knows", untrustedRoot},
		{"incomplete-chain", "comes without the intermediate that signed it", incompleteChain},
		{"name-constrained", "the intermediate that signed it may do so for other names alone", nameConstrained},
		{"not-an-authority", "what signed it is a certificate for a server", notAnAuthority},
		{"path-too-long", "signed by an intermediate below one that allows none", pathTooLong},
		{"long-chain", fmt.Sprintf("comes with %d intermediates", tooLong), longChain},
	}
}

// interpose has the leaf signed by an intermediate of its own below the root.
func (d *draft) interpose(name string, edit func(*x509.Certificate)) error {
	root := d.by.root()
	template := caTemplate("wiretest "+name+" intermediate", 0)
	if edit != nil {
		edit(template)
	}
	issuer, err := root.authority(template)
	if err != nil {
		return err
	}
	d.issuer, d.chain = issuer, [][]byte{issuer.cert.Raw}
	return nil
}

func selfSigned(_ *Authority, d *draft) error {
	if d.key == nil {
		return errors.New("needs the leaf's private key")
	}
	d.issuer, d.chain = signingCA{d.template, d.key}, nil
	return nil
}

func untrustedRoot(_ *Authority, d *draft) error {
	root, err := signingCA{}.authority(caTemplate("wiretest untrusted root", -1))
	if err != nil {
		return err
	}
	d.issuer, d.chain = root, [][]byte{root.cert.Raw}
	return nil
}

func incompleteChain(_ *Authority, d *draft) error {
	err := d.interpose("missing", nil)
	d.chain = nil
	return err
}

// nameConstrained permits or excludes something of every kind of name that a
// leaf may have (RFC 5280, section 4.2.1.10).
func nameConstrained(_ *Authority, d *draft) error {
	return d.interpose("constrained", func(template *x509.Certificate) {
		template.PermittedDNSDomainsCritical = true
		template.PermittedDNSDomains = []string{"permitted.invalid"}
		template.PermittedEmailAddresses = []string{"permitted.invalid"}
		template.ExcludedIPRanges = []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		}
	})
}

func notAnAuthority(_ *Authority, d *draft) error {
	return d.interpose("alleged", func(template *x509.Certificate) {
		template.IsCA, template.MaxPathLen, template.MaxPathLenZero = false, 0, false
		template.KeyUsage = x509.KeyUsageDigitalSignature
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
}

func pathTooLong(_ *Authority, d *draft) error {
	h := &hierarchy{authorities: []signingCA{d.by.root()}}
	for _, name := range []string{"wiretest last intermediate", "wiretest superfluous intermediate"} {
		if err := h.extend(caTemplate(name, 0)); err != nil {
			return err
		}
	}
	d.issuer, d.chain = h.issuer(), h.chain()
	return nil
}

func longChain(_ *Authority, d *draft) error {
	h := &hierarchy{authorities: []signingCA{d.by.root()}}
	for i := range tooLong {
		if err := h.extend(caTemplate(fmt.Sprintf("wiretest intermediate %d", i+1), -1)); err != nil {
			return err
		}
	}
	d.issuer, d.chain = h.issuer(), h.chain()
	return nil
}
