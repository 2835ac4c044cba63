package mitm_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

const ms = time.Millisecond

// clients are how many net/http clients a life has.
const clients = 2

var lives = flag.Int("lives", 40, "how many lives of a proxy FuzzLives runs, by the seeds from 0")

// FuzzLives has a proxy live among clients, an origin and links that do what they
// may, at random: nothing hangs, what arrives whole is what was sent, and the logs
// of all agree. One of them is run by
//
//	go test -race -run 'FuzzLives/seed#7$' ./mitm
func FuzzLives(f *testing.F) {
	for seed := range *lives {
		f.Add(uint64(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		l := drawLife(seed)
		over := false
		defer func() {
			if !over || t.Failed() { // a bubble that never ends panics, and only what is printed is seen
				fmt.Fprint(os.Stderr, l)
			}
		}()
		defer time.AfterFunc(time.Minute, func() { bark(l) }).Stop()
		synctest.Test(t, l.live)
		over = true
	})
}

// bark ends the tests where virtual time stands still, as it does while somebody
// waits for a lock whose holder sleeps.
func bark(l *life) {
	fmt.Fprintf(os.Stderr, "a life does not end:\n%s\n%s\n", l, stacks())
	panic("a life does not end")
}

// living is a life that is lived.
type living struct {
	*life
	t       *testing.T
	network *linkdelay.Network
	site    *origin.Server
	proxy   *mitm.Proxy
	behind  *mitm.Proxy // Config.Via; nil is none
	echo    string      // address of what sends everything back
	clients []*http.Client
	log     *netlog.Log // of the clients
	ctx     context.Context
	leave   context.CancelFunc // of all clients
	asking  sync.WaitGroup
}

func (l *life) live(t *testing.T) {
	w := l.begin(t)
	defer w.leave()
	for _, e := range l.events {
		w.asking.Go(func() {
			time.Sleep(e.at)
			e.do(w)
		})
	}
	time.Sleep(10 * time.Second) // all has begun, and all weather is over
	w.calmDown()
	switch {
	case l.strands:
	case l.mayKeep():
		time.Sleep(20 * time.Minute)
		w.leave()
	default:
		w.await("to be answered", 20*time.Minute)
	}
	time.Sleep(time.Second) // for what is on its way
	w.agree()
	w.end()
	w.leave()
	w.await("to end, all being closed", time.Minute)
	synctest.Wait() // net/http ends a stream behind the request's back, and its connection rests then
	w.close("clients")
	time.Sleep(time.Second) // for the last ends to arrive
	if l.speaksHTTP3() {
		time.Sleep(time.Minute) // of which a side may learn by silence alone
	}
	w.requireClosed()
}

// begin sets up what a life has.
func (l *life) begin(t *testing.T) *living {
	network := linkdelay.NewNetwork(t, linkdelay.Link{})
	w := &living{life: l, t: t, network: network, log: new(netlog.Log)}
	for i, ends := range l.wires() {
		network.SetLink(ends[0], ends[1], l.links[i])
	}
	w.echo = accepting(t, network.Host("echo.test"), func(conn net.Conn) {
		if _, err := io.Copy(conn, conn); err == nil {
			conn.(interface{ CloseWrite() error }).CloseWrite()
		}
	})
	site := l.origin
	site.Net, site.Handler = network.Host("origin.test"), http.HandlerFunc(w.serve)
	w.site = origin.New(t, &site)
	authority := ca.New(t, nil)
	if l.via != "" {
		w.behind = w.newBehind(authority)
	}
	w.proxy = w.newProxy(authority)
	w.ctx, w.leave = context.WithCancel(context.Background())
	for _, quic := range l.quic {
		w.clients = append(w.clients, w.newClient(quic))
	}
	return w
}

func (w *living) newBehind(authority *ca.Authority) *mitm.Proxy {
	scheme, user, _ := strings.Cut(w.via, "://")
	cfg := mitm.Config{
		CA: authority, Net: w.network.Host("via.test"), Passthrough: []string{"origin.test", "echo.test"},
		Mode: map[string]mitm.Mode{"http": mitm.Explicit, "https": mitm.ExplicitTLS, "socks5": mitm.SOCKS5}[scheme],
	}
	if user != "" {
		cfg.Auth = secret
	}
	return mitm.New(w.t, &cfg)
}

func (w *living) newProxy(authority *ca.Authority) *mitm.Proxy {
	cfg := w.life.proxy
	cfg.Hooks = w.hooks()
	cfg.Net, cfg.CA, cfg.Via = w.network.Host("proxy.test"), authority, ""
	cfg.RootCAs = w.site.CA().Pool()
	cfg.RootCAs.AddCert(authority.Root()) // of Via
	if w.behind != nil {
		cfg.Via = w.via + w.behind.Addr
	}
	if cfg.Mode == mitm.Reverse {
		cfg.Origin = w.site.URL
	}
	if w.isTransparent() {
		cfg.Dial = func(ctx context.Context, proto, addr string) (net.Conn, error) {
			if strings.HasPrefix(addr, "origin.test:") {
				addr = w.site.Addr
			}
			return w.network.Host("proxy.test").DialContext(ctx, proto, addr)
		}
	}
	return mitm.New(w.t, &cfg)
}

func (w *living) newClient(quic bool) *http.Client {
	if quic {
		return &http.Client{Transport: h3.Transport(w.proxy, w.network.Host("pc.test"))}
	}
	return &http.Client{Transport: netlog.NewTransport(w.transport(), w.log)}
}

func (w *living) transport() *http.Transport { return w.proxy.Transport(w.network.Host("pc.test")) }

// wire is the link of that number in life.wires.
func (w *living) wire(which int) *linkdelay.Wire {
	ends := w.wires()[which]
	return w.network.Wire(ends[0], ends[1])
}

// calmDown takes back what holds bytes up.
func (w *living) calmDown() {
	for i := range w.wires() {
		wire := w.wire(i)
		wire.Heal()
		wire.Resume(linkdelay.Up)
		wire.Resume(linkdelay.Down)
		wire.SetLink(linkdelay.RTT(20 * ms))
	}
}

// close closes one of those that take part, for good or, for clients, what is idle.
func (w *living) close(what string) {
	began := time.Now()
	switch {
	case what == "proxy":
		assert.NoError(w.t, w.proxy.Close())
	case what == "origin":
		assert.NoError(w.t, w.site.Close())
	case what == "via" && w.behind != nil:
		assert.NoError(w.t, w.behind.Close())
	case what == "network":
		assert.NoError(w.t, w.network.Close())
	case what == "clients":
		for _, c := range w.clients {
			if quic, ok := c.Transport.(*h3.ClientTransport); ok {
				assert.NoError(w.t, quic.Close())
				continue
			}
			c.CloseIdleConnections()
		}
	}
	assert.Less(w.t, time.Since(began), 2*time.Second, "to close %s", what)
}

// end closes all.
func (w *living) end() {
	var closing sync.WaitGroup
	for _, what := range w.ends {
		closing.Go(func() { w.close(what) })
		if !w.atOnce {
			closing.Wait()
		}
	}
	closing.Wait()
}

// await waits for what clients ask.
func (w *living) await(what string, most time.Duration) {
	w.t.Helper()
	done := make(chan struct{})
	go func() {
		w.asking.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(most):
		fmt.Fprintf(os.Stderr, "%s\n%s\nproxy:\n%s\norigin:\n%s\n", w.life, stacks(), w.proxy.Log(), w.site.Log())
		w.t.Errorf("hangs: what clients ask has %v %s", most, what)
		w.leave()
	}
}

// requireEnded wants nothing in a ledger to be open.
func (w *living) requireEnded(whose string, log *netlog.Log) {
	for _, c := range log.Connections() {
		if c.Closed.IsZero() || c.CloseReason == "" {
			w.t.Errorf("%s: connection %d on leg %q is not closed:\n%s", whose, c.ID, c.Leg, log)
		}
	}
	for _, q := range log.Requests() {
		if q.End.IsZero() {
			w.t.Errorf("%s: request %d on leg %q has not ended:\n%s", whose, q.ID, q.Leg, log)
		}
	}
}

// requireServed wants the origin to have answered what a client says it did.
func (w *living) requireServed(log *netlog.Log) {
	served := make(map[int]bool)
	for _, q := range w.site.Log().Requests(netlog.Status(http.StatusOK)) {
		served[numbered(q).n] = true
	}
	for _, q := range log.Requests(netlog.Status(http.StatusOK)) {
		if n := numbered(q).n; !served[n] && w.hookedRequest != answers {
			w.t.Errorf("ask %d: a client has got 200, and the origin has not said it:\n%s", n, w.site.Log())
		}
	}
}

// requireClosed wants the logs to be complete when all is over.
func (w *living) requireClosed() {
	w.requireEnded("clients", w.log)
	w.requireEnded("proxy", w.proxy.Log())
	w.requireEnded("origin", w.site.Log())
	if w.behind != nil {
		w.requireEnded("via", w.behind.Log())
	}
	w.requireServed(w.log)
}

// agree wants both ends to say the same.
func (w *living) agree() {
	for _, p := range w.proxy.Log().Pairs() {
		c, o := p.Client, p.Origin
		if c.Err == "" && o.Err == "" && c.Status == o.Status && !c.End.IsZero() && !o.End.IsZero() && c.BodyBytesDown != o.BodyBytesDown {
			w.t.Errorf("client got %d bytes, origin sent %d:\n%v", c.BodyBytesDown, o.BodyBytesDown, netlog.Pairs{p})
		}
	}
	if w.breaks || w.leaves || w.behind != nil {
		return
	}
	ends := make(map[string]netlog.Connection)
	for _, c := range w.site.Log().Connections() {
		ends[c.Remote] = c
	}
	for _, c := range w.proxy.Log().Connections(mitm.Upstream) {
		o, ok := ends[c.Local]
		if !ok || c.Tunnel || c.Network != o.Network || !c.Used() { // one that was closed unused has not read what was sent to it
			continue
		}
		if c.BytesUp != o.BytesUp || c.BytesDown != o.BytesDown || c.Requests != o.Requests {
			w.t.Errorf("the ends of connection %d differ: upstream %+v, origin %+v", c.ID, c, o)
		}
	}
}
