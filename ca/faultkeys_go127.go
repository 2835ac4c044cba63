//go:build go1.27

package ca

import (
	"crypto"
	"crypto/mldsa"
)

// newerSpoilers are those that need a newer Go than go.mod names.
func newerSpoilers() []spoiler {
	return []spoiler{
		{"ml-dsa", "its key is ML-DSA-65 (FIPS 204)", otherKey(func() (crypto.Signer, error) { return mldsa.GenerateKey(mldsa.MLDSA65()) })},
	}
}
