package origin_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// longest is how much virtual time a life may take, and busyFor in which of it
// things begin.
const (
	busyFor = 3 * time.Second
	longest = 30 * time.Second
)

// dice draw a life.
type dice struct {
	*rand.Rand
	*life
}

func newLife(seed uint64) *life {
	l := &life{seed: seed}
	d := &dice{rand.New(rand.NewPCG(seed, 7)), l}
	d.drawProtocols()
	d.drawSettings()
	d.drawFaults()
	d.drawLink()
	d.drawGoods()
	d.pools = d.drawPools()
	for range 3 + d.IntN(12) {
		d.drawClient()
	}
	for range d.IntN(6) {
		d.drawEvent()
	}
	for i := range l.steps {
		l.steps[i].at += time.Duration(i) // no two in one instant, where they would have no order
	}
	slices.SortFunc(l.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return l
}

func (d *dice) one(in int) bool { return d.IntN(in) == 0 }

// upTo is a time of whole milliseconds; half of them are short.
func (d *dice) upTo(most time.Duration) time.Duration {
	if d.one(2) {
		most /= 10
	}
	return time.Duration(d.Int64N(int64(most/time.Millisecond)+1)) * time.Millisecond
}

// size is a number of bytes; small ones are as likely as large ones.
func (d *dice) size() int64 { return d.Int64N(1 << d.IntN(19)) }

func (d *dice) say(format string, args ...any) {
	d.plain = append(d.plain, fmt.Sprintf(format, args...))
}

func (d *dice) step(do func(*stage), format string, args ...any) {
	d.steps = append(d.steps, step{d.upTo(busyFor), fmt.Sprintf(format, args...), do})
}

func (d *dice) drawProtocols() {
	policies := []alpn.Policy{
		alpn.Only(alpn.H2), alpn.Only(alpn.HTTP11), alpn.Prefer(alpn.H2, alpn.HTTP11), alpn.Prefer(alpn.HTTP11, alpn.H2),
	}
	d.cfg.ALPN = policies[d.IntN(len(policies))]
	d.say("ALPN %v", d.cfg.ALPN)
	switch d.IntN(4) {
	case 0:
		d.cfg.Plain = true
		d.say("plain")
	case 1, 2:
		d.cfg.HTTP3 = &origin.HTTP3{Dead: d.one(6)}
		d.say("HTTP/3 (dead: %v)", d.cfg.HTTP3.Dead)
	}
	if !d.cfg.Plain && d.cfg.HTTP3 == nil && d.one(4) { // QUIC needs TLS 1.3
		d.cfg.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
		d.say("TLS 1.2")
	}
	if !d.cfg.Plain && d.one(12) {
		d.cfg.WrongALPN = &origin.WrongALPN{Speak: []string{alpn.H2, alpn.HTTP11}[d.IntN(2)]}
		d.say("speaks %s whatever was agreed on", d.cfg.WrongALPN.Speak)
	}
}

func (d *dice) drawSettings() {
	if d.one(2) {
		d.cfg.IdleTimeout = time.Millisecond + d.upTo(2*time.Second)
		d.cfg.IdleReset = d.one(2)
		d.say("idle after %v (reset: %v)", d.cfg.IdleTimeout, d.cfg.IdleReset)
	}
	if d.one(2) {
		d.cfg.MaxConcurrentStreams = 1 + d.IntN(8)
		d.say("%d streams", d.cfg.MaxConcurrentStreams)
	}
	if d.one(4) {
		d.cfg.StreamWindow = 1 << (8 + d.IntN(10))
		d.say("a window of %d", d.cfg.StreamWindow)
	}
	if d.one(4) {
		late := d.upTo(time.Second)
		d.cfg.Prepare = origin.LateSettings(late)
		d.say("SETTINGS late by %v", late)
	}
}

func (d *dice) drawFaults() {
	for range d.IntN(4) {
		fault := origin.Fault{Request: d.IntN(12)}
		what, do := d.drawAction()
		fault.Do = do
		said := fmt.Sprintf("fault of request %d", fault.Request)
		if share := d.IntN(5); fault.Request == 0 || share == 0 {
			fault.Match = origin.Chance(float64(share)/5, d.seed)
			said += fmt.Sprintf(" of %d in 5", share)
		}
		d.cfg.Faults = append(d.cfg.Faults, fault)
		d.say("%s: %s", said, what)
	}
	if !d.one(3) {
		return
	}
	name := []string{"NeverRead", "NeverShakeHands", "HangUp", "HangUpHard"}[d.IntN(4)]
	does := map[string]func(context.Context, net.Conn){
		"NeverRead": origin.NeverRead, "NeverShakeHands": origin.NeverShakeHands, "HangUp": origin.HangUp, "HangUpHard": origin.HangUpHard,
	}
	fault := origin.ConnectionFault{Connection: 1 + d.IntN(4), Do: does[name]}
	d.cfg.ConnectionFaults = append(d.cfg.ConnectionFaults, fault)
	d.say("connection %d: %s", fault.Connection, name)
}

// drawAction is one of all actions, and its name.
func (d *dice) drawAction() (string, origin.Action) {
	code, n, pings := http2.ErrCode(d.IntN(14)), d.size(), d.IntN(200)
	last, window := int64(2*d.IntN(8)-1), uint32(8<<10+d.IntN(32<<10))
	if last < 0 {
		last = 1<<31 - 1
	}
	all := []struct {
		name string
		do   origin.Action
	}{
		{"GoAway", origin.GoAway},
		{fmt.Sprintf("GoAwayWith %v", code), origin.GoAwayWith(code, "life")},
		{fmt.Sprintf("GoAwayAt %d %v", last, code), origin.GoAwayAt(last, code, "")},
		{"LastOne", origin.LastOne},
		{fmt.Sprintf("LastOneWith %v", code), origin.LastOneWith(code, "life")},
		{"Refuse", origin.Refuse},
		{"Reset", origin.Reset},
		{fmt.Sprintf("ResetWith %v", code), origin.ResetWith(code)},
		{fmt.Sprintf("ResetAfter %d %v", n, code), origin.ResetAfter(n, code)},
		{fmt.Sprintf("CloseAfter %d", n), origin.CloseAfter(n)},
		{fmt.Sprintf("AbortAfter %d", n), origin.AbortAfter(n)},
		{"CloseBehind", origin.CloseBehind},
		{"Hang", origin.Hang},
		{"NoContinue", origin.NoContinue},
		{fmt.Sprintf("Pings %d", pings), origin.Pings(pings)},
		{fmt.Sprintf("Settings window %d", window), origin.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})},
	}
	one := all[d.IntN(len(all))]
	return one.name, one.do
}

func (d *dice) path() (p linkdelay.Path) {
	p.Delay = d.upTo(100 * time.Millisecond)
	if d.one(4) {
		p.Jitter = p.Delay / 3
	}
	if d.one(3) {
		p.Rate = 200_000 << d.IntN(8)
	}
	if d.one(3) {
		p.Loss = float64(1+d.IntN(10)) / 100
	}
	return p
}

func words(l linkdelay.Link) string {
	one := func(p linkdelay.Path) string {
		return fmt.Sprintf("%v ± %v at %d bit/s with a loss of %v", p.Delay, p.Jitter, p.Rate, p.Loss)
	}
	return "up " + one(l.Up) + ", down " + one(l.Down)
}

func (d *dice) drawLink() {
	d.link = linkdelay.Link{Up: d.path(), Down: d.path(), Seed: d.seed}
	d.say("link %s", words(d.link))
}

// good is something that a handler serves.
type good struct {
	path, what string
	handler    func() http.Handler      // made in the bubble
	want       func(sent []byte) []byte // what a whole 200 brings; nil is not known
}

func serving(goods []good) http.Handler {
	mux := http.NewServeMux()
	for _, g := range goods {
		mux.Handle(g.path, g.handler())
	}
	return mux
}

func (d *dice) drawGoods() {
	if d.one(4) {
		d.cfg.Page = &origin.Page{Scripts: d.IntN(4), Images: d.IntN(12), API: d.IntN(4), DelayMax: d.upTo(time.Second)}
		d.say("page %+v", *d.cfg.Page)
		return
	}
	for i := range 1 + d.IntN(6) {
		g := d.drawGood()
		if d.one(3) {
			g = d.wrapped(g)
		}
		g.path = fmt.Sprintf("/%d", i)
		d.goods = append(d.goods, g)
	}
}

func (d *dice) drawGood() good {
	switch d.IntN(7) {
	case 0:
		return good{what: "echo", handler: func() http.Handler { return http.HandlerFunc(copyBack) }, want: func(sent []byte) []byte { return sent }}
	case 1:
		return d.fixed("early", "an answer before the request's body", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "early") })
	case 2:
		return d.fixed("", "a panic", func(http.ResponseWriter, *http.Request) { panic("life") })
	case 3:
		return good{what: "a connection that is taken over", handler: func() http.Handler { return http.HandlerFunc(takeOver) }}
	case 4:
		what, do := d.drawAction()
		return d.fixed("hello", what, func(w http.ResponseWriter, r *http.Request) { do(w, r, hello) })
	default:
		return d.drawBody()
	}
}

func (d *dice) fixed(body, what string, handler http.HandlerFunc) good {
	return good{what: what, handler: func() http.Handler { return handler }, want: func([]byte) []byte { return []byte(body) }}
}

func copyBack(w http.ResponseWriter, r *http.Request) {
	http.NewResponseController(w).EnableFullDuplex()
	if _, err := io.Copy(w, r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// takeOver answers by hand, and then holds the connection until it is closed.
func takeOver(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		io.WriteString(w, "not to be had")
		return
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	if r.Method != http.MethodHead { // else net/http complains of what follows
		io.WriteString(conn, "taken")
	}
	io.Copy(io.Discard, conn)
}

func (d *dice) drawBody() good {
	b := origin.Body{Size: d.size(), Wait: d.upTo(500 * time.Millisecond), First: d.upTo(100 * time.Millisecond)}
	if d.one(2) {
		b.Chunk, b.Every = 1+int(b.Size)/(1+d.IntN(20)), d.upTo(100*time.Millisecond)
	}
	if d.one(3) {
		b.Length = []int64{-1, b.Size + 1}[d.IntN(2)]
	}
	what := fmt.Sprintf("%d bytes, %d stated", b.Size, b.Length)
	switch d.IntN(5) {
	case 0:
		b.Stall = origin.At(d.Int64N(b.Size + 1))
		what += fmt.Sprintf(", stalled at %d", *b.Stall)
	case 1:
		b.Cut = origin.At(d.Int64N(b.Size + 1))
		then, do := d.drawAction()
		b.Then = do
		what += fmt.Sprintf(", cut at %d, then %s", *b.Cut, then)
	}
	what += fmt.Sprintf(", head after %v, first byte after %v, %d each %v", b.Wait, b.First, b.Chunk, b.Every)
	return good{what: what, handler: func() http.Handler { return b }, want: func([]byte) []byte { return counting251(b.Size) }}
}

// counting251 is what Content says it is, made in another way.
func counting251(size int64) []byte {
	all := make([]byte, size)
	for i := range all {
		all[i] = byte(i % 251)
	}
	return all
}

// wrapped is g behind one of the handlers that hold requests up.
func (d *dice) wrapped(g good) good {
	n, per := 1+d.IntN(3), time.Millisecond+d.upTo(300*time.Millisecond)
	all := []struct {
		name string
		wrap func(http.Handler) http.Handler
	}{
		{"PerConnection", func(h http.Handler) http.Handler { return origin.PerConnection(n, h) }},
		{"PerClient", func(h http.Handler) http.Handler { return origin.PerClient(n, per, h) }},
		{"Workers", func(h http.Handler) http.Handler { return origin.Workers(n, per, h) }},
		{"Limit", func(h http.Handler) http.Handler {
			return origin.Limit{Key: origin.ByConnection, Concurrent: n, Rate: n, Per: per}.Handler(h)
		}},
		{"Calm", func(h http.Handler) http.Handler { return origin.Calm(n, h) }},
		{"EarlyHints", func(h http.Handler) http.Handler { return origin.EarlyHints(per, h, "</a>", "</b>") }},
		{"Trailers", func(h http.Handler) http.Handler { return origin.Trailers(http.Header{"X-Life": {"whole"}}, h) }},
		{"OnlyHosts", func(h http.Handler) http.Handler { return origin.OnlyHosts(h, "origin.test") }},
	}
	one, inner := all[d.IntN(len(all))], g.handler
	g.what += fmt.Sprintf(", behind %s of %d, %v", one.name, n, per)
	g.handler = func() http.Handler { return one.wrap(inner()) }
	return g
}

// drawEvent is something that befalls the link, the origin, or all clients.
func (d *dice) drawEvent() {
	link := linkdelay.Link{Up: d.path(), Down: d.path()}
	way := linkdelay.Direction(d.IntN(2))
	onLink := func(name string, do func(*linkdelay.Wire)) {
		d.step(func(s *stage) { do(s.network.Wire("pc.test", "origin.test")) }, "link: %s", name)
	}
	switch d.IntN(16) {
	case 0:
		onLink("Cut", (*linkdelay.Wire).Cut)
		if d.one(2) {
			onLink("Heal", (*linkdelay.Wire).Heal)
		}
	case 1:
		onLink(fmt.Sprint("Pause ", way), func(w *linkdelay.Wire) { w.Pause(way) })
		if d.one(2) {
			onLink(fmt.Sprint("Resume ", way), func(w *linkdelay.Wire) { w.Resume(way) })
		}
	case 2:
		onLink("Abort", (*linkdelay.Wire).Abort)
	case 3:
		onLink("Forget", (*linkdelay.Wire).Forget)
	case 4:
		onLink("Rebind", (*linkdelay.Wire).Rebind)
	case 5:
		onLink("BlockUDP", (*linkdelay.Wire).BlockUDP)
	case 6:
		onLink("SetLink "+words(link), func(w *linkdelay.Wire) { w.SetLink(link) })
	default:
		d.drawRule()
	}
}

// drawRule is something that whoever runs the life does to the origin.
func (d *dice) drawRule() {
	last, code := int64(2*d.IntN(6)-1), http2.ErrCode(d.IntN(14))
	if last < 0 {
		last = 1<<31 - 1
	}
	onEach := func(name string, do func(*wire.Control)) {
		d.step(func(s *stage) { s.eachControl(do) }, "each connection: %s", name)
	}
	switch d.IntN(9) {
	case 0, 1, 2:
		d.step((*stage).close, "origin: Close")
	case 3:
		d.step(func(s *stage) { s.network.Close() }, "network: Close")
	case 4:
		d.step((*stage).leave, "clients: close idle connections")
	case 5:
		onEach(fmt.Sprintf("GoAway %d %v", last, code), func(c *wire.Control) { c.GoAway(last, code, "") })
	case 6:
		onEach("Ping", func(c *wire.Control) { c.Ping([8]byte{1}) })
	case 7:
		onEach("Close", (*wire.Control).Close)
	case 8:
		onEach("Abort", (*wire.Control).Abort)
	}
}

func (s *stage) eachControl(do func(*wire.Control)) {
	s.mu.Lock()
	all := slices.Clone(s.controls)
	s.mu.Unlock()
	for _, c := range all {
		do(c)
	}
}
