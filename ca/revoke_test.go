package ca_test

import (
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/ca"
)

func revoke(t *testing.T, authority *ca.Authority, cert *x509.Certificate, reason ca.Reason) {
	t.Helper()
	if err := authority.Revoke(cert, reason); err != nil {
		t.Fatal(err)
	}
}

// lists are the authority's revocation lists, by the name of who signed them.
func lists(t *testing.T, authority *ca.Authority) map[string]*x509.RevocationList {
	t.Helper()
	all, err := authority.RevocationLists()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*x509.RevocationList)
	for block, rest := pem.Decode(all); block != nil; block, rest = pem.Decode(rest) {
		list, err := x509.ParseRevocationList(block.Bytes)
		if err != nil || block.Type != "X509 CRL" {
			t.Fatalf("%s: %v", block.Type, err)
		}
		byName[list.Issuer.CommonName] = list
	}
	return byName
}

func TestRevocationLists(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, &ca.Config{Name: "N", Intermediates: 1})
		cert := authority.Issue("a.test")
		chain := verify(t, authority, cert)
		revoke(t, authority, chain[0], ca.KeyCompromise)
		revoke(t, authority, chain[0], ca.Superseded) // and the first reason stays
		revoke(t, authority, chain[1], ca.CACompromise)
		got := lists(t, authority)
		for i, reason := range []ca.Reason{ca.KeyCompromise, ca.CACompromise} {
			revoked, issuer := chain[i], chain[i+1]
			list := got[issuer.Subject.CommonName]
			if err := list.CheckSignatureFrom(issuer); err != nil {
				t.Errorf("list of %v: %v", issuer.Subject, err)
			}
			entries := list.RevokedCertificateEntries
			if len(entries) != 1 || entries[0].SerialNumber.Cmp(revoked.SerialNumber) != 0 || entries[0].ReasonCode != int(reason) {
				t.Errorf("list of %v has %v, want %x because of %d", issuer.Subject, entries, revoked.SerialNumber, reason)
			}
			if now := time.Now(); list.ThisUpdate.After(now.Add(-time.Hour)) || list.NextUpdate.Before(now.Add(6*24*time.Hour)) {
				t.Errorf("list of %v is good from %v to %v", issuer.Subject, list.ThisUpdate, list.NextUpdate)
			}
		}
		if again := lists(t, authority); again["N"].Number.Cmp(got["N"].Number) <= 0 {
			t.Errorf("the second list has number %d, the first %d", again["N"].Number, got["N"].Number)
		}
	})
}

// RFC 5280, section 5.1: a list names each certificate once.
func TestRevokingAtOnce(t *testing.T) {
	authority := ca.New(t, nil)
	for range 20 {
		leaf := authority.Issue("a.test").Leaf
		begin := make(chan struct{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				<-begin
				if err := authority.Revoke(leaf, ca.Superseded); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
	}
	if n := len(lists(t, authority)["wiretest CA"].RevokedCertificateEntries); n != 20 {
		t.Errorf("the list names %d certificates, of 20 that were revoked", n)
	}
}

func TestRevokingWhatOthersIssued(t *testing.T) {
	authority := ca.New(t, nil)
	for want, cert := range map[string]*x509.Certificate{
		"ca: revoking: the certificate is nil, or was never parsed":                            nil,
		`ca: revoking: certificate of "a.test" by "wiretest CA" is not by this authority`:      ca.New(t, nil).Issue("a.test").Leaf,
		`ca: revoking: certificate of "b.test" by "b.test" is not by this authority`:           authority.IssueBroken("self-signed", "b.test").Leaf,
		`ca: revoking: certificate of "wiretest CA" by "wiretest CA" is not by this authority`: authority.Root(),
	} {
		if err := authority.Revoke(cert, ca.Unspecified); err == nil || err.Error() != want {
			t.Errorf("error %v\n want %s", err, want)
		}
	}
}

func TestRevokingWithoutAReason(t *testing.T) {
	authority := ca.New(t, nil)
	leaf := authority.Issue("a.test").Leaf
	for _, reason := range []ca.Reason{-1, 7, 8, 10, 256} {
		want := fmt.Sprintf("ca: revoking: Reason: %d: must be one of the constants (RFC 5280, section 5.3.1)", reason)
		if err := authority.Revoke(leaf, reason); err == nil || err.Error() != want {
			t.Errorf("error %v\n want %s", err, want)
		}
	}
	if entries := lists(t, authority)["wiretest CA"].RevokedCertificateEntries; len(entries) != 0 {
		t.Errorf("the list names %v", entries)
	}
	for _, reason := range []ca.Reason{
		ca.Unspecified, ca.KeyCompromise, ca.CACompromise, ca.AffiliationChanged, ca.Superseded,
		ca.CessationOfOperation, ca.CertificateHold, ca.PrivilegeWithdrawn,
	} {
		revoke(t, authority, authority.Issue("a.test").Leaf, reason)
	}
}

// What an authority issued before a rotation it can still revoke, and its
// handler still says so.
func TestRevokingAfterARotation(t *testing.T) {
	authority := ca.New(t, nil)
	root, leaf := authority.Root(), authority.Issue("a.test").Leaf
	rotate(t, authority.RotateRoot)
	revoke(t, authority, leaf, ca.Unspecified)
	all, err := authority.RevocationLists()
	if n := strings.Count(string(all), "BEGIN X509 CRL"); n != 2 || err != nil {
		t.Errorf("%d lists of two roots, error %v", n, err)
	}
	code, _, body := ask(authority.StatusHandler(), httptest.NewRequest("GET", "/crl/"+hex.EncodeToString(root.SubjectKeyId)+".crl", nil))
	list, err := x509.ParseRevocationList([]byte(body))
	if code != http.StatusOK || err != nil || list.CheckSignatureFrom(root) != nil || len(list.RevokedCertificateEntries) != 1 {
		t.Errorf("status %d, error %v, list %v", code, err, list)
	}
}

func ask(h http.Handler, r *http.Request) (code int, contentType, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header().Get("Content-Type"), w.Body.String()
}

func TestStatusURL(t *testing.T) {
	authority := ca.New(t, &ca.Config{Intermediates: 1, StatusURL: "http://ca.test/pki"})
	h := http.StripPrefix("/pki", authority.StatusHandler())
	chain := verify(t, authority, authority.Issue("a.test"))
	for i, cert := range chain[:2] {
		issuer := chain[i+1]
		if len(cert.OCSPServer) != 1 || cert.OCSPServer[0] != "http://ca.test/pki/ocsp" {
			t.Errorf("%v: OCSP at %v", cert.Subject, cert.OCSPServer)
		}
		code, kind, body := ask(h, httptest.NewRequest("GET", cert.CRLDistributionPoints[0], nil))
		list, err := x509.ParseRevocationList([]byte(body))
		if code != http.StatusOK || kind != "application/pkix-crl" || err != nil || list.CheckSignatureFrom(issuer) != nil {
			t.Errorf("%v: list by %d, %s, %v", cert.Subject, code, kind, err)
		}
		code, kind, body = ask(h, httptest.NewRequest("GET", cert.IssuingCertificateURL[0], nil))
		if code != http.StatusOK || kind != "application/pkix-cert" || body != string(issuer.Raw) {
			t.Errorf("%v: issuer by %d, %s", cert.Subject, code, kind)
		}
	}
	if root := chain[2]; len(root.OCSPServer)+len(root.CRLDistributionPoints) != 0 {
		t.Error("the root says where to ask whether it is revoked")
	}
}

func TestStatusHandlerRefuses(t *testing.T) {
	h := ca.New(t, nil).StatusHandler()
	for _, c := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/", 404, "404 page not found\n"},
		{"GET", "/crl/00.crl", 404, "ca: no such authority\n"},
		{"GET", "/crl/x.crl", 404, "ca: no such authority\n"},
		{"GET", "/ca/00.crl", 404, "ca: no such authority\n"},
		{"POST", "/crl/00.crl", 405, "Method Not Allowed\n"},
		{"PUT", "/ocsp", 405, "ca: OCSP goes by GET and by POST\n"},
		{"GET", "/ocsp/!", 400, "ca: OCSP request: illegal base64 data at input byte 0\n"},
		{"GET", "/ocsp", 200, "0\x03\x0a\x01\x01"}, // malformedRequest
		{"GET", "/ocsp/AAAA", 200, "0\x03\x0a\x01\x01"},
		{"POST", "/ocsp", 200, "0\x03\x0a\x01\x01"},
	} {
		if code, _, body := ask(h, httptest.NewRequest(c.method, c.path, nil)); code != c.code || body != c.body {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, code, body, c.code, c.body)
		}
	}
}

func TestBadStatusURL(t *testing.T) {
	for url, want := range map[string]string{
		"ca.test":            "must be a URL of scheme http or https with a host",
		"ldap://ca.test":     "must be a URL of scheme http or https with a host",
		"http://":            "must be a URL of scheme http or https with a host",
		"http://ca.test/":    "must end after the host or a path, without a slash",
		"http://ca.test?a=b": "must end after the host or a path, without a slash",
		"http://ü.test":      "must be ASCII",
	} {
		want := `ca: Config.StatusURL: "` + url + `": ` + want
		if _, err := ca.Generate(&ca.Config{StatusURL: url}); err == nil || err.Error() != want {
			t.Errorf("error %v\n want %s", err, want)
		}
	}
	if _, err := ca.Generate(&ca.Config{CrossSignedBy: []*ca.Authority{nil}}); err == nil || err.Error() != "ca: Config.CrossSignedBy[0]: is nil" {
		t.Errorf("error %v", err)
	}
}

func TestStaple(t *testing.T) {
	authority := ca.New(t, nil)
	cert := authority.Issue("a.test")
	if err := authority.Staple(cert); err != nil {
		t.Fatal(err)
	}
	server := authority.ServerTLS()
	server.Certificates, server.GetCertificate = append(server.Certificates, cert.Certificate), nil
	r := requireShake(t, "stapled", server, named(authority.ClientTLS(), "a.test"))
	if got := r.client.OCSPResponse; len(got) == 0 || string(got) != string(cert.OCSPStaple) {
		t.Errorf("the client was shown %x", got)
	}
	for want, c := range map[string]*ca.Certificate{
		"ca: Certificate: it is empty": {},
		`ca: OCSP response: certificate of "b.test" by "wiretest CA" is not by this authority`: ca.New(t, nil).Issue("b.test"),
	} {
		if err := authority.Staple(c); err == nil || err.Error() != want {
			t.Errorf("error %v\n want %s", err, want)
		}
	}
}

// openssl asks by GET and by POST, with nonces, naming issuers by any hash.
func TestOpenSSLAsksTheStatusHandler(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	authority := ca.New(t, &ca.Config{Intermediates: 1})
	h := authority.StatusHandler()
	var methods []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	dir := t.TempDir()
	root, err := authority.WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	good, bad := authority.Issue("good.test"), authority.Issue("bad.test")
	revoke(t, authority, bad.Leaf, ca.CertificateHold)
	files := make(map[string]string)
	for name, cert := range map[string]*ca.Certificate{"good": good, "bad": bad} {
		if files[name], _, err = cert.WriteFiles(dir); err != nil {
			t.Fatal(err)
		}
	}
	issuer := filepath.Join(dir, "issuer.pem")
	pemOf := good.CertPEM()
	write(t, issuer, pemOf[strings.LastIndex(string(pemOf), "-----BEGIN"):])
	for _, hash := range []string{"-sha1", "-sha256", "-sha384", "-sha512"} {
		out := run(t, openssl, "ocsp", "-url", srv.URL+"/ocsp", "-CAfile", root, "-issuer", issuer, hash, "-cert", files["good"], hash, "-cert", files["bad"])
		for _, want := range []string{files["good"] + ": good", files["bad"] + ": revoked", "Reason: certificateHold"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: openssl says\n%s\nwithout %q", hash, out, want)
			}
		}
	}
	request := filepath.Join(dir, "request.der")
	run(t, openssl, "ocsp", "-issuer", issuer, "-cert", files["bad"], "-reqout", request)
	response := filepath.Join(dir, "response.der")
	code, _, body := ask(h, httptest.NewRequest("GET", "/ocsp/"+base64OfFile(t, request), nil))
	write(t, response, []byte(body))
	out := run(t, openssl, "ocsp", "-no_nonce", "-respin", response, "-reqin", request, "-CAfile", root, "-issuer", issuer, "-cert", files["bad"])
	if code != http.StatusOK || !strings.Contains(out, ": revoked") {
		t.Errorf("by GET: status %d, openssl says\n%s", code, out)
	}
	if len(methods) != 4 {
		t.Errorf("asked by %v", methods)
	}
}

func TestStatusIsByTheClockThatIsAsked(t *testing.T) {
	authority := ca.New(t, nil)
	cert := authority.Issue("a.test")
	revoke(t, authority, cert.Leaf, ca.Unspecified)
	synctest.Test(t, func(t *testing.T) {
		if year := lists(t, authority)["wiretest CA"].NextUpdate.Year(); year != 2000 {
			t.Errorf("a list in a bubble is good until %d", year)
		}
	})
}
