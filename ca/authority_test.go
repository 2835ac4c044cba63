package ca_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/ca"
)

func TestMistakenConfig(t *testing.T) {
	for want, cfg := range map[string]ca.Config{
		"ca: Config.Intermediates: -1: must be from 0 to 50": {Intermediates: -1},
		"ca: Config.Intermediates: 51: must be from 0 to 50": {Intermediates: 51},
		`ca: Config.Name: "\xff": must be UTF-8`:             {Name: "\xff"},
		`ca: Config.Name: "` + strings.Repeat("é", 65) + `": makes a common name of 65 characters, the limit is 64`: {
			Name: strings.Repeat("é", 65)},
		`ca: Config.Name: "` + strings.Repeat("n", 50) + `": makes a common name of 65 characters, the limit is 64`: {
			Name: strings.Repeat("n", 50), Intermediates: 1},
	} {
		if _, err := ca.Generate(&cfg); err == nil || err.Error() != want {
			t.Errorf("error %v\n want %s", err, want)
		}
		tb := fails(t, func(tb testing.TB) { ca.New(tb, &cfg) })
		if tb.message != want {
			t.Errorf("New says %q\n    want %q", tb.message, want)
		}
	}
}

func TestConfigIsNotModified(t *testing.T) {
	cfg := ca.Config{Intermediates: 1}
	ca.New(t, &cfg).Issue("a.test")
	if !reflect.DeepEqual(cfg, ca.Config{Intermediates: 1}) {
		t.Errorf("Config is now %+v", cfg)
	}
}

func TestChain(t *testing.T) {
	for _, c := range []struct {
		cfg     *ca.Config
		names   []string // from the leaf's issuer up to the root
		lengths []int    // -1 is no limit
	}{
		{nil, []string{"wiretest CA"}, []int{-1}},
		{&ca.Config{Name: "Ä"}, []string{"Ä"}, []int{-1}},
		{&ca.Config{Name: "N", Intermediates: 3},
			[]string{"N intermediate 3", "N intermediate 2", "N intermediate 1", "N"}, []int{0, 1, 2, -1}},
	} {
		authority := ca.New(t, c.cfg)
		cert := authority.Issue("a.test")
		if got := len(cert.Certificate.Certificate); got != len(c.names) {
			t.Fatalf("%v: %d certificates presented, want %d: the leaf and the intermediates", c.names, got, len(c.names))
		}
		chain := verify(t, authority, cert)
		for i, issuer := range chain[1:] {
			below := chain[i]
			if issuer.Subject.CommonName != c.names[i] || below.Issuer.CommonName != c.names[i] {
				t.Errorf("issuer %d is %q, called %q; want %q", i, issuer.Subject.CommonName, below.Issuer.CommonName, c.names[i])
			}
			if issuer.MaxPathLen != c.lengths[i] || !issuer.IsCA {
				t.Errorf("%q: path length %d, want %d", c.names[i], issuer.MaxPathLen, c.lengths[i])
			}
			// The order matters to clients that do not search (RFC 8446,
			// section 4.4.2).
			if string(cert.Certificate.Certificate[i]) != string(below.Raw) {
				t.Errorf("certificate %d presented is not that of %q", i, below.Subject.CommonName)
			}
			if string(below.AuthorityKeyId) != string(issuer.SubjectKeyId) || len(issuer.SubjectKeyId) != 20 {
				t.Errorf("%q: key identifier %x, in what it signed %x", c.names[i], issuer.SubjectKeyId, below.AuthorityKeyId)
			}
		}
		if len(chain[0].SubjectKeyId) != 20 {
			t.Errorf("leaf has key identifier %x", chain[0].SubjectKeyId)
		}
	}
}

// verify returns the one chain from the leaf to the root.
func verify(t *testing.T, authority *ca.Authority, cert *ca.Certificate) []*x509.Certificate {
	t.Helper()
	between := x509.NewCertPool()
	for _, der := range cert.Certificate.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		between.AddCert(c)
	}
	chains, err := cert.Leaf.Verify(x509.VerifyOptions{Roots: authority.Pool(), Intermediates: between})
	if err != nil {
		t.Fatal(err)
	}
	if len(chains) != 1 {
		t.Fatalf("%d chains, want 1", len(chains))
	}
	return chains[0]
}

func TestDeepestChain(t *testing.T) {
	authority := ca.New(t, &ca.Config{Intermediates: 50})
	requireShake(t, "50 intermediates", authority.ServerTLS(), named(authority.ClientTLS(), "a.test"))
}

func TestWindows(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, &ca.Config{Intermediates: 1})
		chain := verify(t, authority, authority.Issue("a.test"))
		for _, c := range chain[1:] {
			if c.NotBefore.Year() != 1999 || c.NotAfter.Year() != 2099 {
				t.Errorf("%q is valid from %v to %v", c.Subject.CommonName, c.NotBefore, c.NotAfter)
			}
		}
		leaf := chain[0]
		if age := time.Since(leaf.NotBefore); age < time.Hour || age > time.Hour+10*time.Minute {
			t.Errorf("leaf is valid since %v, want an hour", age)
		}
		if got := leaf.NotAfter.Sub(leaf.NotBefore); got != 30*24*time.Hour {
			t.Errorf("leaf is valid for %v, want 30 days", got)
		}
	})
}

func TestPoolIsTheCallersOwn(t *testing.T) {
	authority, other := ca.New(t, nil), ca.New(t, nil)
	authority.Pool().AddCert(other.Root())
	if want := x509.NewCertPool(); authority.Pool().Equal(want) {
		t.Error("pool is empty")
	}
	requireRefused[x509.UnknownAuthorityError](t, "after a caller added a root to its pool",
		other.ServerTLS("a.test"), named(authority.ClientTLS(), "a.test"))
}

func TestPEM(t *testing.T) {
	authority := ca.New(t, &ca.Config{Intermediates: 1})
	block, rest := pem.Decode(authority.PEM())
	if block == nil || len(rest) != 0 || block.Type != "CERTIFICATE" {
		t.Fatalf("not one certificate:\n%s", authority.PEM())
	}
	if root, err := x509.ParseCertificate(block.Bytes); err != nil || !root.Equal(authority.Root()) {
		t.Errorf("not the root: %v, %v", root, err)
	}
}

// uses are the calls that take identities and return no error.
var uses = map[string]func(*ca.Authority, ...string){
	"Issue":       func(a *ca.Authority, ids ...string) { a.Issue(ids...) },
	"IssueClient": func(a *ca.Authority, ids ...string) { a.IssueClient(ids...) },
	"ServerTLS":   func(a *ca.Authority, ids ...string) { a.ServerTLS(ids...) },
	"ClientTLS":   func(a *ca.Authority, ids ...string) { a.ClientTLS(ids...) },
}

func TestBadIdentityFailsTheTest(t *testing.T) {
	const want = `ca: identity "a b": ' ' cannot be in a host name`
	for name, use := range uses {
		tb := fails(t, func(tb testing.TB) { use(ca.New(tb, nil), "a.test", "a b") })
		if tb.message != want {
			t.Errorf("%s says %q, want %q", name, tb.message, want)
		}
		if !strings.Contains(fmt.Sprint(tb.helpers), "."+name) {
			t.Errorf("%s is no helper: a failure would point into this package; helpers are %v", name, tb.helpers)
		}
	}
}

func TestBadIdentityPanicsWithoutATest(t *testing.T) {
	authority, err := ca.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, use := range uses {
		func() {
			defer func() {
				const want = `ca: identity "a b": ' ' cannot be in a host name`
				if err, _ := recover().(error); err == nil || err.Error() != want {
					t.Errorf("%s panics with %v, want the error %q", name, err, want)
				}
			}()
			use(authority, "a b")
		}()
	}
}

// failing is a test that is failed by what it runs.
type failing struct {
	testing.TB
	message string
	helpers []string
}

func fails(t *testing.T, run func(testing.TB)) *failing {
	t.Helper()
	tb := &failing{TB: t}
	done := make(chan struct{})
	go func() { // ends by Goexit or at once; waited for below
		defer close(done)
		run(tb)
	}()
	<-done
	return tb
}

func (f *failing) Helper() {
	pc, _, _, _ := runtime.Caller(1)
	f.helpers = append(f.helpers, runtime.FuncForPC(pc).Name())
}

func (f *failing) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *failing) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }
