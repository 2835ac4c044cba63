package probeh3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"example.com/wiretest/alpn"
	"example.com/wiretest/alpn/internal/probing"
)

// Config says how a server is asked. A nil one, and the zero value of every
// field, work.
type Config struct {
	// Offers are what is offered, one after the other. nil is h3, and
	// alpn.Unknown, which a server has to refuse (RFC 9001, section 8.1).
	Offers [][]string

	// TLS is the client's side, as in alpn.ProbeConfig: nil verifies nothing.
	TLS *tls.Config

	// Dial makes the connections, as http3.Transport's field of that name: the
	// method of a netlog/h3 Dialer, for one. nil is quic.DialAddrEarly, from a
	// socket of all interfaces.
	Dial func(ctx context.Context, addr string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error)

	// Versions of QUIC that are probed. nil is v1 and v2.
	Versions []quic.Version

	// Timeout is how long one connection may take, from dialling to the answer.
	// 0 is 10 seconds, though without an answer quic-go gives up after 5.
	Timeout time.Duration
}

// Probe asks the server at addr, a host and a port. It makes one connection for
// each offer and version of QUIC, and one more per version to resume, one at a
// time; the first of each version that agrees on h3 carries a request, HEAD of /.
//
// That a server refuses an offer, or a version of QUIC, is an Answer. The error is
// that addr or cfg is mistaken, or that nothing answers.
func Probe(ctx context.Context, addr string, cfg *Config) (alpn.Results, error) {
	p, err := newProber(addr, cfg)
	if err != nil {
		return alpn.Results{}, fmt.Errorf("probeh3: Probe: %w", err)
	}
	for _, version := range p.Versions {
		if err := p.probe(ctx, version); err != nil {
			return p.results, fmt.Errorf("probeh3: Probe: %s: %w", addr, err)
		}
	}
	return p.results, nil
}

// prober probes one server.
type prober struct {
	Config  // without a zero value
	results alpn.Results
}

func newProber(addr string, cfg *Config) (*prober, error) {
	host, err := probing.Host(addr)
	if err != nil {
		return nil, err
	}
	p := &prober{results: alpn.Results{Addr: addr}}
	if cfg != nil {
		p.Config = *cfg
	}
	if err := p.resolve(host); err != nil {
		return nil, err
	}
	p.results.ServerName = p.TLS.ServerName
	return p, nil
}

// resolve checks the configuration and fills in what is zero.
func (p *prober) resolve(host string) (err error) {
	if p.Timeout, err = probing.Timeout(p.Timeout); err != nil {
		return fmt.Errorf("Config.%w", err)
	}
	if p.Offers == nil {
		p.Offers = [][]string{{alpn.H3}, {alpn.Unknown}}
	}
	if err := probing.Offers(p.Offers); err != nil {
		return fmt.Errorf("Config.%w", err)
	}
	for i, offer := range p.Offers {
		if len(offer) == 0 {
			return fmt.Errorf("Config.Offers[%d]: %q: QUIC does not go without ALPN (RFC 9001, section 8.1)", i, offer)
		}
	}
	if p.Dial == nil {
		p.Dial = quic.DialAddrEarly
	}
	if p.Versions == nil {
		p.Versions = []quic.Version{quic.Version1, quic.Version2}
	}
	p.TLS = probing.ClientTLS(p.TLS, host)
	return nil
}

// probe makes all connections of one version.
func (p *prober) probe(ctx context.Context, version quic.Version) error {
	o := &once{prober: p, version: version, first: probing.NewFirst()}
	for _, offer := range p.Offers {
		answer, err := p.ask(ctx, version, offer, o.first.Cache(), o.speak)
		if err != nil {
			return err
		}
		o.first.Note(len(p.results.Answers), answer.Err)
		p.results.Answers = append(p.results.Answers, answer)
	}
	return o.resume(ctx)
}

// once are what is asked once per version of QUIC, as over TCP: HTTP/3, and
// whether sessions resume.
type once struct {
	*prober
	version quic.Version
	spoken  bool
	first   *probing.First
}

// speak is also what brings the sessions, which come behind the handshake.
func (o *once) speak(ctx context.Context, conn *quic.Conn, answer *alpn.Answer) {
	if o.spoken || answer.Selected != alpn.H3 {
		return
	}
	o.spoken = true
	s := alpn.Spoken{Protocol: alpn.H3, Version: answer.Version, QUIC: answer.QUIC}
	s.Err = request(ctx, conn, &s, probing.Authority(o.results.ServerName, o.results.Addr))
	o.results.Spoken = append(o.results.Spoken, s)
}

// resume repeats the first offer that was not refused.
func (o *once) resume(ctx context.Context) error {
	answer, sessions, ok := o.first.Resume()
	if !ok {
		return nil
	}
	first := &o.results.Answers[answer]
	_, err := o.ask(ctx, o.version, first.Offered, sessions, func(_ context.Context, conn *quic.Conn, _ *alpn.Answer) {
		state := conn.ConnectionState()
		first.Resumes, first.EarlyData = state.TLS.DidResume, state.Used0RTT
	})
	return err
}

// ask makes one connection. use is called with it, if it stands.
func (p *prober) ask(ctx context.Context, version quic.Version, offer []string, sessions tls.ClientSessionCache,
	use func(context.Context, *quic.Conn, *alpn.Answer)) (alpn.Answer, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, p.Timeout)
	defer cancel()
	answer := alpn.Answer{Offered: slices.Clone(offer), Version: tls.VersionTLS13, QUIC: uint32(version)}
	cfg := p.TLS.Clone()
	cfg.NextProtos, cfg.ClientSessionCache = answer.Offered, sessions
	conn, err := p.Dial(ctx, p.results.Addr, cfg, &quic.Config{Versions: []quic.Version{version}})
	if err == nil {
		defer conn.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		err = handshaken(ctx, conn)
	}
	if err != nil {
		return p.failed(caller, answer, err)
	}
	observe(&answer, conn.ConnectionState())
	use(ctx, conn, &answer)
	return answer, nil
}

// handshaken waits, where 0-RTT lets a connection be used earlier.
func handshaken(ctx context.Context, conn *quic.Conn) error {
	select {
	case <-conn.HandshakeComplete():
		return nil
	case <-conn.Context().Done():
		return context.Cause(conn.Context())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func observe(a *alpn.Answer, state quic.ConnectionState) {
	a.Selected, a.CipherSuite, a.Group = state.TLS.NegotiatedProtocol, state.TLS.CipherSuite, state.TLS.CurveID
	if a.Chain = state.TLS.PeerCertificates; len(a.Chain) > 0 {
		a.Issuer = probing.Issuer(a.Chain[0])
	}
}

// failed tells a refusal, which is an answer, from there being nobody.
func (p *prober) failed(caller context.Context, answer alpn.Answer, err error) (alpn.Answer, error) {
	var refused *quic.TransportError
	var version *quic.VersionNegotiationError
	if !errors.As(err, &refused) && !errors.As(err, &version) && len(p.results.Answers) == 0 {
		return answer, err
	}
	if err := probing.GivenUp(caller); err != nil {
		return answer, err
	}
	answer.Err = Alerted(err)
	answer.Alert, _ = alertOf(err)
	return answer, nil
}

// Alerted is err, of quic-go or of an http3.Transport, with the alert by which
// the peer closed the connection as a tls.AlertError, so that errors.As and
// alpn.RequireAlert find it. An err without one is returned as it is.
func Alerted(err error) error {
	alert, ok := alertOf(err)
	if !ok {
		return err
	}
	return fmt.Errorf("%w: %w", tls.AlertError(alert), err)
}

// alertOf finds it in CONNECTION_CLOSE, whose code's low byte it is (RFC 9001,
// section 4.8).
func alertOf(err error) (alert uint8, ok bool) {
	var closed *quic.TransportError
	if !errors.As(err, &closed) || !closed.Remote || !closed.ErrorCode.IsCryptoError() {
		return 0, false
	}
	return uint8(closed.ErrorCode), true
}
