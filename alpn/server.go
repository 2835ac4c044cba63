package alpn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"time"
)

// Server returns a copy of cfg that accepts connections by p, which should be
// valid. The zero Policy gives a plain copy, and nil is an empty Config.
//
// NextProtos of cfg is replaced. A GetConfigForClient of cfg is asked first,
// and p rules what it returns. Session tickets go on as without a policy: the
// keys are those of the copy, also if they are set there later.
//
// Apart from ticket keys cfg must be complete: a certificate or anything else
// that is added to the copy later does not reach a connection, nor does a
// protocol that net/http adds to its NextProtos.
//
// Where p refuses a peer, that peer gets alert 120 and Handshake returns a
// *MismatchError. Nothing more can be written to the connection after it; to
// close it remains with its owner.
func (p Policy) Server(cfg *tls.Config) *tls.Config {
	out := clone(cfg)
	if p.IsZero() {
		return out
	}
	out.NextProtos = p.Protocols()
	s := &server{policy: p, ask: out.GetConfigForClient, choices: choices(p, out)}
	out.GetConfigForClient = s.configFor
	return out
}

func clone(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		return new(tls.Config)
	}
	return cfg.Clone()
}

// server answers each ClientHello with the one Config that can only end in
// what the policy chose. crypto/tls cannot be left to choose: it refuses where
// Prefer goes on, and lets an http/1.1 client pass a server of h2 only.
type server struct {
	policy  Policy
	ask     func(*tls.ClientHelloInfo) (*tls.Config, error) // of the user's Config; may be nil
	choices map[string]*tls.Config                          // by protocol; "" is no ALPN; read only
}

// choices are made once, so that a handshake allocates none.
func choices(p Policy, cfg *tls.Config) map[string]*tls.Config {
	all := map[string]*tls.Config{"": pinned(withoutTicketKeys(cfg), "")}
	for _, name := range p.protos {
		all[name] = pinned(withoutTicketKeys(cfg), name)
	}
	return all
}

func pinned(cfg *tls.Config, proto string) *tls.Config {
	cfg.NextProtos = nonEmpty(proto)
	cfg.GetConfigForClient = nil
	return cfg
}

// withoutTicketKeys copies what is exported. Keys that are set explicitly are
// not, and in a Config that GetConfigForClient returns they would win over
// those of the listener's Config, which the owner may rotate.
func withoutTicketKeys(cfg *tls.Config) *tls.Config {
	fresh := new(tls.Config)
	from, to := reflect.ValueOf(cfg).Elem(), reflect.ValueOf(fresh).Elem()
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Field(i).Set(from.Field(i))
		}
	}
	fresh.SessionTicketKey = [32]byte{}
	return fresh
}

func (s *server) configFor(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	asked, err := s.asked(hello)
	if err != nil {
		return nil, err
	}
	proto, err := s.policy.Choose(hello.SupportedProtos)
	if err != nil {
		return nil, refuse(hello.Conn, err)
	}
	if asked != nil {
		return pinned(asked.Clone(), proto), nil // its owner may change it between two handshakes
	}
	cfg := s.choices[proto]
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil {
		return nil, fmt.Errorf("alpn: %v: Server: the Config it was given has no certificate, and one that was added to the copy later does not count", s.policy)
	}
	return cfg, nil
}

func (s *server) asked(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if s.ask == nil {
		return nil, nil
	}
	return s.ask(hello)
}

// refuse sends alert 120 by hand: after an error of GetConfigForClient
// crypto/tls sends internal_error. The write deadline keeps that one from
// following. The alert is in plaintext: no version of TLS has keys before the
// ServerHello. A QUIC connection has no conn, and sends alerts of its own.
func refuse(conn net.Conn, err error) error {
	if conn == nil {
		return err
	}
	_, failed := conn.Write([]byte{recordAlert, 3, 3, 0, 2, alertFatal, alertNoApplicationProtocol})
	conn.SetWriteDeadline(time.Unix(1, 0)) // where it is not supported, the peer ignores a second alert
	var mismatch *MismatchError
	if failed != nil && errors.As(err, &mismatch) {
		mismatch.alert = failed
	}
	return err
}
