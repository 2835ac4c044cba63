package ca

import (
	"crypto/x509"
	"errors"
	"fmt"
)

func (a *Authority) hierarchy() *hierarchy { return a.current.Load() }

// RotateLeaves has every leaf minted anew, with a new key, when it is next asked
// for. Servers and clients of ServerTLS, MutualTLS and ClientTLS show the new
// ones from the next handshake on, while they run; a session that is resumed
// shows none.
func (a *Authority) RotateLeaves() {
	for {
		old := a.hierarchy()
		same := *old
		if a.current.CompareAndSwap(old, &same) {
			return
		}
	}
}

// RotateRoot puts a new root in the place of the old, with the same name and
// with new intermediates, and rotates the leaves. Who trusts the old root alone,
// such as a configuration that ClientTLS made before, refuses what is issued
// from now on. Certificates that were issued before stay what they were, and
// the authority still answers for their revocation.
//
// ClientCAs of ServerTLS stay those of the old root; MutualTLS goes with the
// new.
func (a *Authority) RotateRoot() error { return a.rotate(false) }

// RotateRootCrossSigned is [Authority.RotateRoot] with a transition: leaves also
// come with a certificate of the new root by the old one, so that those are
// content too who trust the old root alone, or any older one that was crossed
// with that.
func (a *Authority) RotateRootCrossSigned() error { return a.rotate(true) }

func (a *Authority) rotate(crossed bool) error {
	next, err := newHierarchy(&a.cfg)
	if err != nil {
		return err
	}
	a.revoked.know(next.authorities)
	for {
		old := a.hierarchy()
		if crossed {
			next.crosses = nil // those of a try that another rotation overtook
			if err := next.crossSignBy(old); err != nil {
				return err
			}
		}
		if a.current.CompareAndSwap(old, next) {
			return nil
		}
	}
}

// CrossSign returns a certificate of another authority, for its name and its
// key, by this one's root: shown after that authority's leaves it lets those
// trust them who know this root alone. See also [Config.CrossSignedBy].
func (a *Authority) CrossSign(authority *x509.Certificate) (*x509.Certificate, error) {
	switch {
	case authority == nil || len(authority.RawSubject) == 0:
		return nil, errors.New("ca: cross-signing: the certificate is nil, or was never parsed")
	case !authority.IsCA:
		return nil, fmt.Errorf("ca: cross-signing %q: it is no authority", authority.Subject.CommonName)
	}
	return a.hierarchy().root().crossSign(authority)
}
