package ca_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/ca"
)

func TestFaultsHaveNamesAndMeanings(t *testing.T) {
	faults := ca.Faults()
	for i, fault := range faults {
		if slices.Index(faults, fault) != i {
			t.Errorf("%s is there twice", fault)
		}
		if fault.Meaning() == "" || strings.ContainsAny(string(fault)+fault.Meaning(), "|\n") {
			t.Errorf("%s means %q, which does not fit a table", fault, fault.Meaning())
		}
	}
	if got := ca.Fault("expird").Meaning(); got != "" {
		t.Errorf("an unknown fault means %q", got)
	}
}

func TestUnknownFault(t *testing.T) {
	const want = `"expird": there is none of that name, but expired, not-yet-valid, `
	tb := fails(t, func(tb testing.TB) { ca.New(tb, nil).IssueBroken("expird", "a.test") })
	if !strings.HasPrefix(tb.message, "ca: IssueBroken: fault "+want) {
		t.Errorf("IssueBroken says %q", tb.message)
	}
	if _, err := ca.Generate(&ca.Config{Fault: "expird"}); err == nil || !strings.HasPrefix(err.Error(), "ca: Config.Fault: "+want) {
		t.Errorf("Generate says %v", err)
	}
}

func TestFaultsThatIdentitiesDoNotAllow(t *testing.T) {
	for _, c := range []struct {
		fault    ca.Fault
		identity string
		want     string
	}{
		{"ip-as-dns-name", "a.test", "needs an IP address among the identities"},
		{"wildcard-of-tld", "127.0.0.1", "needs a host name among the identities"},
		{"wildcard-in-label", "origin", `needs a host name of two labels or more without a wildcard, not "origin"`},
		{"wildcard-not-first", "*.a.test", `needs a host name of two labels or more without a wildcard, not "*.a.test"`},
	} {
		want := `ca: leaf for ` + c.identity + `: fault "` + string(c.fault) + `": ` + c.want
		tb := fails(t, func(tb testing.TB) { ca.New(tb, nil).IssueBroken(c.fault, c.identity) })
		if tb.message != want {
			t.Errorf("IssueBroken says %q\n         want %q", tb.message, want)
		}
		if _, err := ca.New(t, &ca.Config{Fault: c.fault}).Leaf(c.identity); err == nil || err.Error() != want {
			t.Errorf("Leaf says %v\n    want %s", err, want)
		}
	}
}

// An authority with a fault breaks what it is asked for by SNI, in both worlds,
// and mints it once.
func TestFaultOfAnAuthority(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		minted := 0
		authority := ca.New(t, &ca.Config{Fault: "self-signed", Leaf: func(c *x509.Certificate) {
			minted++
			c.Subject.Organization = []string{"seen"}
		}})
		for range 2 {
			e := requireRefused[x509.UnknownAuthorityError](t, "self-signed", authority.ServerTLS(), named(authority.ClientTLS(), "a.test"))
			if e.Cert.Subject.String() != e.Cert.Issuer.String() || e.Cert.Subject.Organization[0] != "seen" {
				t.Errorf("shown is %v by %v", e.Cert.Subject, e.Cert.Issuer)
			}
		}
		if minted != 1 {
			t.Errorf("%d minted, want 1", minted)
		}
	})
}

func TestLeafWith(t *testing.T) {
	authority := ca.New(t, &ca.Config{Fault: "expired", Leaf: func(c *x509.Certificate) { c.Subject.Organization = []string{"first"} }})
	edit := func(c *x509.Certificate) { c.Subject.Organization[0] += " then" }
	for _, c := range []struct {
		fault ca.Fault
		edit  func(*x509.Certificate)
		want  string
	}{
		{"", nil, "[first] by wiretest CA, valid false"},
		{"", edit, "[first then] by wiretest CA, valid false"},
		{"self-signed", nil, "[first] by a.test, valid true"},
		{"self-signed", edit, "[first then] by a.test, valid true"},
	} {
		cert, err := authority.LeafWith(c.fault, c.edit, "a.test")
		if err != nil {
			t.Fatal(err)
		}
		leaf := cert.Leaf
		got := fmt.Sprintf("%v by %s, valid %t", leaf.Subject.Organization, leaf.Issuer.CommonName, time.Now().Before(leaf.NotAfter))
		if got != c.want {
			t.Errorf("fault %q: %s, want %s", c.fault, got, c.want)
		}
	}
	if _, err := authority.LeafWith("", nil, "a b"); err == nil || err.Error() != `ca: identity "a b": ' ' cannot be in a host name` {
		t.Errorf("error %v", err)
	}
	if _, err := authority.LeafWith("expird", nil, "a.test"); err == nil || !strings.HasPrefix(err.Error(), `ca: leaf for a.test: fault "expird": `) {
		t.Errorf("error %v", err)
	}
}

func TestWrongUsageOfAClient(t *testing.T) {
	authority := ca.New(t, nil)
	for fault, refused := range map[ca.Fault]bool{"server-only": true, "client-only": false, "other-usage": true, "no-usage": false} {
		client := named(authority.ClientTLS(), "a.test")
		client.Certificates = []tls.Certificate{authority.IssueBroken(fault, "alice@example.com").Certificate}
		r := shake(authority.MutualTLS("a.test"), client)
		if got := r.serverErr != nil; got != refused {
			t.Errorf("%s: server says %v, want refused %t", fault, r.serverErr, refused)
		}
		if refused && !strings.Contains(r.serverErr.Error(), "incompatible key usage") {
			t.Errorf("%s: server says %v, want the usage", fault, r.serverErr)
		}
	}
}

func TestDuplicateSerials(t *testing.T) {
	authority := ca.New(t, nil)
	one, two := authority.IssueBroken("duplicate-serial", "a.test").Leaf, authority.IssueBroken("duplicate-serial", "b.test").Leaf
	if one.SerialNumber.Cmp(two.SerialNumber) != 0 || one.Equal(two) {
		t.Errorf("serial numbers %x and %x, want the same in two certificates", one.SerialNumber, two.SerialNumber)
	}
}

// What is broken is the one thing: the window of a leaf with another fault is
// that of a good one, by the clock of whoever asks.
func TestFaultsGoByTheClockThatIssues(t *testing.T) {
	authority := ca.New(t, nil)
	check := func(t *testing.T) {
		for _, fault := range []ca.Fault{"expired", "expired-intermediate", "md5", "revoked-stapled"} {
			leaf := authority.IssueBroken(fault, "a.test").Leaf
			if valid := time.Now().Before(leaf.NotAfter) && time.Now().After(leaf.NotBefore); valid == (fault == "expired") {
				t.Errorf("%s is valid from %v to %v, now is %v", fault, leaf.NotBefore, leaf.NotAfter, time.Now())
			}
		}
	}
	t.Run("now", check)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, check) })
	t.Run("now again", check)
}
