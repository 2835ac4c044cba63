package ca

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// Authority issues certificates. All of its methods may be called from several
// goroutines at once, inside and outside of synctest bubbles.
type Authority struct {
	cfg     Config // its own copy
	fail    failer
	current atomic.Pointer[hierarchy]
	leaves  cache
	revoked register
	rsaKey  func() (*rsa.PrivateKey, error) // for what ECDSA cannot do; made when it is first wanted
}

// failer is the part of testing.TB that reports a bad identity.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// panics is the failer of an Authority that belongs to no test.
type panics struct{}

func (panics) Helper()                           {}
func (panics) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// New returns an Authority for one test, and fails tb if cfg is mistaken. A
// nil cfg is the zero Config. There is nothing to close.
func New(tb testing.TB, cfg *Config) *Authority {
	tb.Helper()
	a, err := generate(cfg, tb)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// Generate is [New] without a test. Where New's Authority fails its test,
// this one panics with the error.
func Generate(cfg *Config) (*Authority, error) { return generate(cfg, panics{}) }

func generate(cfg *Config, fail failer) (*Authority, error) {
	a := &Authority{fail: fail}
	if cfg != nil {
		a.cfg = *cfg
	}
	if err := a.cfg.validate(); err != nil {
		return nil, err
	}
	h, err := newHierarchy(&a.cfg)
	if err != nil {
		return nil, err
	}
	for _, other := range a.cfg.CrossSignedBy {
		if err := h.crossSignBy(other.hierarchy()); err != nil {
			return nil, err
		}
	}
	a.revoked.know(h.authorities)
	a.current.Store(h)
	a.rsaKey = sync.OnceValues(newRSAKey)
	return a, nil
}

// Issue returns a new certificate for identities, each of which is a host name
// (also "*.example.com", also an internationalized one, which is converted to
// its A-label form), an IP address or an e-mail address. Without any it is for
// localhost, 127.0.0.1 and ::1. If all are e-mail addresses it is a client's
// certificate, else a server's: it has that one extended key usage alone.
//
// It is valid from an hour ago for 30 days. A bad identity fails the test that
// the Authority was made for, so call Issue from that test's goroutine; an
// Authority made by Generate panics.
func (a *Authority) Issue(identities ...string) *Certificate {
	a.fail.Helper()
	return a.issue(anyUsage, a.cfg.Fault, identities)
}

// IssueClient is [Authority.Issue] for a client's certificate, whatever its
// identities.
func (a *Authority) IssueClient(identities ...string) *Certificate {
	a.fail.Helper()
	return a.issue(x509.ExtKeyUsageClientAuth, a.cfg.Fault, identities)
}

func (a *Authority) issue(usage x509.ExtKeyUsage, fault Fault, identities []string) *Certificate {
	a.fail.Helper()
	s, err := parseSubject(usage, identities)
	if err != nil {
		a.fail.Fatalf("ca: %v", err)
	}
	m, err := a.mint(s, fault)
	if err != nil {
		a.fail.Fatalf("%v", err)
	}
	return &Certificate{*m.cert}
}

// Leaf is what [Authority.Issue] returns, from a cache, and it returns an
// error where Issue fails the test. A leaf leaves the cache when a new one
// would differ: when it is no longer valid by the clock of whoever asks, or
// not yet. Treat it as read-only, for it is shared.
func (a *Authority) Leaf(identities ...string) (*tls.Certificate, error) {
	s, err := a.leaves.find(anyUsage, identities)
	if err != nil {
		return nil, err
	}
	return s.leaf(a)
}

// Root is the root's certificate, since RotateRoot that of the new one. Treat it
// as read-only.
func (a *Authority) Root() *x509.Certificate { return a.hierarchy().root().cert }

// Pool returns a new pool that holds Root alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Root())
	return pool
}

// PEM is the root's certificate in PEM, as curl's --cacert reads it.
func (a *Authority) PEM() []byte { return certificatePEM(a.Root().Raw) }

func certificatePEM(ders ...[]byte) (all []byte) {
	for _, der := range ders {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return all
}
