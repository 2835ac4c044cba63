package ca_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"testing"

	"example.com/wiretest/ca"
)

func TestCertificatesHaveOneSize(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		for _, identities := range [][]string{nil, {"a.test"}, {"*.example.com", "::1", "x@y.test"}} {
			sizes := make(map[string]int)
			var authority *ca.Authority
			for i := range 60 {
				if i%4 == 0 {
					authority = ca.New(t, &ca.Config{Intermediates: 1})
				}
				cert := authority.Issue(identities...)
				c := cert.Certificate.Certificate
				sizes[fmt.Sprintf("leaf %d, intermediate %d, root %d", len(c[0]), len(c[1]), len(authority.Root().Raw))]++
				if serial := cert.Leaf.SerialNumber; serial.Sign() <= 0 || len(serial.Bytes()) != 16 {
					t.Fatalf("serial number %x", serial)
				}
			}
			if len(sizes) != 1 {
				t.Errorf("%v: sizes in bytes %v, want one", identities, sizes)
			}
		}
	})
}

// New leaves, keys and signatures each time, and a client's certificate too.
func TestHandshakesHaveOneSize(t *testing.T) {
	authority := ca.New(t, nil)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		sizes := make(map[string]int)
		for range 25 {
			server := &tls.Config{
				MaxVersion:   version,
				Certificates: []tls.Certificate{authority.Issue("a.test").Certificate},
				ClientAuth:   tls.RequireAndVerifyClientCert,
				ClientCAs:    authority.Pool(),
			}
			client := &tls.Config{
				ServerName:   "a.test",
				RootCAs:      authority.Pool(),
				Certificates: []tls.Certificate{authority.Issue("alice@example.com").Certificate},
			}
			r := requireShake(t, tls.VersionName(version), server, quick(client))
			sizes[fmt.Sprintf("up %d, down %d", r.up, r.down)]++
		}
		if len(sizes) != 1 {
			t.Errorf("%s: bytes of 25 handshakes %v, want one size", tls.VersionName(version), sizes)
		}
	}
}

func TestSignaturesHaveOneLength(t *testing.T) {
	key := ca.New(t, nil).Issue().PrivateKey.(crypto.Signer)
	digest := sha256.Sum256([]byte("digest"))
	for i := range 500 {
		// A nil source asks other keys for deterministic signatures.
		sig, err := key.Sign(nil, digest[:], crypto.SHA256)
		if err != nil || len(sig) != 71 || !ecdsa.VerifyASN1(key.Public().(*ecdsa.PublicKey), digest[:], sig) {
			t.Fatalf("signature %d: %d bytes, error %v", i, len(sig), err)
		}
	}
}

func TestHandshakeSignsWithP256AndSHA256(t *testing.T) {
	authority := ca.New(t, nil)
	hello := &tls.ClientHelloInfo{
		ServerName:        "a.test",
		CipherSuites:      []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		SupportedCurves:   []tls.CurveID{tls.CurveP256},
		SupportedPoints:   []uint8{0},
		SupportedVersions: []uint16{tls.VersionTLS13, tls.VersionTLS12},
		SignatureSchemes:  []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	}
	cert := leaf(t, authority, "a.test")
	if err := hello.SupportsCertificate(cert); err != nil {
		t.Error(err)
	}
	hello.SignatureSchemes = []tls.SignatureScheme{tls.PSSWithSHA256, tls.ECDSAWithP384AndSHA384, tls.Ed25519}
	if err := hello.SupportsCertificate(cert); err == nil {
		t.Error("said to sign by other schemes too")
	}
}
