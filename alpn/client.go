package alpn

import (
	"crypto/tls"
	"slices"
)

// Client returns a copy of cfg that offers by p, which should be valid: the
// names of Prefer and Only, nothing for None. The zero Policy gives a plain
// copy, and nil is an empty Config.
//
// Only also refuses, with a *MismatchError, a server that chose something
// else; one that chose nothing passes where http/1.1 is listed. A
// VerifyConnection of cfg is asked first.
func (p Policy) Client(cfg *tls.Config) *tls.Config {
	out := clone(cfg)
	if p.IsZero() {
		return out
	}
	out.NextProtos = p.Protocols()
	if p.kind == only {
		out.VerifyConnection = p.verify(out.VerifyConnection)
	}
	return out
}

// verify is needed although crypto/tls refuses what was not offered: it takes
// a server without ALPN, and others may add to NextProtos, as http.Transport
// does.
func (p Policy) verify(first func(tls.ConnectionState) error) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if first != nil {
			if err := first(state); err != nil {
				return err
			}
		}
		chosen := nonEmpty(state.NegotiatedProtocol)
		if p.passesWithout(chosen) || len(chosen) == 1 && slices.Contains(p.protos, chosen[0]) {
			return nil
		}
		return &MismatchError{Wanted: p, Offered: p.Protocols(), Chosen: state.NegotiatedProtocol, byClient: true}
	}
}
