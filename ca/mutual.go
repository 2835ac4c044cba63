package ca

import "crypto/tls"

// MutualTLS is [Authority.ServerTLS] for a server that demands a certificate of
// its clients, by the authority's root of the moment: also by a new one after
// RotateRoot, without being started again. What ServerTLS says about NextProtos
// after a rotation goes for all clients here. The client's side is
// [Authority.ClientTLS] with identities.
func (a *Authority) MutualTLS(identities ...string) *tls.Config {
	a.fail.Helper()
	by := a.hierarchy()
	cfg := a.ServerTLS(identities...)
	cfg.ClientAuth = tls.RequireAndVerifyClientCert
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if a.hierarchy() == by {
			return nil, nil
		}
		now := rotated(cfg)
		now.ClientCAs = a.Pool()
		return now, nil
	}
	return cfg
}
