package ca

import "crypto/tls"

// MutualTLS is [Authority.ServerTLS] for a server that demands a certificate of
// its clients, by the authority's root of the moment: also by a new one after
// RotateRoot, without being started again. The client's side is
// [Authority.ClientTLS] with identities.
func (a *Authority) MutualTLS(identities ...string) *tls.Config {
	a.fail.Helper()
	by := a.hierarchy()
	cfg := a.ServerTLS(identities...)
	cfg.ClientAuth = tls.RequireAndVerifyClientCert
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if a.hierarchy().root().cert == by.root().cert {
			return nil, nil // cfg itself, whatever has been made of it
		}
		rotated := cfg.Clone()
		rotated.GetConfigForClient, rotated.ClientCAs = nil, a.Pool()
		return rotated, nil
	}
	return cfg
}
