package mitm

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// Proxy is an intercepting proxy that runs. URL and Addr are not to be changed.
type Proxy struct {
	URL  string // scheme by the first Mode, and Addr, without a slash at the end
	Addr string // host:port, which all modes share: an address of loopback, or a name in Config.Net

	ca          *ca.Authority
	log         *netlog.Log
	net         Net // nil is loopback
	url         *url.URL
	access      wire.Access
	mode        Mode
	auth        *url.Userinfo
	origin      route // of Reverse
	via         *url.URL
	dialOrigin  wire.DialFunc // nil dials from net
	passthrough []pattern
	stripAltSvc bool
	hooks       Hooks
	outerTLS    *tls.Config
	outerLeg    Leg
	outerServer *wire.Server // HTTP/2 with the proxy itself
	buffers     sync.Pool    // *[bufferSize]byte

	*policy           // of all hosts that no rule is about
	rules   []*policy // the first that matches decides

	ctx       context.Context // ends when Close begins
	cancel    context.CancelFunc
	listeners []net.Listener
	endHTTP3  func(context.Context) error // nil is that there is none
	running   sync.WaitGroup              // accept loops, clients' connections, and what goes on beside; Close waits
	closer    wire.Closer

	mu       sync.Mutex
	clients  map[*netlog.ConnectionRecord]*client // open ones; guarded by mu
	mirrored map[string]*wire.ClientConn          // the last one by key; guarded by mu
	noQUIC   map[target]bool                      // origins that QUIC did not reach; guarded by mu
}

// New starts a proxy for one test. It is ready when New returns, and closed by
// tb.Cleanup; what then still runs fails tb, by name. A mistaken cfg fails tb
// at once.
func New(tb testing.TB, cfg *Config) *Proxy {
	tb.Helper()
	own := Config{}
	if cfg != nil {
		own = *cfg
	}
	if own.Log == nil {
		own.Log = netlog.New(tb)
	}
	p, err := Start(&own)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// Start starts a proxy, which the caller closes. It is ready when Start
// returns. The error names the field of cfg that is mistaken, and its value.
func Start(cfg *Config) (*Proxy, error) {
	c, err := cfg.resolved()
	if err != nil {
		return nil, err
	}
	p := newProxy(c)
	open, err := wire.Listen(c.Net, 0, c.HTTP3 != nil)
	if err != nil {
		return nil, fmt.Errorf("mitm: listen: %w", err)
	}
	p.listeners = open.TCP
	p.Addr = p.listeners[0].Addr().String()
	p.access = wire.Access{Fixture: "mitm", Addr: p.Addr, InNet: c.Net != nil}
	p.url = p.address(p.mode.first())
	p.URL = p.url.String()
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.startWire(c)
	if err := p.startHTTP3(c, open.UDP); err != nil {
		p.Close()
		return nil, fmt.Errorf("mitm: %w", err)
	}
	for _, l := range p.listeners {
		p.running.Go(func() { p.accept(l) })
	}
	return p, nil
}

// newProxy is all of a proxy that need not be closed.
func newProxy(c *Config) *Proxy {
	p := &Proxy{
		ca:          c.CA,
		log:         c.Log,
		net:         c.Net,
		mode:        c.Mode,
		auth:        c.Auth,
		dialOrigin:  c.Dial,
		outerLeg:    c.Outer,
		stripAltSvc: c.StripAltSvc,
		hooks:       c.Hooks,
		clients:     make(map[*netlog.ConnectionRecord]*client),
		mirrored:    make(map[string]*wire.ClientConn),
		noQUIC:      make(map[target]bool),
	}
	p.buffers.New = func() any { return new([bufferSize]byte) }
	p.origin, _ = parseOrigin(c.Origin) // both checked by resolved
	p.via, _ = parseVia(c.Via)
	for _, entry := range c.Passthrough {
		pat, _ := parsePattern(entry) // checked by resolved
		p.passthrough = append(p.passthrough, pat)
	}
	p.configureOuter(c)
	return p
}

// startWire makes what speaks HTTP; Close closes it.
func (p *Proxy) startWire(c *Config) {
	p.newPolicies(c)
	p.outerServer = wire.NewServer(wire.ServerConfig{
		Handler:              http.HandlerFunc(p.serveOuter),
		MaxConcurrentStreams: c.Outer.MaxConcurrentStreams,
		StreamWindow:         c.Outer.StreamWindow,
		ConnWindow:           c.Outer.ConnWindow,
		Heads:                true, // for :scheme
	})
}

// CA is the authority that clients have to trust: Config.CA, or the proxy's
// own.
func (p *Proxy) CA() *ca.Authority { return p.ca }

// Log is where the proxy records: Config.Log, or its own. Its connections and
// requests are on the legs Downstream and Upstream; a request of one leg names
// the one of the other by its Pair.
func (p *Proxy) Log() *netlog.Log { return p.log }
