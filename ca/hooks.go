package ca

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"time"
)

const wrongHost = "wrong-host.invalid"

// Expired is a value for [Config.Leaf]: certificates that ended an hour before
// they are issued.
func Expired(template *x509.Certificate) {
	template.NotAfter = time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	template.NotBefore = template.NotAfter.Add(-lifetime)
}

// NotYetValid is a value for [Config.Leaf]: certificates that begin a day
// after they are issued.
func NotYetValid(template *x509.Certificate) {
	template.NotBefore = time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour)
	template.NotAfter = template.NotBefore.Add(lifetime)
}

// WrongHost is a value for [Config.Leaf]: certificates for
// "wrong-host.invalid", whatever was asked for.
func WrongHost(template *x509.Certificate) {
	template.Subject = pkix.Name{CommonName: wrongHost}
	template.DNSNames = []string{wrongHost}
	template.IPAddresses, template.EmailAddresses, template.URIs = nil, nil, nil
}
