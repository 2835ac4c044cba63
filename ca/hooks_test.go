package ca_test

import (
	"crypto/x509"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/ca"
)

func TestExpiredAndNotYetValid(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		for what, edit := range map[string]func(*x509.Certificate){"expired": ca.Expired, "not yet valid": ca.NotYetValid} {
			authority := ca.New(t, &ca.Config{Leaf: edit})
			e := requireRefused[x509.CertificateInvalidError](t, what, authority.ServerTLS(), named(authority.ClientTLS(), "a.test"))
			if e.Reason != x509.Expired || !strings.Contains(e.Detail, map[string]string{"expired": "is after", "not yet valid": "is before"}[what]) {
				t.Errorf("%s: refused because %v", what, e)
			}
		}
	})
}

func TestWrongHost(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, &ca.Config{Leaf: ca.WrongHost})
		e := requireRefused[x509.HostnameError](t, "wrong host", authority.ServerTLS("a.test", "127.0.0.1", "x@a.test"), named(authority.ClientTLS(), "a.test"))
		leaf := e.Certificate
		if len(leaf.DNSNames) != 1 || leaf.DNSNames[0] != "wrong-host.invalid" || len(leaf.IPAddresses)+len(leaf.EmailAddresses) != 0 {
			t.Errorf("certificate is for %v %v %v", leaf.DNSNames, leaf.IPAddresses, leaf.EmailAddresses)
		}
	})
}

func TestLeafEditsTheTemplate(t *testing.T) {
	authority := ca.New(t, &ca.Config{Leaf: func(template *x509.Certificate) {
		template.Subject.Organization = []string{template.DNSNames[0]}
		template.SignatureAlgorithm = x509.ECDSAWithSHA384
		template.DNSNames = append(template.DNSNames, "added.test")
	}})
	r := requireShake(t, "edited", authority.ServerTLS("a.test"), named(authority.ClientTLS(), "added.test"))
	leaf := r.client.PeerCertificates[0]
	if leaf.Subject.Organization[0] != "a.test" || leaf.SignatureAlgorithm != x509.ECDSAWithSHA384 {
		t.Errorf("edits are lost: %v, %v", leaf.Subject, leaf.SignatureAlgorithm)
	}
	if authority.Root().Subject.Organization != nil {
		t.Error("the root was edited")
	}
}

func TestLeafThatCannotBeSigned(t *testing.T) {
	authority := ca.New(t, &ca.Config{Leaf: func(template *x509.Certificate) {
		template.SignatureAlgorithm = x509.SHA256WithRSA
	}})
	_, err := authority.Leaf("a.test", "127.0.0.1")
	if err == nil || !strings.HasPrefix(err.Error(), "ca: leaf for a.test, 127.0.0.1: x509: ") {
		t.Errorf("error %v", err)
	}
}

func TestHooksGoByTheClockThatIssues(t *testing.T) {
	authority := ca.New(t, &ca.Config{Leaf: ca.Expired})
	expiredFor := func(t *testing.T) {
		leaf, err := authority.Leaf("a.test")
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(leaf.Leaf.NotAfter); age < time.Hour || age > time.Hour+10*time.Minute {
			t.Errorf("expired %v ago, want an hour", age)
		}
	}
	t.Run("now", expiredFor)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, expiredFor) })
	t.Run("now again", expiredFor)
}
