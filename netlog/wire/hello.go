package wire

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"

	"example.com/wiretest/netlog"
)

// helloRecorder watches the server's side of one handshake from within.
type helloRecorder struct {
	cfg *tls.Config
	rec *netlog.ConnectionRecord

	// Written by the callbacks of the handshake, read after it.
	hello     *tls.ClientHelloInfo
	effective *tls.Config
	shown     *tls.Certificate
}

// config is a copy of cfg that reports to h.
func (h *helloRecorder) config() *tls.Config {
	h.keepKeys()
	cfg := h.cfg.Clone()
	cfg.GetConfigForClient = h.configForClient
	return cfg
}

// keepKeys decrypts nothing, which makes cfg choose its ticket keys if it has
// not yet, or rotate them if they are old: a copy then shares them with the
// copies for all other connections, and sessions are resumed. Without it each
// copy would make keys of its own.
func (h *helloRecorder) keepKeys() { _, _ = h.cfg.DecryptTicket(nil, tls.ConnectionState{}) }

func (h *helloRecorder) configForClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	h.rec.Update(func(c *netlog.Connection) {
		c.Offered = slices.Clone(hello.SupportedProtos)
		c.ServerName = hello.ServerName
	})
	h.hello, h.effective = hello, h.cfg
	if ask := h.cfg.GetConfigForClient; ask != nil {
		own, err := ask(hello)
		if err != nil {
			return nil, err
		}
		if own != nil {
			h.effective = own
		}
	}
	watched := h.effective.Clone()
	if len(watched.Certificates) > 0 || watched.GetCertificate != nil {
		watched.GetCertificate = h.certificate
		watched.Certificates = nil // else the callback is not asked where the client sent no name
	}
	return watched, nil
}

func (h *helloRecorder) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, err := choose(h.effective, hello)
	h.shown = cert
	return cert, err
}

// issuer is the common name of the issuer of the certificate that was shown,
// or that would have been.
func (h *helloRecorder) issuer(resumed bool) string {
	cert := h.shown
	if cert == nil && resumed && h.hello != nil {
		cert, _ = choose(h.effective, h.hello)
	}
	if cert == nil || len(cert.Certificate) == 0 {
		return ""
	}
	leaf := cert.Leaf
	if leaf == nil {
		leaf, _ = x509.ParseCertificate(cert.Certificate[0])
	}
	if leaf == nil {
		return ""
	}
	return leaf.Issuer.CommonName
}

// choose picks the certificate by the documented order of tls.Config: the
// callback where there is a name or nothing else, then by name, then the first
// that the client supports, then the first.
func choose(cfg *tls.Config, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cfg.GetCertificate != nil && (len(cfg.Certificates) == 0 || hello.ServerName != "") {
		if cert, err := cfg.GetCertificate(hello); cert != nil || err != nil {
			return cert, err
		}
	}
	if len(cfg.Certificates) == 0 {
		return nil, nil
	}
	if len(cfg.Certificates) == 1 {
		return &cfg.Certificates[0], nil
	}
	if cert := byName(cfg, hello.ServerName); cert != nil {
		return cert, nil
	}
	for i := range cfg.Certificates {
		if hello.SupportsCertificate(&cfg.Certificates[i]) == nil {
			return &cfg.Certificates[i], nil
		}
	}
	return &cfg.Certificates[0], nil
}

// byName looks into the deprecated NameToCertificate, which still rules where
// it is set.
func byName(cfg *tls.Config, name string) *tls.Certificate {
	name = strings.ToLower(name)
	if cert, ok := cfg.NameToCertificate[name]; ok {
		return cert
	}
	if _, parent, ok := strings.Cut(name, "."); ok {
		return cfg.NameToCertificate["*."+parent]
	}
	return nil
}
