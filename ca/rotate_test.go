package ca_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/ca"
)

func rotate(t *testing.T, how func() error) {
	t.Helper()
	if err := how(); err != nil {
		t.Fatal(err)
	}
}

func TestRotateLeaves(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, nil)
		server, client := authority.MutualTLS("a.test"), named(authority.ClientTLS("alice@example.com"), "a.test")
		before := requireShake(t, "before", server, client)
		root := authority.Root()
		authority.RotateLeaves()
		after := requireShake(t, "after", server, client)
		for side, of := range map[string][2]*x509.Certificate{
			"server": {before.client.PeerCertificates[0], after.client.PeerCertificates[0]},
			"client": {before.server.PeerCertificates[0], after.server.PeerCertificates[0]},
		} {
			if bytes.Equal(of[0].RawSubjectPublicKeyInfo, of[1].RawSubjectPublicKeyInfo) {
				t.Errorf("the %s shows the same key after as before", side)
			}
		}
		if authority.Root() != root {
			t.Error("the root is another")
		}
		if again := requireShake(t, "again", server, client); !again.client.PeerCertificates[0].Equal(after.client.PeerCertificates[0]) {
			t.Error("a new leaf without a rotation")
		}
	})
}

// Of a client that asks for an address there is no SNI, and crypto/tls shows it
// what is in Certificates.
func TestRotationForClientsWithoutSNI(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, nil)
		for what, server := range map[string]*tls.Config{
			"any name": authority.ServerTLS(), "one name": authority.ServerTLS("127.0.0.1"), "mutual": authority.MutualTLS("127.0.0.1"),
		} {
			server.NextProtos = []string{"h2"}
			client := named(authority.ClientTLS("alice@example.com"), "127.0.0.1")
			client.NextProtos = []string{"h2"}
			before := requireShake(t, what, server, client)
			for range 2 {
				authority.RotateLeaves()
				after := requireShake(t, what, server, client)
				if after.client.PeerCertificates[0].Equal(before.client.PeerCertificates[0]) {
					t.Errorf("%s: the leaf is as before", what)
				}
				if after.client.NegotiatedProtocol != "h2" {
					t.Errorf("%s: no ALPN any more", what)
				}
				before = after
			}
		}
	})
}

func TestRotateRootWhileServersRun(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, &ca.Config{Intermediates: 1})
		servers := map[string]*tls.Config{
			"any name": authority.ServerTLS(), "one name": authority.ServerTLS("a.test"), "mutual": authority.MutualTLS("a.test"),
		}
		old := named(authority.ClientTLS("alice@example.com"), "a.test")
		oldRoot := authority.Root()
		rotate(t, authority.RotateRoot)
		if authority.Root().Equal(oldRoot) || authority.Root().Subject.String() != oldRoot.Subject.String() {
			t.Errorf("the new root is %v", authority.Root().Subject)
		}
		fresh := named(authority.ClientTLS("alice@example.com"), "a.test")
		for what, server := range servers {
			r := requireShake(t, what+", new client", server, fresh)
			if what == "mutual" && len(r.server.VerifiedChains) == 0 {
				t.Error("the client was not verified")
			}
			requireRefused[x509.UnknownAuthorityError](t, what+", old client", server, old)
		}
	})
}

func TestRotateRootCrossSigned(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, &ca.Config{Intermediates: 1})
		server := authority.ServerTLS()
		clients := []*tls.Config{named(authority.ClientTLS(), "a.test")}
		for range 2 {
			rotate(t, authority.RotateRootCrossSigned)
			clients = append(clients, named(authority.ClientTLS(), "a.test"))
		}
		for i, client := range clients {
			r := requireShake(t, fmt.Sprintf("client of %d rotations", i), server, client)
			// The leaf and the intermediate, a certificate for each root but the
			// last, and that.
			if got, want := len(r.client.VerifiedChains[0]), 3+len(clients)-1-i; got != want {
				t.Errorf("client of %d rotations verifies a chain of %d, want %d", i, got, want)
			}
		}
	})
}

func TestRotateWhileHandshakesGoOn(t *testing.T) {
	authority := ca.New(t, nil)
	server := authority.ServerTLS()
	client := named(authority.ClientTLS(), "a.test")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if r := shake(server, client); r.clientErr != nil {
					t.Errorf("client says %v, server says %v", r.clientErr, r.serverErr)
				}
			}
		})
		wg.Go(func() {
			for range 5 {
				authority.RotateLeaves()
				authority.Revoke(authority.Root(), ca.Unspecified)
			}
		})
	}
	wg.Go(func() {
		if err := authority.RotateRootCrossSigned(); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
}

func TestCrossSignedBy(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		one, two := ca.New(t, &ca.Config{Name: "one"}), ca.New(t, &ca.Config{Name: "two", Intermediates: 2})
		authority := ca.New(t, &ca.Config{Name: "three", Intermediates: 1, CrossSignedBy: []*ca.Authority{one, two}})
		for _, trusted := range []*ca.Authority{one, two, authority} {
			name := trusted.Root().Subject.CommonName
			r := requireShake(t, name, authority.ServerTLS("a.test"), named(trusted.ClientTLS(), "a.test"))
			chain := r.client.VerifiedChains[0]
			if got := chain[len(chain)-1].Subject.CommonName; got != name {
				t.Errorf("verified up to %s, want %s", got, name)
			}
		}
		stranger := ca.New(t, nil)
		requireRefused[x509.UnknownAuthorityError](t, "a stranger", authority.ServerTLS("a.test"), named(stranger.ClientTLS(), "a.test"))
	})
}

func TestCrossSign(t *testing.T) {
	old, young := ca.New(t, &ca.Config{Name: "old"}), ca.New(t, &ca.Config{Name: "young"})
	cross, err := old.CrossSign(young.Root())
	if err != nil {
		t.Fatal(err)
	}
	cert := young.Issue("a.test").Certificate
	cert.Certificate = append(cert.Certificate, cross.Raw)
	requireShake(t, "cross-signed", &tls.Config{Certificates: []tls.Certificate{cert}}, named(old.ClientTLS(), "a.test"))

	foreign := *young.Root()
	foreign.SubjectKeyId = []byte("by another method")
	if cross, err := old.CrossSign(&foreign); err != nil || string(cross.SubjectKeyId) != "by another method" {
		t.Errorf("error %v, key identifier %q, want the authority's own", err, cross.SubjectKeyId)
	}
	for want, authority := range map[string]*x509.Certificate{
		"ca: cross-signing: the certificate is nil, or was never parsed": nil,
		`ca: cross-signing "a.test": it is no authority`:                 young.Issue("a.test").Leaf,
	} {
		if _, err := old.CrossSign(authority); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestOpenSSLVerifiesCrossSigned(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	old := ca.New(t, &ca.Config{Name: "old", Intermediates: 1})
	authority := ca.New(t, &ca.Config{Name: "young", Intermediates: 1, CrossSignedBy: []*ca.Authority{old}})
	for _, trusted := range []*ca.Authority{old, authority} {
		strictly(t, openssl, trusted, authority.Issue("a.test"), "sslserver", time.Now())
	}
}

func TestMutualTLSDemandsACertificate(t *testing.T) {
	authority := ca.New(t, nil)
	r := shake(authority.MutualTLS(), named(authority.ClientTLS(), "a.test"))
	if r.serverErr == nil || !strings.Contains(r.serverErr.Error(), "didn't provide a certificate") {
		t.Errorf("server says %v to a client without a certificate", r.serverErr)
	}
}

// Each rotation crosses the root that the one before it made, however many come at
// once: else the trust in a root that was there for a moment would be cut off.
func TestRotateRootCrossSignedAtOnce(t *testing.T) {
	authority := ca.New(t, nil)
	const rotations = 32
	errs := make(chan error, rotations)
	for range rotations {
		go func() { errs <- authority.RotateRootCrossSigned() }() // waited for by its error
	}
	for range rotations {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if crosses := len(authority.Issue("a.test").Certificate.Certificate) - 1; crosses != rotations {
		t.Errorf("a leaf comes with %d crossed roots after %d rotations at once", crosses, rotations)
	}
}
