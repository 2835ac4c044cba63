package ca

import (
	"fmt"
	"slices"
	"strings"
)

// Fault is the name of a way in which a certificate is broken, as "expired".
// [Faults] lists them; where badssl.com has a host for one, it is that host's
// name. What is broken is that one thing: all else is as a client wants it.
//
// What Go, OpenSSL, curl, Node.js and Chromium say to each of them is in
// testdata/faults.md beside this package's source; the tests ask them.
type Fault string

// Faults returns all faults, in the order of their kinds: dates, names, usages,
// keys, signatures, chains, identifiers, revocation. "ml-dsa" is among them from
// Go 1.27 on.
func Faults() []Fault {
	var names []Fault
	for _, s := range spoilers() {
		names = append(names, s.name)
	}
	return names
}

// Meaning says what is broken, in a line. It is "" if there is no such fault.
func (f Fault) Meaning() string {
	s, err := f.spoiler()
	if err != nil {
		return ""
	}
	return s.meaning
}

// IssueBroken is [Authority.Issue] for a certificate with a fault. It is all
// that a server needs to show the fault, also where that is not in the leaf: it
// comes with the chain, the key and the stapled OCSP response. A fault that
// identities do not allow, as a wildcard's misuse with an address, fails the
// test, and so does an unknown one.
//
//	for _, fault := range ca.Faults() {
//		cert := authority.IssueBroken(fault, "www.example.com")
//		server := &tls.Config{Certificates: []tls.Certificate{cert.Certificate}}
//		…
//	}
//
// For whatever host a server or a proxy is asked for, see [Config.Fault].
func (a *Authority) IssueBroken(fault Fault, identities ...string) *Certificate {
	a.fail.Helper()
	if _, err := fault.spoiler(); err != nil { // "" too, which issue would let pass
		a.fail.Fatalf("ca: IssueBroken: fault %v", err)
	}
	return a.issue(anyUsage, fault, identities)
}

// spoiler is how a fault comes about.
type spoiler struct {
	name    Fault
	meaning string
	spoil   func(*Authority, *draft) error
}

func spoilers() []spoiler {
	return slices.Concat(dateSpoilers(), nameSpoilers(), usageSpoilers(), keySpoilers(), newerSpoilers(),
		signatureSpoilers(), chainSpoilers(), identifierSpoilers(), revocationSpoilers())
}

func (f Fault) spoiler() (*spoiler, error) {
	all := spoilers()
	i := slices.IndexFunc(all, func(s spoiler) bool { return s.name == f })
	if i >= 0 {
		return &all[i], nil
	}
	var names []string
	for _, s := range all {
		names = append(names, string(s.name))
	}
	return nil, fmt.Errorf("%q: there is none of that name, but %s", string(f), strings.Join(names, ", "))
}

// spoil applies a fault to a draft; "" leaves it as it is.
func (a *Authority) spoil(d *draft, fault Fault) error {
	if fault == "" {
		return nil
	}
	s, err := fault.spoiler()
	if err != nil {
		return fmt.Errorf("fault %w", err)
	}
	if err := s.spoil(a, d); err != nil {
		return fmt.Errorf("fault %q: %w", string(fault), err)
	}
	return nil
}

// inTemplate is a fault that is all in the leaf's template.
func inTemplate(edit func(*draft)) func(*Authority, *draft) error {
	return func(_ *Authority, d *draft) error {
		edit(d)
		return nil
	}
}
