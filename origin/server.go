package origin

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/netlog/wire"
)

// Server is an origin that runs. URL and Addr are not to be changed.
type Server struct {
	URL  string // "https://", or "http://" where it is Plain, and Addr, without a slash at the end
	Addr string // host:port: an address of loopback, or a name in Config.Net

	ca      *ca.Authority
	alpn    alpn.Policy
	log     *netlog.Log
	access  wire.Access
	page    *Page // nil where Config.Handler serves
	reports *inbox
	plain   bool
	tls     *tls.Config
	wire    *wire.Server
	port    int
	altSvc  atomic.Pointer[string] // what answers say; nil or "" is nothing

	h3      *h3.Server  // nil serves no HTTP/3
	quicTLS *tls.Config // the same
	qlog    *h3.Qlog    // nil keeps none

	connectionFaults []ConnectionFault
	bend             func(*wire.Control) // Config.Prepare
	idler            *idler              // nil closes nothing

	ctx       context.Context // ends when Close begins
	cancel    context.CancelFunc
	listeners []net.Listener
	running   sync.WaitGroup // accept loops and connections; Close waits
	accepted  atomic.Int64
	closer    wire.Closer

	mu      sync.Mutex
	open    map[*netlog.ConnectionRecord]struct{} // guarded by mu
	dialers []*h3.Dialer                          // guarded by mu
}

// New starts an origin for one test. It is ready when New returns, and closed
// by tb.Cleanup; what then still runs fails tb, by name. A mistaken cfg fails
// tb at once.
func New(tb testing.TB, cfg *Config) *Server {
	tb.Helper()
	own := Config{}
	if cfg != nil {
		own = *cfg
	}
	if own.Log == nil {
		own.Log = netlog.New(tb)
	}
	complaints := new(complaints)
	if own.ErrorLog == nil {
		own.ErrorLog = complaints.logger()
	}
	var qlog *h3.Qlog
	if _, measures := tb.(*testing.B); own.HTTP3 != nil && !measures {
		qlog = new(h3.Qlog)
	}
	s, err := start(&own, qlog)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() && qlog != nil {
			keepQlog(tb, qlog)
		}
		if text := complaints.String(); tb.Failed() && text != "" {
			tb.Logf("HTTP server of %s:\n%s", s.URL, text)
		}
	})
	return s
}

// Start starts an origin, which the caller closes. It is ready when Start
// returns. The error names the field of cfg that is mistaken, and its value.
func Start(cfg *Config) (*Server, error) { return start(cfg, nil) }

func start(cfg *Config, qlog *h3.Qlog) (*Server, error) {
	c, err := cfg.resolved()
	if err != nil {
		return nil, err
	}
	open, err := wire.Listen(c.Net, c.Port, c.HTTP3 != nil && !c.HTTP3.Dead)
	if err != nil {
		return nil, fmt.Errorf("origin: listen: %w", err)
	}
	s := newServer(c, open.TCP)
	s.qlog = qlog
	if c.HTTP3 != nil {
		value := c.HTTP3.AltSvc.value(s.port)
		s.altSvc.Store(&value)
		if err := s.serveQUIC(c, open.UDP); err != nil {
			s.Close()
			return nil, fmt.Errorf("origin: %w", err)
		}
	}
	for _, l := range s.listeners {
		s.running.Go(func() { s.accept(l) })
	}
	return s, nil
}

// newServer is a Server that does not accept yet; Close closes its listeners.
func newServer(c *Config, listeners []net.Listener) *Server {
	s := &Server{
		Addr:             listeners[0].Addr().String(),
		ca:               c.CA,
		alpn:             c.ALPN,
		log:              c.Log,
		plain:            c.Plain,
		tls:              c.serverTLS(),
		connectionFaults: c.ConnectionFaults,
		bend:             c.Prepare,
		listeners:        listeners,
		open:             make(map[*netlog.ConnectionRecord]struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.access = wire.Access{Fixture: "origin", Addr: s.Addr, InNet: c.Net != nil}
	s.port = portOf(s.Addr)
	s.URL = "https://" + s.Addr
	if c.Plain {
		s.URL = "http://" + s.Addr
	}
	if c.IdleTimeout > 0 {
		s.idler = newIdler(c.IdleTimeout, c.IdleReset)
	}
	s.wire = wire.NewServer(wire.ServerConfig{
		Handler:              s.advertising(s.watched(s.handler(c))),
		StreamWindow:         c.StreamWindow,
		ConnWindow:           c.ConnWindow,
		Prepare:              s.prepare,
		MaxConcurrentStreams: c.MaxConcurrentStreams,
		Faults:               c.Faults,
		Heads:                true,
		Speak:                c.speak(),
		ErrorLog:             c.ErrorLog,
	})
	return s
}

func (s *Server) handler(c *Config) http.Handler {
	if c.Handler != nil {
		return c.Handler
	}
	page := c.Page.orPublished()
	s.page, s.reports = &page, newInbox()
	return newPageHandler(page, s.reports)
}

// watched tells the idler of requests.
func (s *Server) watched(next http.Handler) http.Handler {
	if s.idler == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := wire.ConnectionOf(r)
		s.idler.begin(rec, wire.RequestOf(r))
		defer func() {
			if !wire.IsHijacked(r) { // else it is the handler's, which may have returned
				s.idler.end(rec)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) prepare(c *wire.Control) {
	if s.idler != nil {
		s.idler.watch(c)
	}
	if s.bend != nil {
		s.bend(c)
	}
}

// portOf is the port of a listener's own address.
func portOf(addr string) int {
	_, text, _ := net.SplitHostPort(addr)
	port, _ := strconv.Atoi(text)
	return port
}

// RotateTickets makes new keys for session tickets: those that were given out
// resume nothing anymore. Tickets are switched off by Config.TLS.
func (s *Server) RotateTickets() {
	var key [32]byte
	rand.Read(key[:])
	s.tls.SetSessionTicketKeys([][32]byte{key})
	if s.quicTLS != nil {
		s.quicTLS.SetSessionTicketKeys([][32]byte{key})
	}
}

// CA is the authority that issues the origin's certificates: Config.CA, or the
// origin's own.
func (s *Server) CA() *ca.Authority { return s.ca }

// Log is where the origin records: Config.Log, or its own.
func (s *Server) Log() *netlog.Log { return s.log }

// Assets are the URLs of the page's subresources in page order, without the
// document; nil where Config.Handler serves.
func (s *Server) Assets() []string {
	if s.page == nil {
		return nil
	}
	paths := s.page.Paths()
	for i, path := range paths {
		paths[i] = s.URL + path
	}
	return paths
}

// Close cancels the contexts of all requests, closes every connection, hijacked or
// not, every listener, the idle connections of every Transport that was given out, and
// all those of every HTTP3Transport. It waits for the handlers, 5 seconds at most;
// then its error names what still runs. Close may be called again, and says the same.
func (s *Server) Close() error { return s.closer.Close("origin", s.shutdown) }

func (s *Server) shutdown(ctx context.Context) error {
	s.cancel()
	for _, l := range s.listeners {
		l.Close() // in a network that was closed before, it is closed already
	}
	held := make(chan error, 1)
	go func() { held <- s.closeQUIC(ctx) }() // side by side: each ends the contexts of its own handlers
	err := s.wire.Close(ctx)
	s.access.Close()
	err = cmp.Or(err, <-held)
	if !wire.Await(ctx, &s.running) && err == nil {
		err = s.leftOpen() // where handlers still run so do their connections: the handlers are the news
	}
	return err
}

func (s *Server) leftOpen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.LeftOpen(maps.Keys(s.open))
}
