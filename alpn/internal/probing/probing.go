// Package probing is what probes over TCP and over QUIC have in common: how a
// target and a client's side of TLS are understood.
package probing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Host is the host of addr, which must be one with the number of a port: names
// of ports would have to be looked up.
func Host(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || host == "" {
		return "", fmt.Errorf("address %q: want host:port, such as a.test:443", addr)
	}
	return host, nil
}

// Timeout is that of a configuration, where 0 is 10 seconds.
func Timeout(configured time.Duration) (time.Duration, error) {
	switch {
	case configured < 0:
		return 0, fmt.Errorf("Timeout: %v is negative", configured)
	case configured == 0:
		return 10 * time.Second, nil
	}
	return configured, nil
}

// GivenUp is why the caller, whose context ctx is, did not wait for the end of a
// handshake that has failed; nil if it failed by itself.
func GivenUp(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("handshake: %w", context.Cause(ctx))
}

// MaxName is the longest name of a protocol that fits its one length byte
// (RFC 7301, section 3.1).
const MaxName = 255

// Offers refuses those that no client could send.
func Offers(offers [][]string) error {
	for i, offer := range offers {
		for _, name := range offer {
			if name == "" || len(name) > MaxName {
				return fmt.Errorf("Offers[%d]: %q: a name has from 1 to %d bytes (RFC 7301, section 3.1)", i, name, MaxName)
			}
		}
	}
	return nil
}

// ClientTLS is a copy of cfg that asks for host, if cfg says nothing else. nil
// verifies nothing.
func ClientTLS(cfg *tls.Config, host string) *tls.Config {
	if cfg == nil {
		cfg = &tls.Config{InsecureSkipVerify: true}
	}
	cfg = cfg.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	return cfg
}

// Authority is that of a request to serverName at addr.
func Authority(serverName, addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	if port == "443" && !strings.Contains(serverName, ":") {
		return serverName
	}
	return net.JoinHostPort(serverName, port)
}

// Issuer is how the authority that issued cert is called: by its common name, as
// in netlog's ledger, or by all of its name where it has none.
func Issuer(cert *x509.Certificate) string {
	if cert.Issuer.CommonName != "" {
		return cert.Issuer.CommonName
	}
	return cert.Issuer.String()
}
