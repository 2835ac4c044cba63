// Package wire looks at decrypted HTTP bytes and records what they say.
package wire
