package ca

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"testing"
	"time"
)

// Authority issues certificates. All of its methods may be called from several
// goroutines at once, inside and outside of synctest bubbles.
type Authority struct {
	root   *x509.Certificate
	issuer signingCA
	chain  [][]byte // the intermediates as they follow a leaf: the issuing one first
	edit   func(*x509.Certificate)
	leaves cache
	fail   failer
}

// signingCA is a parsed certificate with its key. Parsed, because what it
// signs takes the issuer's name and key identifier from it byte by byte.
type signingCA struct {
	cert *x509.Certificate
	key  *signer
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
	if cfg == nil {
		cfg = new(Config)
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	a := &Authority{edit: cfg.Leaf, fail: fail}
	for i := range cfg.Intermediates + 1 {
		below := cfg.Intermediates - i
		if err := a.extend(cfg.nameOf(i), below); err != nil {
			return nil, fmt.Errorf("ca: certificate of %q: %w", cfg.nameOf(i), err)
		}
	}
	return a, nil
}

// extend makes a new issuer, signed by the one so far or, if there is none, by
// itself. below is how many authorities may follow it.
func (a *Authority) extend(name string, below int) error {
	key, err := newSigner()
	if err != nil {
		return err
	}
	template := caTemplate(name, below)
	parent := signingCA{template, key}
	if a.root != nil {
		parent = a.issuer
	}
	cert, err := parent.sign(template, key)
	if err != nil {
		return err
	}
	a.issuer = signingCA{cert, key}
	if a.root == nil {
		a.root = cert
		return nil
	}
	a.chain = append([][]byte{cert.Raw}, a.chain...)
	return nil
}

// caTemplate is valid from before synctest's year 2000 until after any
// test. Its dates are not relative to now, because now may be either.
func caTemplate(name string, below int) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Date(1999, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2099, time.December, 31, 23, 59, 59, 0, time.UTC),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLen:            below,
		MaxPathLenZero:        below == 0,
	}
}

func (s signingCA) sign(template *x509.Certificate, key *signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, s.cert, key.Public(), s.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
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
	return a.issue(anyUsage, identities)
}

// IssueClient is [Authority.Issue] for a client's certificate, whatever its
// identities.
func (a *Authority) IssueClient(identities ...string) *Certificate {
	a.fail.Helper()
	return a.issue(x509.ExtKeyUsageClientAuth, identities)
}

func (a *Authority) issue(usage x509.ExtKeyUsage, identities []string) *Certificate {
	a.fail.Helper()
	s, err := parseSubject(usage, identities)
	if err != nil {
		a.fail.Fatalf("%v", err)
	}
	m, err := a.mint(s)
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

// Root is the root's certificate. Treat it as read-only.
func (a *Authority) Root() *x509.Certificate { return a.root }

// Pool returns a new pool that holds the root alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.root)
	return pool
}

// PEM is the root's certificate in PEM, as curl's --cacert reads it.
func (a *Authority) PEM() []byte { return certificatePEM(a.root.Raw) }

func certificatePEM(ders ...[]byte) (all []byte) {
	for _, der := range ders {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return all
}
