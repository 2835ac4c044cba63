package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
)

// An ECDSA signature is two numbers in DER. Of P-256's, half have one number
// whose top bit is set and which therefore takes a byte more: 71 bytes in all.
// The others have 70 or 72 and, one in about 130, fewer.
const signatureLen = 71

// maxSignatures is never reached: the chance of that many other lengths in a
// row is 2^-200. It only turns a broken source of randomness into an error.
const maxSignatures = 200

// signer is a P-256 key whose signatures all have the same length, because it
// signs again until they do: about twice. Certificates and handshakes then
// have the same size each time.
type signer struct{ key *ecdsa.PrivateKey }

func newSigner() (*signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &signer{key}, nil
}

// Public is an *ecdsa.PublicKey, by which crypto/tls and crypto/x509 choose
// the algorithm.
func (s *signer) Public() crypto.PublicKey { return s.key.Public() }

// Sign ignores the reader that it is given: a nil one would ask for
// deterministic signatures (RFC 6979), of which there is only one per digest.
func (s *signer) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	for range maxSignatures {
		sig, err := s.key.Sign(rand.Reader, digest, opts)
		if err != nil || len(sig) == signatureLen {
			return sig, err
		}
	}
	return nil, fmt.Errorf("ca: signing: none of %d signatures has %d bytes; the source of randomness is broken", maxSignatures, signatureLen)
}

// newSerial is a random serial number of 16 bytes, no more and no less: its
// first byte is neither zero nor has its top bit set (RFC 5280, section
// 4.1.2.2, wants it positive).
func newSerial() *big.Int {
	var b [16]byte
	rand.Read(b[:])
	b[0] = b[0]&0x3f | 0x40
	return new(big.Int).SetBytes(b[:])
}
