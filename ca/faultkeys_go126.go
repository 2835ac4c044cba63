//go:build !go1.27

package ca

// newerSpoilers are those that need a newer Go than go.mod names.
func newerSpoilers() []spoiler { return nil }
