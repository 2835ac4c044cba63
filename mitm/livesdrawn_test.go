package mitm_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// life is all that befalls a proxy and those around it. It is drawn from its seed
// before it begins, so that a seed is a life, whatever the scheduler does.
type life struct {
	seed   uint64
	rng    *rand.Rand
	told   []string // what is as it is all along
	origin origin.Config
	proxy  mitm.Config   // without what has to be there first
	via    string        // beginning of Config.Via
	quic   [clients]bool // which clients speak HTTP/3
	links  []linkdelay.Link
	events []happening
	ends   []string // what is closed, in this order, when all has happened
	atOnce bool     // the ends come at one instant

	hookedRequest, hookedResponse string // what hooks do; "" is that there is none

	breaks  bool // something may make a request fail
	leaves  bool // a client does
	limits  bool // clients may learn of a limit of streams when they have begun
	strands bool // something may stop a request for ever
}

// happening is something that happens at a time of a life.
type happening struct {
	at   time.Duration
	what string
	do   func(*living)
}

func drawLife(seed uint64) *life {
	l := &life{seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}
	l.drawWay()
	l.drawLegs()
	l.drawOrigin()
	l.drawHTTP3()
	l.drawLinks()
	if l.sometimes() {
		l.drawFaults()
	}
	if l.sometimes() {
		l.drawHooks()
	}
	for n := range 1 + l.n(10) {
		l.drawAsk(n)
	}
	for range l.n(6) {
		l.drawControl()
	}
	for range l.n(2) * l.n(6) {
		l.drawWeather()
	}
	if l.sometimes() {
		for range 1 + l.n(3) {
			l.drawHarm()
		}
	}
	l.drawEnds()
	return l
}

func (l *life) n(below int) int { return l.rng.IntN(below) }

func (l *life) sometimes() bool { return l.n(4) == 0 }

func (l *life) tell(format string, args ...any) {
	l.told = append(l.told, fmt.Sprintf(format, args...))
}

func pick[T any](l *life, all ...T) T { return all[l.n(len(all))] }

// moment is often the very beginning, and else often one that others have too.
func (l *life) moment() time.Duration {
	return pick(l, 0, 0, time.Duration(l.n(20))*10*ms, time.Duration(l.n(3000))*ms)
}

func (l *life) add(at time.Duration, do func(*living), format string, args ...any) {
	l.events = append(l.events, happening{at, fmt.Sprintf(format, args...), do})
}

// String is a life for who has never seen it.
func (l *life) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the life of seed %d:\n", l.seed)
	for _, line := range l.told {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	inOrder := slices.Clone(l.events)
	slices.SortStableFunc(inOrder, func(a, b happening) int { return int(a.at - b.at) })
	for _, e := range inOrder {
		fmt.Fprintf(&b, "  at %-6v %s\n", e.at, e.what)
	}
	fmt.Fprintf(&b, "  in the end, at one instant: %v: close %s\n", l.atOnce, strings.Join(l.ends, ", "))
	fmt.Fprintf(&b, "  something breaks: %v; something may stop for ever: %v\n", l.breaks, l.strands)
	return b.String()
}

// drawWay says how clients come to the proxy, and it to the origin.
func (l *life) drawWay() {
	ways := append(eachMode(), inMode{name: "explicit"},
		inMode{name: "several modes", cfg: mitm.Config{Mode: mitm.Explicit | mitm.SOCKS5 | mitm.Transparent}})
	way := pick(l, ways...)
	l.proxy, l.via = way.cfg, way.cfg.Via
	if l.via == "" && l.sometimes() && !l.isTransparent() {
		l.via = pick(l, "http://", "https://user:secret@", "socks5://")
	}
	l.tell("clients come by: %s; the origin is reached via: %q", way.name, l.via)
}

func (l *life) isTransparent() bool { return l.proxy.Mode&mitm.Transparent != 0 }

func (l *life) policy() alpn.Policy {
	return pick(l, alpn.Policy{}, alpn.Policy{}, alpn.Only(alpn.HTTP11), alpn.Only(alpn.H2), alpn.Prefer(alpn.HTTP11, alpn.H2), alpn.None())
}

// drawLegs says how the proxy speaks on both sides.
func (l *life) drawLegs() {
	down, up := &l.proxy.Downstream, &l.proxy.Upstream
	up.ALPN = pick(l, alpn.Policy{}, alpn.Policy{}, alpn.Only(alpn.HTTP11), alpn.Prefer(alpn.H2, alpn.HTTP11), alpn.None())
	if down.Mirror = l.sometimes(); !down.Mirror {
		down.ALPN = l.policy()
	}
	up.PerClient = l.sometimes()
	for _, leg := range []*mitm.Leg{down, up} {
		leg.MaxConcurrentStreams = pick(l, 0, 0, 1, 3)
		leg.StreamWindow, leg.ConnWindow = pick(l, 0, 0, 1<<16), pick(l, 0, 0, 0, 1<<16)
		l.tell("%v leg: ALPN %v, %d streams, windows %d and %d, mirror %v, per client %v", l.nameOf(leg),
			leg.ALPN, leg.MaxConcurrentStreams, leg.StreamWindow, leg.ConnWindow, leg.Mirror, leg.PerClient)
	}
	if l.sometimes() {
		up.TLS = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(2)}
		l.tell("upstream leg: sessions are resumed")
	}
	l.proxy.StripAltSvc = l.n(2) == 0
	l.limits = down.MaxConcurrentStreams > 0
	up.MaxConns = pick(l, 0, 0, 1, 2)
	rule := mitm.Rule{Host: "origin.test", OriginFirst: l.sometimes()}
	if l.sometimes() {
		rule.Upstream.MaxConcurrentStreams = 2
	}
	l.tell("upstream leg: %d connections of http/1.1; the origin's rule: origin first %v, %d streams upstream", up.MaxConns, rule.OriginFirst, rule.Upstream.MaxConcurrentStreams)
	l.proxy.Rules = []mitm.Rule{{Host: "echo.test", Passthrough: true}, rule}
}

func (l *life) drawOrigin() {
	l.origin.Plain = l.n(6) == 0
	l.origin.ALPN = pick(l, alpn.Policy{}, alpn.Policy{}, alpn.Only(alpn.HTTP11), alpn.Prefer(alpn.HTTP11, alpn.H2))
	l.origin.MaxConcurrentStreams = pick(l, 0, 0, 1, 4)
	if l.n(6) == 0 {
		l.origin.IdleTimeout = pick(l, 50*ms, time.Second)
		l.breaks = true // a POST may come as its connection ends
	}
	if l.n(6) == 0 {
		l.origin.Prepare = origin.LateSettings(100 * ms)
	}
	l.tell("origin: plain %v, ALPN %v, %d streams, idle for %v, late settings %v", l.origin.Plain, l.origin.ALPN,
		l.origin.MaxConcurrentStreams, l.origin.IdleTimeout, l.origin.Prepare != nil)
}

// drawHTTP3 says who speaks it, where it may be.
func (l *life) drawHTTP3() {
	up, rule := &l.proxy.Upstream, &l.proxy.Rules[1]
	if l.proxy.Mode == mitm.Reverse && !l.origin.Plain && !l.proxy.Downstream.Mirror && l.n(2) == 0 {
		l.proxy.HTTP3 = h3.Downstream(nil)
		for i := range l.quic {
			l.quic[i] = l.n(2) == 0
		}
	}
	if l.via == "" && !l.isTransparent() && !l.origin.Plain && !l.proxy.Downstream.Mirror && !rule.OriginFirst && l.n(2) == 0 {
		l.origin.HTTP3, up.HTTP3 = new(origin.HTTP3), h3.Upstream(nil)
		up.ALPN, up.MaxConns = pick(l, alpn.Policy{}, alpn.Prefer(alpn.H2, alpn.HTTP11)), 0
	}
	l.tell("clients that speak HTTP/3: %v; the proxy and the origin do: %v, and else: %v", l.quic, up.HTTP3 != nil, up.ALPN)
}

// speaksHTTP3 reports whether anybody does.
func (l *life) speaksHTTP3() bool { return l.proxy.HTTP3 != nil || l.proxy.Upstream.HTTP3 != nil }

// mayKeep reports whether a stream that a client gave up may count against a limit
// for ever: netlog/h3 says why.
func (l *life) mayKeep() bool { return l.leaves && l.speaksHTTP3() }

// wires are the links that a life has: from a host to the next, and to echo.test.
func (l *life) wires() [][2]string {
	if l.via == "" {
		return [][2]string{{"pc.test", "proxy.test"}, {"proxy.test", "origin.test"}, {"proxy.test", "echo.test"}}
	}
	return [][2]string{{"pc.test", "proxy.test"}, {"proxy.test", "via.test"}, {"via.test", "origin.test"}, {"via.test", "echo.test"}}
}

func (l *life) link() linkdelay.Link {
	delay := time.Duration(pick(l, 0, 5, 20, 100)) * ms
	path := linkdelay.Path{Delay: delay, Jitter: delay / time.Duration(1+l.n(4)) / 2, Rate: pick[int64](l, 0, 0, 5_000_000)}
	if l.sometimes() {
		path.Loss = 0.05
	}
	return linkdelay.Link{Up: path, Down: path, Seed: l.rng.Uint64()}
}

func told(link linkdelay.Link) string {
	return fmt.Sprintf("delay %v, jitter %v, rate %d, loss %v, seed %d", link.Up.Delay, link.Up.Jitter, link.Up.Rate, link.Up.Loss, link.Seed)
}

func (l *life) drawLinks() {
	for _, ends := range l.wires() {
		link := l.link()
		l.links = append(l.links, link)
		l.tell("link from %s to %s: %s", ends[0], ends[1], told(link))
	}
}

// deed is a fault with its name.
type deed struct {
	name    string
	do      wire.Action
	strands bool
}

func (l *life) deed() deed {
	n := int64(l.n(2000))
	return pick(l,
		deed{"goes away", origin.GoAway, false}, deed{"serves its last", origin.LastOne, false}, deed{"refuses", origin.Refuse, false},
		deed{"resets", origin.Reset, false}, deed{"hangs", origin.Hang, true}, deed{"closes behind", origin.CloseBehind, false},
		deed{"sends no 100", origin.NoContinue, false}, deed{"pings", origin.Pings(20), false},
		deed{"calms", origin.GoAwayWith(http2.ErrCodeEnhanceYourCalm, "calm"), false},
		deed{fmt.Sprintf("resets after %d", n), origin.ResetAfter(n, http2.ErrCodeCancel), false},
		deed{fmt.Sprintf("closes after %d", n), origin.CloseAfter(n), false},
		deed{fmt.Sprintf("aborts after %d", n), origin.AbortAfter(n), false},
		deed{"allows one stream", origin.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}), false},
		deed{"takes small frames", origin.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100}), false},
	)
}

// drawFaults has something go wrong on purpose with some requests or connections.
func (l *life) drawFaults() {
	l.breaks = true
	for range 1 + l.n(3) {
		d, nth := l.deed(), 1+l.n(8)
		l.strands = l.strands || d.strands
		where := pick(l, "origin", "origin", "downstream", "upstream")
		fault := wire.Fault{Request: nth, Do: d.do}
		switch where {
		case "origin":
			l.origin.Faults = append(l.origin.Faults, fault)
		case "downstream":
			l.proxy.Downstream.Faults = append(l.proxy.Downstream.Faults, fault)
		case "upstream":
			l.proxy.Upstream.Faults = append(l.proxy.Upstream.Faults, fault)
		}
		l.tell("fault of %s: %s, at request %d", where, d.name, nth)
	}
	if l.sometimes() {
		l.drawConnectionFault()
	}
}

func (l *life) drawConnectionFault() {
	nth := 1 + l.n(3)
	leg := pick(l, &l.proxy.Downstream, &l.proxy.Upstream)
	if l.proxy.Upstream.HTTP3 != nil {
		leg = &l.proxy.Downstream // those of the other are for TCP
	}
	switch kind := pick(l, "drops", "is slow", "hangs up", "never shakes hands"); kind {
	case "drops":
		leg.ConnectionFaults = []mitm.ConnectionFault{{Connection: nth, DropAfter: int64(l.n(8000))}}
		l.tell("connection %d of the %s leg drops after %d", nth, l.nameOf(leg), leg.ConnectionFaults[0].DropAfter)
	case "is slow":
		leg.ConnectionFaults = []mitm.ConnectionFault{{Connection: nth, HandshakeDelay: time.Second}}
		l.tell("connection %d of the %s leg is slow to shake hands", nth, l.nameOf(leg))
	default:
		do := map[string]func(context.Context, net.Conn){"hangs up": origin.HangUpHard, "never shakes hands": origin.NeverShakeHands}[kind]
		l.origin.ConnectionFaults = []origin.ConnectionFault{{Connection: nth, Do: do}}
		l.strands = true
		l.tell("connection %d of the origin %s", nth, kind)
	}
}

func (l *life) nameOf(leg *mitm.Leg) netlog.Leg {
	if leg == &l.proxy.Downstream {
		return mitm.Downstream
	}
	return mitm.Upstream
}

// ask is one request, or one tunnel, or a load of a few.
type ask struct {
	n       int
	kind    string
	up      int           // bytes to the origin
	down    int           // and back
	piece   int           // bytes that come at a time
	every   time.Duration // after each
	wait    time.Duration // before the answer
	chunked bool          // nobody states a length
	leaves  time.Duration // the client gives up; 0 is never
}

func (l *life) drawAsk(n int) {
	size := func() int { return pick(l, 0, 1, l.n(1000), l.n(60_000)) }
	a := ask{
		n: n, kind: pick(l, "GET", "GET", "HEAD", "POST", "PUT", "POST", "echo", "expect", "upgrade", "tunnel", "load"),
		up: size(), down: size(), piece: 1 + l.n(20_000), every: time.Duration(l.n(3)*l.n(10)) * ms,
		wait: pick(l, 0, 0, time.Duration(l.n(500))*ms), chunked: l.n(2) == 0,
	}
	if a.kind == "tunnel" && (l.isTransparent() || l.proxy.Mode == mitm.Reverse) {
		a.kind = "PUT" // no client of these has tunnels
	}
	if a.kind == "upgrade" && !l.upgrades(n) {
		a.kind = sendingBack
	}
	if a.kind == "GET" || a.kind == "HEAD" {
		a.up = 0
	}
	if l.sometimes() {
		l.leaves = true
		a.leaves = time.Duration(1+l.n(400)) * ms
	}
	l.add(l.moment(), func(w *living) { w.ask(a) }, "ask %+v", a)
}

// upgrades reports whether ask n may: only HTTP/1.1 has Upgrade.
func (l *life) upgrades(n int) bool {
	down, up := &l.proxy.Downstream, &l.proxy.Upstream
	return !slices.Equal(down.ALPN.Protocols(), []string{alpn.H2}) && !l.quic[n%clients] && (up.HTTP3 == nil || len(up.ALPN.Protocols()) > 0)
}

// drawControl has somebody change how it goes on.
func (l *life) drawControl() {
	at := l.moment()
	leg, n, client := pick(l, mitm.Downstream, mitm.Upstream), 1+l.n(5), l.n(clients)
	switch l.n(4) {
	case 0, 1:
		host := pick(l, "", "origin.test")
		l.limits = l.limits || leg == mitm.Downstream
		l.add(at, func(w *living) { assert.NoError(w.t, w.proxy.SetMaxConcurrentStreams(leg, host, n)) }, "%d streams on the %s leg for %q", n, leg, host)
	case 2:
		l.add(at, func(w *living) { w.site.RotateTickets() }, "rotate tickets")
	case 3:
		l.breaks = l.breaks || l.quic[client] // http3 takes what is still being read for idle
		l.add(at, func(w *living) { w.clients[client].CloseIdleConnections() }, "client %d closes idle connections", client)
	}
}

// drawWeather has something befall a link that no connection dies of.
func (l *life) drawWeather() {
	at, until, which := l.moment(), l.moment(), l.n(len(l.wires()))
	l.breaks = l.breaks || l.speaksHTTP3() // QUIC gives up a handshake after five seconds
	ends := l.wires()[which]
	on := fmt.Sprintf("%s–%s", ends[0], ends[1])
	way := linkdelay.Direction(l.n(2))
	switch l.n(3) {
	case 0:
		link := l.link()
		l.add(at, func(w *living) { w.wire(which).SetLink(link) }, "%s becomes: %s", on, told(link))
	case 1:
		l.add(at, func(w *living) { w.wire(which).Cut() }, "cut %s", on)
		l.add(at+until, func(w *living) { w.wire(which).Heal() }, "heal %s", on)
	case 2:
		l.add(at, func(w *living) { w.wire(which).Pause(way) }, "pause %s %s", on, way)
		l.add(at+until, func(w *living) { w.wire(which).Resume(way) }, "resume %s %s", on, way)
	}
}

// drawHarm breaks what is open, or closes for good.
func (l *life) drawHarm() {
	l.breaks = true
	at, which := l.moment(), l.n(len(l.wires()))
	on := fmt.Sprintf("%s–%s", l.wires()[which][0], l.wires()[which][1])
	switch what := pick(l, "abort", "forget", "block", "proxy", "origin", "via", "clients"); what {
	case "abort":
		l.add(at, func(w *living) { w.wire(which).Abort() }, "abort on %s", on)
	case "forget":
		l.strands = true
		l.add(at, func(w *living) { w.wire(which).Forget() }, "forget on %s", on)
	case "block":
		l.add(at, func(w *living) { w.wire(which).BlockUDP() }, "block UDP on %s", on)
	default:
		l.strands = true // who tries to connect to nobody
		l.add(at, func(w *living) { w.close(what) }, "close %s", what)
	}
}

func (l *life) drawEnds() {
	l.ends = []string{"proxy", "origin", "via", "clients"}
	if l.sometimes() {
		l.ends = append(l.ends, "network")
	}
	l.rng.Shuffle(len(l.ends), func(i, j int) { l.ends[i], l.ends[j] = l.ends[j], l.ends[i] })
	l.atOnce = l.n(2) == 0
}
