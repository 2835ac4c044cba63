package ca

import (
	"crypto/x509"
	"time"
)

const day = 24 * time.Hour

func dateSpoilers() []spoiler {
	return []spoiler{
		{"expired", "ended an hour before it was issued", inTemplate(func(d *draft) { Expired(d.template) })},
		{"not-yet-valid", "begins a day after it was issued", inTemplate(func(d *draft) { NotYetValid(d.template) })},
		{"over-398-days", "valid for 399 days", validFor(399 * day)},
		{"over-825-days", "valid for 826 days", validFor(826 * day)},
		{"expired-intermediate", "the intermediate that signed it ended before it began", expiredIntermediate},
	}
}

func validFor(long time.Duration) func(*Authority, *draft) error {
	return inTemplate(func(d *draft) { d.template.NotAfter = d.template.NotBefore.Add(long) })
}

func expiredIntermediate(_ *Authority, d *draft) error {
	return d.interpose("expired", func(template *x509.Certificate) {
		template.NotAfter = d.template.NotBefore.Add(-day)
		template.NotBefore = template.NotAfter.Add(-365 * day)
	})
}
