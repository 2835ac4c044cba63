package ca

import (
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"strings"
)

func nameSpoilers() []spoiler {
	return []spoiler{
		{"wrong-host", `for "` + wrongHost + `" alone`, inTemplate(func(d *draft) { WrongHost(d.template) })},
		{"no-san", "has its name as the common name alone", inTemplate(func(d *draft) { d.setNames(nil) })},
		{"no-common-name", "has a subject without a common name", inTemplate(func(d *draft) {
			d.template.Subject = pkix.Name{Organization: []string{"wiretest"}}
		})},
		{"no-subject", "has an empty subject", inTemplate(func(d *draft) { d.template.Subject = pkix.Name{} })},
		{"ip-as-dns-name", "has its address as a DNS name", ipAsDNSName},
		{"wildcard-of-everything", `for "*"`, wildcard(func([]string) string { return "*" })},
		{"wildcard-of-tld", `for "*" and the last label of its name, as "*.test"`, wildcard(func(labels []string) string {
			return "*." + labels[len(labels)-1]
		})},
		{"wildcard-in-label", `for its name with a part of the first label as "*", as "w*.example.com"`, wildcard(func(labels []string) string {
			return labels[0][:1] + "*." + strings.Join(labels[1:], ".")
		})},
		{"wildcard-not-first", `for its name with "*" as the second label, as "www.*.com"`, wildcard(func(labels []string) string {
			labels[1] = "*"
			return strings.Join(labels, ".")
		})},
		{"wildcard-of-subdomains", `for the names below its own alone, as "*.www.example.com"`, wildcard(func(labels []string) string {
			return "*." + strings.Join(labels, ".")
		})},
		{"1000-sans", "has a thousand names more", manyNames(1000)},
		{"10000-sans", "has ten thousand names more", manyNames(10000)},
	}
}

// setNames replaces the alternative names by DNS names.
func (d *draft) setNames(dns []string) {
	t := d.template
	t.DNSNames, t.IPAddresses, t.EmailAddresses, t.URIs = dns, nil, nil, nil
}

func ipAsDNSName(_ *Authority, d *draft) error {
	if len(d.subject.ips) == 0 {
		return errors.New("needs an IP address among the identities")
	}
	names := d.subject.dns[:len(d.subject.dns):len(d.subject.dns)]
	for _, ip := range d.subject.ips {
		names = append(names, net.IP(ip).String())
	}
	d.setNames(names)
	return nil
}

// wildcard makes a pattern of the labels of the first host name.
func wildcard(pattern func(labels []string) string) func(*Authority, *draft) error {
	return func(_ *Authority, d *draft) error {
		if len(d.subject.dns) == 0 {
			return errors.New("needs a host name among the identities")
		}
		labels := strings.Split(d.subject.dns[0], ".")
		if len(labels) < 2 || labels[0] == "*" {
			return fmt.Errorf("needs a host name of two labels or more without a wildcard, not %q", d.subject.dns[0])
		}
		d.setNames([]string{pattern(labels)})
		return nil
	}
}

// manyNames makes the leaf large: some 17 bytes for each name.
func manyNames(n int) func(*Authority, *draft) error {
	return inTemplate(func(d *draft) {
		names := d.subject.dns[:len(d.subject.dns):len(d.subject.dns)]
		for i := range n {
			names = append(names, fmt.Sprintf("n%d.sans.test", i))
		}
		d.template.DNSNames = names
	})
}
