package ca_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"example.com/wiretest/ca"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

// A server and a client that verifies it. In a test, ca.New(t, nil) takes the
// place of Generate.
func Example() {
	authority, err := ca.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(hello)
	srv.TLS = authority.ServerTLS("www.example.com", "127.0.0.1")
	srv.StartTLS()
	defer srv.Close()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: authority.ClientTLS()}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(srv.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	leaf := resp.TLS.PeerCertificates[0]
	fmt.Println(leaf.DNSNames, leaf.IPAddresses, "by", leaf.Issuer.CommonName)
	// Output: [www.example.com] [127.0.0.1] by wiretest CA
}

// Without identities a server has a certificate for whatever it is asked, as
// an intercepting proxy does.
func ExampleAuthority_ServerTLS() {
	authority, err := ca.Generate(&ca.Config{Name: "example CA", Intermediates: 1})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", authority.ServerTLS())
	if err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{Handler: hello}
	go srv.Serve(listener) // ends with srv.Close
	defer srv.Close()

	for _, name := range []string{"a.example", "b.example"} {
		cfg := authority.ClientTLS()
		cfg.ServerName = name
		conn, err := tls.Dial("tcp", listener.Addr().String(), cfg)
		if err != nil {
			log.Fatal(err)
		}
		leaf := conn.ConnectionState().PeerCertificates[0]
		fmt.Println(leaf.DNSNames, "by", leaf.Issuer.CommonName)
		conn.Close()
	}
	// Output:
	// [a.example] by example CA intermediate 1
	// [b.example] by example CA intermediate 1
}

// A client that is known to the server by an e-mail address.
func ExampleAuthority_MutualTLS() {
	authority, err := ca.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello, ", r.TLS.PeerCertificates[0].EmailAddresses[0])
	}))
	srv.TLS = authority.MutualTLS("127.0.0.1")
	srv.StartTLS()
	defer srv.Close()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: authority.ClientTLS("alice@example.com")}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(srv.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(string(body))
	// Output: hello, alice@example.com
}

// What does a client say to an expired certificate?
func ExampleExpired() {
	authority, err := ca.Generate(&ca.Config{Leaf: ca.Expired})
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(hello)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = authority.ServerTLS("127.0.0.1")
	srv.StartTLS()
	defer srv.Close()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: authority.ClientTLS()}}
	_, err = client.Get(srv.URL)
	var invalid x509.CertificateInvalidError
	fmt.Println(errors.As(err, &invalid) && invalid.Reason == x509.Expired)
	// Output: true
}

// What does a client say to each broken certificate?
func ExampleAuthority_IssueBroken() {
	authority, err := ca.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, fault := range []ca.Fault{"expired", "self-signed", "incomplete-chain"} { // or ca.Faults()
		cert := authority.IssueBroken(fault, "127.0.0.1")
		srv := httptest.NewUnstartedServer(hello)
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert.Certificate}}
		srv.StartTLS()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: authority.ClientTLS()}}
		_, err := client.Get(srv.URL)
		var invalid x509.CertificateInvalidError
		var unknown x509.UnknownAuthorityError
		fmt.Printf("%s: invalid %t, unknown %t\n", fault, errors.As(err, &invalid), errors.As(err, &unknown))
		srv.Close()
	}
	// Output:
	// expired: invalid true, unknown false
	// self-signed: invalid false, unknown true
	// incomplete-chain: invalid false, unknown true
}

// A new root while a server runs: who trusts the old one goes on, as long as
// that has signed the new.
func ExampleAuthority_RotateRootCrossSigned() {
	authority, err := ca.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(hello)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = authority.ServerTLS("127.0.0.1")
	srv.StartTLS()
	defer srv.Close()

	old := authority.ClientTLS()
	get := func(trust *tls.Config) string {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
		defer client.CloseIdleConnections()
		resp, err := client.Get(srv.URL)
		if err != nil {
			return "refused"
		}
		resp.Body.Close()
		return resp.Status
	}
	if err := authority.RotateRootCrossSigned(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("crossed:", get(old), "and", get(authority.ClientTLS()))
	if err := authority.RotateRoot(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("not crossed:", get(old), "and", get(authority.ClientTLS()))
	// Output:
	// crossed: 200 OK and 200 OK
	// not crossed: refused and 200 OK
}

// A certificate for a key that its owner keeps, as a server has it that makes its
// own requests.
func ExampleAuthority_SignRequest() {
	authority, err := ca.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{"www.example.com"}}, key)
	if err != nil {
		log.Fatal(err)
	}
	cert, err := authority.SignRequest(request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cert.Leaf.DNSNames, key.PublicKey.Equal(cert.Leaf.PublicKey))
	// Output: [www.example.com] true
}

// A client that asks whether certificates are revoked needs somebody to ask.
func ExampleAuthority_StatusHandler() {
	status := httptest.NewUnstartedServer(nil)
	authority, err := ca.Generate(&ca.Config{StatusURL: "http://" + status.Listener.Addr().String()})
	if err != nil {
		log.Fatal(err)
	}
	status.Config.Handler = authority.StatusHandler()
	status.Start()
	defer status.Close()

	cert := authority.Issue("www.example.com")
	if err := authority.Revoke(cert.Leaf, ca.KeyCompromise); err != nil {
		log.Fatal(err)
	}
	resp, err := http.Get(cert.Leaf.CRLDistributionPoints[0])
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	der, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		log.Fatal(err)
	}
	entry := list.RevokedCertificateEntries[0]
	fmt.Println(entry.SerialNumber.Cmp(cert.Leaf.SerialNumber) == 0, entry.ReasonCode)
	// Output: true 1
}

// Who would refuse this certificate, if its authority were trusted?
func ExampleLint() {
	authority, err := ca.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ca.Lint(authority.Issue("www.example.com").Leaf))
	fmt.Println(ca.Lint(authority.IssueBroken("over-825-days", "www.example.com").Leaf))
	// Output:
	// []
	// [Apple refuses it: valid for more than 825 days]
}
