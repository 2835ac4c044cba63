package ca_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"testing"

	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
)

// Faults by way of origin.Config.CA, origin.Config.TLS and mitm.Config.CA.
func TestFaultsOfFixtures(t *testing.T) {
	site := origin.New(t, nil)
	for fault, want := range map[ca.Fault]string{
		"self-signed":      "UnknownAuthorityError",
		"client-only":      "IncompatibleUsage (4)",
		"incomplete-chain": "UnknownAuthorityError",
		"revoked-stapled":  accepted,
	} {
		authority := ca.New(t, &ca.Config{Fault: fault})
		good := ca.New(t, nil)
		broken := &tls.Config{Certificates: []tls.Certificate{good.IssueBroken(fault, "127.0.0.1").Certificate}}
		for what, get := range map[string]func() error{
			"origin's CA": func() error {
				s := origin.New(t, &origin.Config{CA: authority})
				return fetch(s.Client().Get(s.URL))
			},
			"origin's TLS": func() error {
				s := origin.New(t, &origin.Config{CA: good, TLS: broken})
				return fetch(s.Client().Get(s.URL))
			},
			"proxy's CA": func() error {
				p := mitm.New(t, &mitm.Config{CA: authority, RootCAs: site.CA().Pool()})
				return fetch(p.Client().Get(site.URL))
			},
		} {
			got := accepted
			if err := get(); err != nil {
				got = sayGo(errors.Unwrap(err)) // without the URL
			}
			if got != want {
				t.Errorf("%s by %s: %s, want %s", fault, what, got, want)
			}
		}
	}
}

func fetch(resp *http.Response, err error) error {
	if err == nil {
		resp.Body.Close()
	}
	return err
}
