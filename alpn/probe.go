package alpn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"example.com/wiretest/alpn/internal/probing"
)

// ProbeConfig says how a server is asked. A nil one, and the zero value of
// every field, work.
type ProbeConfig struct {
	// Offers are what is offered, one after the other; an empty one is no ALPN.
	// nil is DefaultOffers.
	Offers [][]string

	// TLS is the client's side: ServerName, RootCAs, Certificates, MinVersion
	// and MaxVersion, between which each version is probed. It is cloned;
	// NextProtos and ClientSessionCache do not count. ServerName is addr's host
	// where it is "".
	//
	// nil verifies nothing: a probe asks what is there, whoever vouches for it,
	// and says who does. A Config that is not nil verifies as always.
	TLS *tls.Config

	// DialContext makes the connections, such as a proxy's tunnels (see
	// Through). nil is net.Dialer's.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Timeout is how long one connection may take, from dialling to the answer.
	// 0 is 10 seconds. Too late a handshake is an error if it is the first, and
	// later an Answer; too late an answer to the request is its Spoken's Err.
	Timeout time.Duration
}

// Unknown is a protocol of nobody's. A server that follows RFC 7301, section
// 3.2, refuses who offers nothing else, with alert 120.
const Unknown = "wiretest/unknown"

// DefaultOffers are h2 and http/1.1 in both orders, each alone, no ALPN, and
// Unknown.
func DefaultOffers() [][]string {
	return [][]string{{H2, HTTP11}, {HTTP11, H2}, {H2}, {HTTP11}, nil, {Unknown}}
}

// Probe asks the server at addr, a host and a port, what it selects from each
// offer, with TLS 1.3 and 1.2, and what it says of itself: its certificate, its
// HTTP/2 SETTINGS, its Alt-Svc, whether it resumes sessions. It works against
// any server, without a fixture.
//
// It makes one connection for each offer and version of TLS, and one more per
// version to resume, one at a time. The first of each version that agrees on h2,
// and the first that agrees on http/1.1 or on nothing, carry a request: HEAD of
// /.
//
// That a server refuses an offer is an Answer, not an error. The error is that
// addr or cfg is mistaken, that there is no connection, or that what answers
// speaks no TLS, or that ctx ended; Results then hold what was found before.
func Probe(ctx context.Context, addr string, cfg *ProbeConfig) (Results, error) {
	p, err := newProber(addr, cfg)
	if err != nil {
		return Results{}, fmt.Errorf("alpn: Probe: %w", err)
	}
	for _, version := range p.versions {
		if err := p.probe(ctx, version); err != nil {
			return p.results, fmt.Errorf("alpn: Probe: %s: %w", addr, err)
		}
	}
	return p.results, nil
}

// prober probes one server.
type prober struct {
	ProbeConfig // without a zero value
	versions    []uint16
	results     Results
}

func newProber(addr string, cfg *ProbeConfig) (*prober, error) {
	host, err := probing.Host(addr)
	if err != nil {
		return nil, err
	}
	p := &prober{results: Results{Addr: addr}}
	if cfg != nil {
		p.ProbeConfig = *cfg
	}
	if err := p.resolve(host); err != nil {
		return nil, err
	}
	p.results.ServerName = p.TLS.ServerName
	if p.versions = versionsOf(p.TLS); len(p.versions) == 0 {
		return nil, fmt.Errorf("ProbeConfig.TLS: no version from MinVersion %s to MaxVersion %s", versionName(p.TLS.MinVersion), versionName(p.TLS.MaxVersion))
	}
	return p, nil
}

// resolve checks the configuration and fills in what is zero.
func (p *prober) resolve(host string) (err error) {
	if p.Timeout, err = probing.Timeout(p.Timeout); err != nil {
		return fmt.Errorf("ProbeConfig.%w", err)
	}
	if p.Offers == nil {
		p.Offers = DefaultOffers()
	}
	if err := probing.Offers(p.Offers); err != nil {
		return fmt.Errorf("ProbeConfig.%w", err)
	}
	if p.DialContext == nil {
		p.DialContext = new(net.Dialer).DialContext
	}
	p.TLS = probing.ClientTLS(p.TLS, host)
	return nil
}

// versionsOf are those that cfg allows, the newest first; 1.2 and 1.3 where it
// says nothing, as crypto/tls has it.
func versionsOf(cfg *tls.Config) (versions []uint16) {
	oldest, newest := cfg.MinVersion, cfg.MaxVersion
	if newest == 0 {
		newest = tls.VersionTLS13
	}
	if oldest == 0 {
		oldest = min(tls.VersionTLS12, newest)
	}
	for v := uint16(tls.VersionTLS13); v >= tls.VersionTLS10; v-- {
		if v >= oldest && v <= newest {
			versions = append(versions, v)
		}
	}
	return versions
}

// probe makes all connections of one version.
func (p *prober) probe(ctx context.Context, version uint16) error {
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

// once are what is asked once per version of TLS: HTTP of each protocol, and
// whether sessions resume.
type once struct {
	*prober
	version uint16
	spoken  []string
	first   *probing.First
}

// speak is also what brings the sessions of TLS 1.3, which come behind the
// handshake.
func (o *once) speak(conn *tls.Conn, answer *Answer) {
	proto := answer.Selected
	if proto == "" {
		proto = HTTP11
	}
	if slices.Contains(o.spoken, proto) || proto != H2 && proto != HTTP11 {
		return
	}
	o.spoken = append(o.spoken, proto)
	s := Spoken{Protocol: proto, Version: o.version}
	s.Err = s.ask(conn, probing.Authority(o.results.ServerName, o.results.Addr))
	o.results.Spoken = append(o.results.Spoken, s)
}

// resume repeats the first offer that was not refused.
func (o *once) resume(ctx context.Context) error {
	answer, sessions, ok := o.first.Resume()
	if !ok {
		return nil
	}
	first := &o.results.Answers[answer]
	_, err := o.ask(ctx, o.version, first.Offered, sessions, func(conn *tls.Conn, _ *Answer) {
		first.Resumes = conn.ConnectionState().DidResume
	})
	return err
}

// ask makes one connection. use is called with it, if it stands.
func (p *prober) ask(ctx context.Context, version uint16, offer []string, sessions tls.ClientSessionCache, use func(*tls.Conn, *Answer)) (Answer, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, p.Timeout)
	defer cancel()
	answer := Answer{Offered: slices.Clone(offer), Version: version}
	raw, err := p.DialContext(ctx, "tcp", p.results.Addr)
	if err != nil {
		return answer, fmt.Errorf("dialling: %w", err)
	}
	defer raw.Close()
	cfg := p.TLS.Clone()
	cfg.NextProtos, cfg.MinVersion, cfg.MaxVersion = answer.Offered, version, version
	cfg.ClientSessionCache = sessions
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		return p.failed(caller, ctx, answer, err)
	}
	answer.observe(conn.ConnectionState())
	defer until(ctx, raw)()
	use(conn, &answer)
	closeWithin(ctx, conn)
	return answer, nil
}

// closeWithin ends by ctx, where a peer that reads nothing holds the close_notify of
// crypto/tls up for 5 seconds.
func closeWithin(ctx context.Context, conn *tls.Conn) {
	defer whenDone(ctx, func() { conn.NetConn().Close() })()
	conn.Close()
}

// failed tells a refusal, which is an answer, from what makes it pointless to go
// on, and from what the caller has given up; ctx also ends by Timeout.
func (p *prober) failed(caller, ctx context.Context, answer Answer, err error) (Answer, error) {
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return answer, noTLS(record)
	}
	if ended := context.Cause(ctx); ended != nil && len(p.results.Answers) == 0 {
		return answer, fmt.Errorf("first handshake: %w", ended)
	}
	if err := probing.GivenUp(caller); err != nil {
		return answer, err
	}
	answer.fail(err)
	return answer, nil
}

// noTLS says what the server speaks instead, by the first bytes that it sent.
func noTLS(record tls.RecordHeaderError) error {
	first := record.RecordHeader[:]
	looks, _ := looksLike(first)
	if looks == LooksAlert || looks == looksTLS {
		return record
	}
	return fmt.Errorf("the server speaks no TLS: it sent %s", describe(looks, first))
}

// until ends reading and writing when ctx does. What it returns undoes that.
func until(ctx context.Context, conn net.Conn) (undo func()) {
	return whenDone(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// whenDone calls end when ctx is done, though not after undo.
func whenDone(ctx context.Context, end func()) (undo func()) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // waited for by undo, if it has begun
		defer close(ended)
		end()
	})
	return func() {
		if !stop() {
			<-ended
		}
	}
}

// timedOut is an error of a deadline, of a conn or of a context.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
