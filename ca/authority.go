// Package ca is an ephemeral certificate authority.
package ca

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// Config …
type Config struct {
	Name          string
	Intermediates int
	Leaf          func(*x509.Certificate)
}

// Authority …
type Authority struct{}

// Certificate …
type Certificate struct{ tls.Certificate }

// New …
func New(tb testing.TB, cfg *Config) *Authority { panic("to be written") }

// Generate …
func Generate(cfg *Config) (*Authority, error) { panic("to be written") }

// Issue …
func (a *Authority) Issue(identities ...string) *Certificate { panic("to be written") }

// Leaf is a certificate for identities from the cache, or a new one. It is
// valid now and issued by this authority.
func (a *Authority) Leaf(identities ...string) (*tls.Certificate, error) { panic("to be written") }

// Pool …
func (a *Authority) Pool() *x509.CertPool { panic("to be written") }

// Root …
func (a *Authority) Root() *x509.Certificate { panic("to be written") }

// PEM …
func (a *Authority) PEM() []byte { panic("to be written") }

// ServerTLS …
func (a *Authority) ServerTLS(identities ...string) *tls.Config { panic("to be written") }

// ClientTLS …
func (a *Authority) ClientTLS(identities ...string) *tls.Config { panic("to be written") }
