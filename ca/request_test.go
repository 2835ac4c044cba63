package ca_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/ca"
)

func request(t *testing.T, key crypto.Signer, template *x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestSignRequest(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "not.this.test", Organization: []string{"granted to nobody"}},
		DNSNames:    []string{"A.test", "*.b.test"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, &ca.Config{Intermediates: 1})
		for _, key := range []crypto.Signer{rsaKey, p384, ed} {
			cert, err := authority.SignRequest(request(t, key, template))
			if err != nil {
				t.Fatal(err)
			}
			if cert.PrivateKey != nil {
				t.Error("has a private key, which only the requester knows")
			}
			server := cert.Certificate
			server.PrivateKey = key
			r := requireShake(t, fmt.Sprintf("%T", key), &tls.Config{Certificates: []tls.Certificate{server}}, named(authority.ClientTLS(), "a.test"))
			if got := leafOf(t, r) + cert.Leaf.Subject.String(); got != "[a.test *.b.test] [127.0.0.1] []CN=a.test" {
				t.Errorf("issued for %s", got)
			}
			if _, isRSA := key.(*rsa.PrivateKey); isRSA != (cert.Leaf.KeyUsage&x509.KeyUsageKeyEncipherment != 0) {
				t.Errorf("%T: key usage %b", key, cert.Leaf.KeyUsage)
			}
			if age := time.Since(cert.Leaf.NotBefore); age < time.Hour || age > time.Hour+time.Minute {
				t.Errorf("valid since %v", cert.Leaf.NotBefore)
			}
		}
	})
}

func TestSignRequestOfAClient(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	authority := ca.New(t, nil)
	for what, template := range map[string]*x509.CertificateRequest{
		"alternative name": {EmailAddresses: []string{"alice@example.com"}},
		"common name":      {Subject: pkix.Name{CommonName: "alice@example.com"}},
	} {
		cert, err := authority.SignRequest(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request(t, key, template)}))
		if err != nil {
			t.Fatal(err)
		}
		if leaf := cert.Leaf; len(leaf.ExtKeyUsage) != 1 || leaf.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth || leaf.EmailAddresses[0] != "alice@example.com" {
			t.Errorf("%s: usages %v, for %v", what, leaf.ExtKeyUsage, leaf.EmailAddresses)
		}
	}
}

func TestBadRequests(t *testing.T) {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	good := request(t, key, &x509.CertificateRequest{DNSNames: []string{"a.test"}})
	forged := append([]byte(nil), good...)
	forged[len(forged)-1] ^= 1
	uri, _ := url.Parse("spiffe://a.test/b")
	for _, c := range []struct {
		request []byte
		want    string // the beginning
	}{
		{nil, "asn1: "},
		{[]byte("-----BEGIN CERTIFICATE REQUEST-----\nAAAA"), "its PEM is damaged"},
		{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good}), `its PEM is a "CERTIFICATE"`},
		{forged, "its signature is not by its key: "},
		{request(t, key, &x509.CertificateRequest{}), "it names nobody: neither alternative names nor a common name"},
		{request(t, key, &x509.CertificateRequest{DNSNames: []string{"a b"}}), `identity "a b": ' ' cannot be in a host name`},
		{request(t, key, &x509.CertificateRequest{DNSNames: []string{"a.test"}, URIs: []*url.URL{uri}}), `alternative name "spiffe://a.test/b": URIs are not issued`},
	} {
		_, err := ca.New(t, nil).SignRequest(c.request)
		if want := "ca: signing request: " + c.want; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v\n want %s…", err, want)
		}
	}
	if _, err := ca.New(t, &ca.Config{Fault: "expired"}).SignRequest(good); err == nil || err.Error() != `ca: signing request: Config.Fault is "expired": for keys of others nothing is broken` {
		t.Errorf("error %v", err)
	}
}

func TestOpenSSLRequests(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	dir := t.TempDir()
	key, csr := filepath.Join(dir, "key.pem"), filepath.Join(dir, "csr.pem")
	run(t, openssl, "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", csr,
		"-subj", "/CN=ignored.test", "-addext", "subjectAltName=DNS:a.test,IP:::1")
	authority := ca.New(t, nil)
	cert, err := authority.SignRequest(read(t, csr))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tls.X509KeyPair(cert.CertPEM(), read(t, key)); err != nil {
		t.Errorf("the certificate does not fit the key: %v", err)
	}
	if got := fmt.Sprint(cert.Leaf.DNSNames, cert.Leaf.IPAddresses); got != "[a.test] [::1]" {
		t.Errorf("issued for %s", got)
	}
	if _, err := cert.KeyPEM(); err == nil {
		t.Error("KeyPEM returns a key that nobody but the requester has")
	}
	certFile, keyFile, err := cert.WriteFiles(dir)
	if err != nil || keyFile != "" {
		t.Errorf("files %q and %q, error %v", certFile, keyFile, err)
	}
	if _, err := tls.LoadX509KeyPair(certFile, key); err != nil {
		t.Errorf("the file does not fit the key: %v", err)
	}
}
