package mitm

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// The two sides of a Proxy, as they stand in its Log and as filters of it.
const (
	Downstream netlog.Leg = "downstream" // between the clients and the proxy
	Upstream   netlog.Leg = "upstream"   // between the proxy and the origins
)

// Net is a place in a network: a *linkdelay.Host is one. Its methods are those
// of net.ListenConfig and net.Dialer.
type Net = interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config says how a Proxy stands in the path. A nil Config, and the zero value
// of every field, work.
type Config struct {
	// CA issues the certificates that clients are shown. nil is an authority
	// of this proxy's own, named "wiretest mitm CA", which Proxy.CA returns.
	CA *ca.Authority

	// RootCAs are what the proxy trusts origins by. nil is the host's own
	// roots, as in crypto/tls.
	RootCAs *x509.CertPool

	// Net is where the proxy listens, at ":0", and from where it dials. nil is
	// loopback: the same port of 127.0.0.1 and, where there is one, of [::1].
	Net Net

	// Mode is how clients reach the proxy; several share the listener. 0 is
	// Explicit.
	Mode Mode

	// Outer is TLS to the proxy itself, in mode ExplicitTLS: ALPN is what is
	// spoken with the proxy, of which the tunnels within know nothing. CA issues
	// its certificate, for the SNI or the address that clients connect to. Of the
	// other fields TLS, MaxConcurrentStreams and the windows can be set.
	Outer Leg

	// Origin is the URL of the origin in mode Reverse: http or https, host, and
	// a port where it is not the usual one.
	Origin string

	// HTTP3 serves clients of mode Reverse over QUIC too, at the same port number:
	// package mitm/h3 makes one. nil does not.
	HTTP3 HTTP3

	// Auth is the user and the password that clients of Explicit and ExplicitTLS
	// have to give by Basic (RFC 7617), and those of SOCKS5 by RFC 1929. A client
	// that does not gets 407, or a refusal by SOCKS, with the reason in the body
	// and in the Log; other schemes are not offered. nil asks for nothing. What
	// is meant for the proxy is never passed on.
	Auth *url.Userinfo

	// Via is the URL of a proxy that origins are dialled through: http or https,
	// always by CONNECT over http/1.1, or socks5, which is given names. User and
	// password in it are sent to it. https is verified by RootCAs. "" is none.
	Via string

	// Dial opens every connection to an origin, or to Via. It is how a test puts
	// an origin where its name does not lead. nil dials from Net.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Downstream is the leg to the clients, Upstream the one to the origins.
	Downstream, Upstream Leg

	// Passthrough lists the hosts whose connections are not intercepted: bytes
	// pass as they are, and the client sees the origin's certificate. An entry
	// is "host" or "host:port", and a host that begins with "*." stands for
	// every name below it, at any depth, but not for that name itself.
	//
	// It is compared, without regard to case, with where the connection leads: the
	// target that CONNECT or SOCKS5 names, in mode Transparent the SNI with port
	// 443, and in mode Reverse Origin. Requests that come with neither a tunnel nor
	// TLS are always looked at.
	Passthrough []string

	// StripAltSvc takes Alt-Svc (RFC 7838) out of answers, so that clients do not
	// learn of HTTP/3, which goes past the proxy; each is noted in the Log, by
	// AltSvcNote. False passes it on, as a proxy that changes nothing does. What
	// Passthrough leaves alone keeps it.
	StripAltSvc bool

	// Rules say what is different for some hosts. The first that matches decides,
	// before Passthrough does.
	Rules []Rule

	// Hooks look at what passes, and may have their way with it.
	Hooks Hooks

	// Log is where connections and requests of both legs are recorded. nil is
	// a Log of this proxy's own, which Proxy.Log returns; one that New made is
	// printed when the test fails.
	Log *netlog.Log
}

// Leg is how the proxy speaks on one of its sides. Its zero value is TLS with
// HTTP/2 and HTTP/1.1.
type Leg struct {
	// ALPN is what the proxy accepts from clients, or offers to origins. Zero
	// is Prefer(h2, http/1.1), or with HTTP3 nothing. Where no protocol is agreed
	// on, http/1.1 is spoken.
	ALPN alpn.Policy

	// Mirror, on the downstream leg only, asks the origin first: it is offered
	// what the client offered, as far as Upstream.ALPN allows, and the client
	// is then given what the origin chose, and so within its own offer. ALPN
	// must be zero with it.
	//
	// The origin is asked once the client has said what it offers, which is
	// after CONNECT was answered. Where that fails, the client is accepted as
	// without Mirror, and its first request is answered 502 with the reason.
	Mirror bool

	// TLS is what else TLS is configured with: versions, client certificates,
	// InsecureSkipVerify. It is cloned. Downstream, Certificates or
	// GetCertificate in it replace what CA would issue. Upstream, a ServerName
	// in it replaces the client's, RootCAs serve where Config.RootCAs is nil,
	// and a ClientSessionCache lets sessions resume; without one every
	// handshake is a full one. NextProtos must be empty: ALPN rules.
	TLS *tls.Config

	// MaxConcurrentStreams limits the requests in flight on one HTTP/2
	// connection. Downstream it is stated to clients
	// (SETTINGS_MAX_CONCURRENT_STREAMS; RFC 9113, section 6.5.2), and 0 is
	// 256. Upstream it lowers what the origin states, and 0 is no limit of the
	// proxy's own.
	MaxConcurrentStreams int

	// StreamWindow and ConnWindow are how many bytes the other side may send on one
	// stream of HTTP/2, and on all of a connection, before the proxy has passed them
	// on (RFC 9113, section 6.9.2). 0 is net/http's choice. ConnWindow cannot be from 1
	// to 65,534.
	StreamWindow, ConnWindow int

	// Speak is h2 or http/1.1: what the proxy speaks, whatever was negotiated, as
	// one does that offers h2 and has only http/1.1. "" is what was negotiated.
	Speak string

	// MaxConns, on the upstream leg only, limits the http/1.1 connections to one
	// origin; a request that has to wait is a Stall in the Log. 0 is no limit.
	MaxConns int

	// PerClient, on the upstream leg only, gives each connection of a client its own
	// connections to origins, which end with it. Else all clients share them.
	PerClient bool

	// HTTP3, on the upstream leg only, has requests go to origins over QUIC; package
	// mitm/h3 makes one. Where ALPN is zero nothing else is tried; else what ALPN
	// says is offered over TCP where QUIC's handshake fails, and from then on. nil is
	// TCP alone.
	//
	// TLS, MaxConcurrentStreams, the windows, PerClient and Faults hold for both.
	// What is for TCP alone is refused with it: Speak, ConnectionFaults, MaxConns where
	// ALPN is zero, TLS.MaxVersion below 1.3, Mirror and OriginFirst, Config.Via and
	// Config.Dial.
	HTTP3 UpstreamHTTP3

	// Faults are what goes wrong on purpose with requests. Downstream they happen
	// instead of what the proxy does. Upstream they begin when a request's head was
	// sent: wire.StreamOf is that of the connection to the origin, next takes the
	// answer, and where neither happens the request is given up, which the client
	// sees as a 502. Requests are counted as they are sent.
	Faults []wire.Fault

	// ConnectionFaults are what goes wrong on purpose with TLS and below it.
	ConnectionFaults []ConnectionFault
}

const defaultStreams = 256

func bothALPN() alpn.Policy { return alpn.Prefer(alpn.H2, alpn.HTTP11) }

// resolved is a copy of c, nil or not, that has been checked and in which
// every default is filled in.
func (c *Config) resolved() (*Config, error) {
	full := Config{}
	if c != nil {
		full = *c
	}
	if err := full.validate(); err != nil {
		return nil, fmt.Errorf("mitm: %w", err)
	}
	full.Mode = full.Mode.or()
	full.Outer.ALPN = full.Outer.ALPN.Or(bothALPN())
	full.Downstream.ALPN = full.Downstream.ALPN.Or(bothALPN())
	for _, leg := range []*Leg{&full.Downstream, &full.Outer} {
		if leg.MaxConcurrentStreams == 0 {
			leg.MaxConcurrentStreams = defaultStreams
		}
	}
	if full.Log == nil {
		full.Log = new(netlog.Log)
	}
	if full.CA != nil {
		return &full, nil
	}
	authority, err := ca.Generate(&ca.Config{Name: "wiretest mitm CA"})
	if err != nil {
		return nil, fmt.Errorf("mitm: default CA: %w", err)
	}
	full.CA = authority
	return &full, nil
}

func (c *Config) validate() error {
	if wire.IsTypedNil(c.Net) {
		return fmt.Errorf("Config.Net: typed nil %T", c.Net)
	}
	if err := c.Downstream.validateDownstream(); err != nil {
		return fmt.Errorf("downstream leg: %w", err)
	}
	if err := c.Upstream.validateUpstream(); err != nil {
		return fmt.Errorf("upstream leg: %w", err)
	}
	if err := c.validateModes(); err != nil {
		return err
	}
	if c.RootCAs != nil && c.Upstream.TLS != nil && c.Upstream.TLS.RootCAs != nil {
		return errors.New("upstream leg: TLS.RootCAs and Config.RootCAs are both set: only one can count")
	}
	for i, entry := range c.Passthrough {
		if _, err := parsePattern(entry); err != nil {
			return fmt.Errorf("Config.Passthrough[%d]: %q: %w", i, entry, err)
		}
	}
	return c.validateRules()
}

func (l *Leg) validateDownstream() error {
	switch {
	case l.MaxConns != 0:
		return errors.New("MaxConns is for the upstream leg")
	case l.PerClient:
		return errors.New("PerClient is for the upstream leg")
	case l.HTTP3 != nil:
		return errors.New("HTTP3 is for the upstream leg; with clients it is Config.HTTP3")
	}
	if l.Mirror && !l.ALPN.IsZero() {
		return fmt.Errorf("Mirror and ALPN %v are both set: Mirror leaves the choice to the origin", l.ALPN)
	}
	if l.TLS != nil && l.TLS.GetConfigForClient != nil {
		return errors.New("TLS.GetConfigForClient: the proxy decides by CONNECT target and ALPN; set the other fields")
	}
	return l.validate(true)
}

func (l *Leg) validateUpstream() error {
	if l.Mirror {
		return errors.New("Mirror is for the downstream leg")
	}
	if err := l.validate(false); err != nil {
		return err
	}
	return l.validateHTTP3()
}

func (l *Leg) validate(downstream bool) error {
	if err := l.ALPN.Validate(); err != nil {
		return fmt.Errorf("ALPN: %w", err)
	}
	spoken := []string{alpn.H2, alpn.HTTP11}
	for _, proto := range l.ALPN.Protocols() {
		if !slices.Contains(spoken, proto) {
			return fmt.Errorf("ALPN: %v: the proxy does not speak %q, only %q", l.ALPN, proto, spoken)
		}
	}
	if l.TLS != nil && len(l.TLS.NextProtos) > 0 {
		return fmt.Errorf("TLS.NextProtos: %q: must be empty, ALPN rules", l.TLS.NextProtos)
	}
	if err := cmp.Or(
		wire.CheckCount("MaxConcurrentStreams", l.MaxConcurrentStreams),
		wire.CheckCount("StreamWindow", l.StreamWindow),
		wire.CheckConnWindow("ConnWindow", l.ConnWindow),
		wire.CheckCount("MaxConns", l.MaxConns),
	); err != nil {
		return err
	}
	if l.Speak != "" && !slices.Contains(spoken, l.Speak) {
		return fmt.Errorf("Speak: %q: the proxy does not speak it, only %q", l.Speak, spoken)
	}
	return l.validateFaults(downstream)
}

func (l *Leg) validateFaults(downstream bool) error {
	if err := wire.CheckFaults("Faults", l.Faults); err != nil {
		return err
	}
	for i := range l.ConnectionFaults {
		if err := l.ConnectionFaults[i].validate(downstream); err != nil {
			return fmt.Errorf("ConnectionFaults[%d]: %w", i, err)
		}
	}
	return nil
}
