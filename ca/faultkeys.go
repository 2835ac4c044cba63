package ca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
)

func keySpoilers() []spoiler {
	return []spoiler{
		{"rsa-1024", "its key is RSA of 1024 bits", otherKey(func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 1024) })},
		{"p-521", "its key is ECDSA on P-521", otherKey(func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P521(), rand.Reader) })},
		{"ed25519", "its key is Ed25519", otherKey(func() (crypto.Signer, error) {
			_, key, err := ed25519.GenerateKey(rand.Reader)
			return key, err
		})},
	}
}

func otherKey(generate func() (crypto.Signer, error)) func(*Authority, *draft) error {
	return func(_ *Authority, d *draft) error {
		key, err := generate()
		if err != nil {
			return err
		}
		return d.setKey(key, key.Public())
	}
}
