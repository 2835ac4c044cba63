package alpn

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"example.com/wiretest/alpn/internal/probing"
)

// RequireIssuer fails tb at once unless the certificate that resp came with was
// issued by issuer: its common name, or all of it, as x509's pkix.Name writes
// it. The failure says who else vouches for the server.
func RequireIssuer(tb testing.TB, resp *http.Response, issuer string) {
	tb.Helper()
	leaf, why := leafOf(resp)
	if why != "" {
		tb.Fatalf("alpn: RequireIssuer: want issuer %q, got %s", issuer, why)
		return
	}
	if leaf.Issuer.CommonName == issuer && issuer != "" || leaf.Issuer.String() == issuer {
		return
	}
	tb.Fatalf("alpn: want issuer %q, got %q%s", issuer, probing.Issuer(leaf), chainReport(resp, causeOfIssuer(resp)))
}

// RequireNotIntercepted fails tb at once if the certificate that resp came with
// does not lead to one of own: the authorities of the server itself. Then
// something on the way has ended TLS, and could read and change everything; it
// is also what decides on the protocol. The failure says who holds the
// certificate.
//
// own must not be nil: the system's authorities would not do, for those who
// intercept are among them.
func RequireNotIntercepted(tb testing.TB, resp *http.Response, own *x509.CertPool) {
	tb.Helper()
	leaf, why := leafOf(resp)
	switch {
	case own == nil:
		tb.Fatalf("alpn: RequireNotIntercepted: own is nil: want the authorities of the server itself, such as its ca.Authority's Pool; the system's trust who intercepts")
		return
	case why != "":
		tb.Fatalf("alpn: RequireNotIntercepted: got %s", why)
		return
	}
	if err := leadsTo(resp.TLS.PeerCertificates, own); err != nil {
		tb.Fatalf("alpn: intercepted: the certificate is issued by %q, and not by the server's own authority%s", probing.Issuer(leaf), chainReport(resp, causeOfInterception(err)))
	}
}

func leafOf(resp *http.Response) (leaf *x509.Certificate, why string) {
	switch {
	case resp == nil:
		return nil, "no response: look at the error of the request first"
	case resp.TLS == nil:
		return nil, "a response without TLS: anyone on the way can read and change it"
	case len(resp.TLS.PeerCertificates) == 0:
		return nil, "a response without a certificate: its transport filled TLS in by itself"
	}
	return resp.TLS.PeerCertificates[0], ""
}

// leadsTo looks at signatures only: a certificate that is expired, or for
// another host, is not one of another authority, and one of another is not of
// this one because its authority is expired. The error is the leaf's.
func leadsTo(chain []*x509.Certificate, own *x509.CertPool) (err error) {
	reached := chain[:1:1]
	for i := 0; i < len(reached); i++ { // it grows
		failed := issuedBy(own, reached[i])
		if failed == nil {
			return nil
		}
		err = cmp.Or(err, failed)
		for _, next := range chain {
			if !slices.Contains(reached, next) && signed(next, reached[i]) {
				reached = append(reached, next)
			}
		}
	}
	return err
}

// issuedBy is nil if one of own has signed cert, or is it: whose own dates are
// what may be invalid then.
func issuedBy(own *x509.CertPool, cert *x509.Certificate) error {
	always := *cert
	always.NotBefore, always.NotAfter = time.Time{}, time.Now().AddDate(1, 0, 0)
	_, err := always.Verify(x509.VerifyOptions{Roots: own, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) {
		return nil
	}
	return err
}

func signed(by, cert *x509.Certificate) bool {
	return by.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil
}

// chainReport is the rest of a failure, one fact a line.
func chainReport(resp *http.Response, cause string) string {
	text := ""
	if resp.Request != nil && resp.Request.URL != nil {
		text = " from " + resp.Request.URL.Redacted()
	}
	for i, cert := range resp.TLS.PeerCertificates {
		text += fmt.Sprintf("\n\tchain %d: %s, issued by %s, valid from %s to %s", i,
			subjectName(cert), probing.Issuer(cert), cert.NotBefore.Format(time.DateOnly), cert.NotAfter.Format(time.DateOnly))
	}
	return text + "\n\tlikely: " + cause
}

// subjectName is what a certificate is for.
func subjectName(cert *x509.Certificate) string {
	switch {
	case len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	case len(cert.IPAddresses) > 0:
		return cert.IPAddresses[0].String()
	case cert.Subject.CommonName != "":
		return cert.Subject.CommonName
	}
	return cert.Subject.String()
}

func causeOfIssuer(resp *http.Response) string {
	leaf := resp.TLS.PeerCertificates[0]
	if leaf.Issuer.String() == leaf.Subject.String() {
		return "the server presents a certificate that it signed itself"
	}
	return "an intercepting proxy on the way, or one that is not (the request went by another way than it was meant to), or a server with another certificate"
}

func causeOfInterception(err error) string {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return "an intercepting proxy on the way (an environment variable such as HTTPS_PROXY, the system's proxy, a security agent, a VPN); Probe tells what it does to the protocol"
	}
	return err.Error()
}
