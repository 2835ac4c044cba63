package ca_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"example.com/wiretest/ca"
)

// BenchmarkMint compares a leaf's minting to what it cannot do without: a
// P-256 key and x509.CreateCertificate. The signatures of constant length are
// part of both, because their number, two on average, is the price of the
// property and not of the implementation: the baseline signs again by a few
// lines of its own. "plain" is without that, for orientation.
func BenchmarkMint(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkBaseline(b, false) })
	b.Run("baseline", func(b *testing.B) { benchmarkBaseline(b, true) })
	b.Run("leaf", func(b *testing.B) {
		authority := ca.New(b, nil)
		for b.Loop() {
			authority.Issue("a.test")
		}
	})
}

func benchmarkBaseline(b *testing.B, again bool) {
	authority := ca.New(b, nil)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	parent := *authority.Root()
	parent.PublicKey = key.Public()
	signer := crypto.Signer(key)
	if again {
		signer = againSigner{key}
	}
	for b.Loop() {
		if err := plainLeaf(&parent, signer); err != nil {
			b.Fatal(err)
		}
	}
}

func plainLeaf(parent *x509.Certificate, signer crypto.Signer) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	_, err = x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "a.test"},
		NotBefore:    time.Now(),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"a.test"},
	}, parent, key.Public(), signer)
	return err
}

type againSigner struct{ *ecdsa.PrivateKey }

func (s againSigner) Sign(r io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	for {
		sig, err := s.PrivateKey.Sign(r, digest, opts)
		if err != nil || len(sig) == 71 {
			return sig, err
		}
	}
}

func BenchmarkCached(b *testing.B) {
	authority := ca.New(b, nil)
	b.Run("Leaf", func(b *testing.B) {
		name := fmt.Sprint("a", ".test")
		b.ReportAllocs()
		for b.Loop() {
			authority.Leaf(name)
		}
	})
	b.Run("SNI", func(b *testing.B) {
		get, hello := authority.ServerTLS().GetCertificate, &tls.ClientHelloInfo{ServerName: "a.test"}
		b.ReportAllocs()
		for b.Loop() {
			get(hello)
		}
	})
	b.Run("local address", func(b *testing.B) {
		conn, _ := net.Pipe()
		get, hello := authority.ServerTLS().GetCertificate, &tls.ClientHelloInfo{Conn: placed(conn, "192.0.2.7:443")}
		b.ReportAllocs()
		for b.Loop() {
			get(hello)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				authority.Leaf("a.test")
			}
		})
	})
}
