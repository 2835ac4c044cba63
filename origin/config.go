package origin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"slices"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// Net is a place in a network: a *linkdelay.Host is one. Its methods are those
// of net.ListenConfig and net.Dialer.
type Net = interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config says what an origin serves, and how. A nil Config, and the zero value
// of every field, work.
type Config struct {
	// CA issues the certificates. nil is an authority of this origin's own,
	// named "wiretest origin CA", which Server.CA returns.
	CA *ca.Authority

	// Net is where the origin listens, at Port. nil is loopback: the same port
	// of 127.0.0.1 and, where there is one, of [::1].
	Net Net

	// Handler answers the requests. wire.RequestOf and wire.ConnectionOf of
	// package netlog/wire give it the records of what it serves. Over HTTP/1.1,
	// where a client that has left can still be written to, one that then returns
	// has answered 200; to panic with http.ErrAbortHandler is to answer nothing. nil
	// is Page.
	Handler http.Handler

	// Page is what is served where Handler is nil; both is an error. A nil
	// Page is the published one (see Page), any other is taken literally.
	Page *Page

	// TLS is the server's side of TLS: client certificates, versions, tickets.
	// It is cloned. Its own Certificates or GetCertificate are used where it, or
	// what its GetConfigForClient returns, has them; otherwise CA issues a leaf
	// for the name that the client asks for, or for the local address. ALPN, not
	// NextProtos, says what is accepted; NextProtos with another content is an
	// error.
	TLS *tls.Config

	// ALPN is what the origin accepts. Zero is Prefer(h2, http/1.1). A client
	// with which no protocol is agreed on is served http/1.1.
	ALPN alpn.Policy

	// WrongALPN has ALPN lie. nil does not.
	WrongALPN *WrongALPN

	// HTTP3 serves HTTP/3 beside, on UDP. nil does not.
	HTTP3 *HTTP3

	// Port is where to listen, as an origin does that is started again; one that
	// is taken is an error. 0 is any that is free, for TCP and UDP alike.
	Port int

	// Plain serves without TLS: HTTP/1.1, and HTTP/2 by prior knowledge (RFC
	// 9113, section 3.3), which the ledger shows as its ALPN; whatever of the two
	// ALPN lists. TLS is to be nil.
	Plain bool

	// MaxConcurrentStreams is the limit that HTTP/2 clients are told of
	// (SETTINGS_MAX_CONCURRENT_STREAMS, RFC 9113, section 6.5.2). A client can exceed
	// it until it has read that, and what exceeds it is refused. 0 is 256.
	MaxConcurrentStreams int

	// StreamWindow and ConnWindow are how much an HTTP/2 client may upload, on a
	// stream and on all of a connection, before it has to wait for leave: bytes.
	// 0 is net/http's 1 MiB. Tiny ones make uploads slow on a long link. A client
	// that uploads before it has read the settings may send 64 KiB (RFC 9113, section
	// 6.9.2); where a window is smaller net/http resets it by FLOW_CONTROL_ERROR. A
	// connection's window, which begins with that, cannot be below 65,535.
	StreamWindow, ConnWindow int

	// Faults are what goes wrong on purpose, with which requests.
	Faults []Fault
	// ConnectionFaults are the same for connections. The first that is meant for
	// a connection has it.
	ConnectionFaults []ConnectionFault

	// IdleTimeout is after how long without a request a connection is closed. 0
	// is never; but a TLS handshake is given up after 30 s. What a handler has
	// hijacked rests as long as it likes. With IdleReset the connection is reset,
	// where it can be.
	IdleTimeout time.Duration
	IdleReset   bool

	// Prepare is called for each connection behind the handshake, before
	// anything is said on it, and can bend its protocol: LateSettings, for one.
	// nil does nothing.
	Prepare func(*wire.Control)

	// Log is where connections and requests are recorded. nil is a Log of this
	// origin's own, which Server.Log returns; one that New made is printed when
	// the test fails.
	Log *netlog.Log

	// ErrorLog gets what the HTTP server complains about, such as panics of
	// Handler. nil: New keeps it and prints it when the test fails, Start
	// discards it.
	ErrorLog *log.Logger
}

const defaultStreams = 256

// resolved is a copy of c, nil or not, that has been checked and in which
// every default is filled in.
func (c *Config) resolved() (*Config, error) {
	full := Config{}
	if c != nil {
		full = *c
	}
	full.ALPN = full.ALPN.Or(alpn.Prefer(alpn.H2, alpn.HTTP11))
	if err := full.validate(); err != nil {
		return nil, fmt.Errorf("origin: %w", err)
	}
	if full.MaxConcurrentStreams == 0 {
		full.MaxConcurrentStreams = defaultStreams
	}
	if full.Log == nil {
		full.Log = new(netlog.Log)
	}
	if full.CA != nil {
		return &full, nil
	}
	authority, err := ca.Generate(&ca.Config{Name: "wiretest origin CA"})
	if err != nil {
		return nil, fmt.Errorf("origin: default CA: %w", err)
	}
	full.CA = authority
	return &full, nil
}

// validate checks a copy in which ALPN is filled in.
func (c *Config) validate() error {
	if wire.IsTypedNil(c.Net) {
		return fmt.Errorf("Config.Net: typed nil %T", c.Net)
	}
	if wire.IsTypedNil(c.Handler) {
		return fmt.Errorf("Config.Handler: typed nil %T", c.Handler)
	}
	if body, ok := c.Handler.(interface{ validate() error }); ok { // Body or *Body
		if err := body.validate(); err != nil {
			return fmt.Errorf("Config.Handler: Body: %w", err)
		}
	}
	if c.Handler != nil && c.Page != nil {
		return errors.New("Config.Handler and Config.Page are both set: only one can answer")
	}
	if err := c.Page.validate(); err != nil {
		return err
	}
	if err := wire.CheckFaults("Config.Faults", c.Faults); err != nil {
		return err
	}
	if err := validConnectionFaults(c.ConnectionFaults); err != nil {
		return err
	}
	if c.Plain && c.TLS != nil {
		return errors.New("Config.Plain and Config.TLS are both set: without TLS it rules nothing")
	}
	if err := c.WrongALPN.validate(c.Plain); err != nil {
		return err
	}
	if err := c.validSizes(); err != nil {
		return err
	}
	if err := c.validHTTP3(); err != nil {
		return err
	}
	return validALPN(c.ALPN, c.TLS)
}

func (c *Config) validSizes() error {
	if err := cmp.Or(
		wire.CheckCount("Config.MaxConcurrentStreams", c.MaxConcurrentStreams),
		wire.CheckCount("Config.StreamWindow", c.StreamWindow),
		wire.CheckConnWindow("Config.ConnWindow", c.ConnWindow),
	); err != nil {
		return err
	}
	switch {
	case c.Port < 0 || c.Port > math.MaxUint16:
		return fmt.Errorf("Config.Port: %d: must be from 0 to %d", c.Port, math.MaxUint16)
	case c.IdleTimeout < 0:
		return fmt.Errorf("Config.IdleTimeout: %v is negative", c.IdleTimeout)
	case c.IdleTimeout == 0 && c.IdleReset:
		return errors.New("Config.IdleReset without IdleTimeout: nothing would be reset")
	}
	return nil
}

// validALPN refuses what would be negotiated and then not be spoken, and a TLS
// configuration that means to rule over the policy.
func validALPN(policy alpn.Policy, cfg *tls.Config) error {
	if err := policy.Validate(); err != nil {
		return fmt.Errorf("Config.ALPN: %w", err)
	}
	spoken := []string{alpn.H2, alpn.HTTP11, alpn.HTTP10}
	for _, proto := range policy.Protocols() {
		if !slices.Contains(spoken, proto) {
			return fmt.Errorf("Config.ALPN: %v: the origin does not speak %q, only %q", policy, proto, spoken)
		}
	}
	if cfg == nil || cfg.NextProtos == nil || slices.Equal(cfg.NextProtos, policy.Protocols()) {
		return nil
	}
	return fmt.Errorf("Config.TLS.NextProtos: %q contradicts Config.ALPN %v: leave it empty, ALPN rules", cfg.NextProtos, policy)
}

// speak is for wire.ServerConfig: what is spoken whatever a client has asked for; "" is
// what was agreed on. Without TLS a client that says nothing of HTTP/2 has agreed on
// HTTP/1.1, if that is accepted.
func (c *Config) speak() string {
	switch {
	case c.WrongALPN != nil:
		return c.WrongALPN.Speak
	case c.Plain && slices.Equal(c.ALPN.Protocols(), []string{alpn.H2}):
		return alpn.H2
	}
	return ""
}

// serverTLS is the server's side of every handshake over TCP.
func (c *Config) serverTLS() *tls.Config { return c.choosing(c.baseTLS()) }

// baseTLS is new, and says nothing of ALPN.
func (c *Config) baseTLS() *tls.Config {
	issued := c.CA.ServerTLS()
	if c.TLS == nil {
		return issued
	}
	own := certified(c.TLS.Clone(), issued)
	if ask := own.GetConfigForClient; ask != nil {
		own.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			asked, err := ask(hello)
			if asked == nil || err != nil {
				return nil, err
			}
			return certified(asked.Clone(), issued), nil
		}
	}
	return own
}

// choosing is cfg with the protocols that are chosen from.
func (c *Config) choosing(cfg *tls.Config) *tls.Config {
	if c.WrongALPN != nil && c.WrongALPN.Select != "" {
		return c.WrongALPN.server(cfg)
	}
	return c.ALPN.Server(cfg)
}

// certified is cfg, with the certificates of issued where it has none.
func certified(cfg, issued *tls.Config) *tls.Config {
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil {
		cfg.Certificates, cfg.GetCertificate = issued.Certificates, issued.GetCertificate
	}
	return cfg
}
