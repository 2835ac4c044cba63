package ca

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
)

// ServerTLS is for a server that is known by identities, which are those of
// [Authority.Issue]; a bad one fails likewise. Without any, the leaf of each
// handshake is for the name that the client asks for (SNI, RFC 6066, section
// 3) and, if it asks for none, for the address that it came to.
//
// It says nothing about ALPN, and ClientCAs is the authority's own pool: set
// ClientAuth to ask for certificates as ClientTLS presents them.
//
// net/http/httptest adds a certificate of its own to a configuration without
// identities, and shows it to clients that send no SNI. Name some there.
//
// After a rotation (see [Authority.RotateLeaves]) a client without SNI, as one
// that asks for an address, is served by a copy of what ServerTLS returned, with
// what was set in it since. Servers of net/http, and httptest, set NextProtos in
// a copy of their own: where these clients are to have HTTP/2 afterwards too,
// set NextProtos before.
func (a *Authority) ServerTLS(identities ...string) *tls.Config {
	a.fail.Helper()
	cfg := &tls.Config{ClientCAs: a.Pool()}
	if len(identities) == 0 {
		cfg.GetCertificate = a.certificateFor
		return cfg
	}
	by := a.hierarchy()
	s, first := a.first(x509.ExtKeyUsageServerAuth, identities)
	// Certificates is what crypto/tls shows to a client without SNI, and what
	// others look at; GetCertificate keeps it fresh for the rest.
	cfg.Certificates = []tls.Certificate{*first}
	cfg.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.leaf(a) }
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if a.hierarchy() == by || hello.ServerName != "" {
			return nil, nil // cfg itself, or what has been made of it
		}
		return rotated(cfg), nil
	}
	return cfg
}

// rotated is cfg without the certificate that it was made with, so that
// GetCertificate is asked always.
func rotated(cfg *tls.Config) *tls.Config {
	cfg = cfg.Clone()
	cfg.GetConfigForClient, cfg.Certificates = nil, nil
	return cfg
}

// ClientTLS is for a client that trusts the authority alone. With identities,
// as in [Authority.Issue], it presents a certificate to each server that asks
// for one, also to a server that names other authorities: such a server then
// says what it has against it.
func (a *Authority) ClientTLS(identities ...string) *tls.Config {
	a.fail.Helper()
	cfg := &tls.Config{RootCAs: a.Pool()}
	if len(identities) == 0 {
		return cfg
	}
	s, first := a.first(x509.ExtKeyUsageClientAuth, identities)
	cfg.Certificates = []tls.Certificate{*first}
	cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.leaf(a) }
	return cfg
}

// first finds the slot of identities and its leaf of this moment.
func (a *Authority) first(usage x509.ExtKeyUsage, identities []string) (*slot, *tls.Certificate) {
	a.fail.Helper()
	s, err := a.leaves.find(usage, identities)
	if err != nil {
		a.fail.Fatalf("%v", err)
	}
	cert, err := s.leaf(a)
	if err != nil {
		a.fail.Fatalf("%v", err)
	}
	return s, cert
}

func (a *Authority) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	if name == "" {
		name = localHost(hello.Conn)
	}
	if name == "" {
		return a.Leaf()
	}
	return a.Leaf(name)
}

// localHost is the host that conn's client came to, or "" for this machine.
// The address may be a socket's or, in memory, a name with a port; one without
// a port, as net.Pipe's, names nothing.
func localHost(conn net.Conn) string {
	if conn == nil || conn.LocalAddr() == nil { // QUIC may have none
		return ""
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	host, _, _ = strings.Cut(host, "%")
	if host == "127.0.0.1" || host == "::1" {
		// Its leaf has both, for clients that came through a relay from one
		// to the other.
		return ""
	}
	return host
}
