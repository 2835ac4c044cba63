package linkdelay_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/linkdelay"
)

// gamble takes choices from a fuzzer's bytes.
type gamble struct {
	script []byte
	rng    *rand.Rand
}

func (g *gamble) n(below int) int {
	if len(g.script) == 0 {
		return g.rng.IntN(below)
	}
	b := g.script[0]
	g.script = g.script[1:]
	return int(b) % below
}

func (g *gamble) sometimes() bool { return g.n(4) == 0 }

func (g *gamble) probability() float64 {
	if g.sometimes() {
		return float64(g.n(11)) / 10
	}
	return 0
}

func (g *gamble) path() (p linkdelay.Path) {
	p.Delay = time.Duration(g.n(60)) * ms
	if g.sometimes() {
		p.Jitter = p.Delay / time.Duration(1+g.n(4))
		if shape := linkdelay.Shape(g.n(2)); p.Jitter > 0 {
			p.Shape = shape
		}
	}
	if g.n(2) == 0 {
		p.Rate = int64(1+g.n(200)) * 100_000
		p.PerConnection = g.sometimes()
		switch g.n(3) {
		case 0:
			p.Queue = 1 + g.n(200)*200
		case 1:
			p.QueueTime = time.Duration(g.n(50)) * ms
		}
	}
	if g.sometimes() {
		p.Burst = linkdelay.Burst{Good: time.Duration(1+g.n(100)) * ms, Bad: time.Duration(1+g.n(20)) * ms, Loss: g.probability()}
	}
	p.Loss = min(g.probability(), 0.4)
	p.Congestion = [...]linkdelay.Congestion{linkdelay.Auto, linkdelay.Cubic, linkdelay.Reno}[g.n(3)]
	if g.sometimes() {
		p.Drop = linkdelay.Nth(1+g.n(5), 1+g.n(50))
	}
	if over := (linkdelay.SizeLoss{Size: 10 * g.n(150), Loss: g.probability(), ShortHeader: g.sometimes()}); over.Loss > 0 {
		p.LossOver = over
	}
	if g.sometimes() {
		p.MaxDatagram = 1200 + g.n(100)
	}
	p.Reorder, p.Duplicate, p.Corrupt = g.probability(), g.probability(), g.probability()
	if g.sometimes() {
		p.Buffer = 1 + 1000*g.n(100)
	}
	return p
}

func (g *gamble) link() linkdelay.Link {
	link := linkdelay.Link{Up: g.path(), Down: g.path(), Seed: uint64(g.n(256))}
	if g.sometimes() {
		udp := g.path()
		link.Up.UDP = &udp
	}
	return link
}

// befall does to a link one of ten things that no stream dies of.
func (g *gamble) befall(wire *linkdelay.Wire, which int) {
	switch which {
	case 0:
		wire.SetLink(g.link())
	case 1:
		wire.Cut()
	case 2, 3:
		wire.Heal()
	case 4:
		wire.Pause(linkdelay.Direction(g.n(2)))
	case 5, 6:
		wire.Resume(linkdelay.Direction(g.n(2)))
	case 7:
		wire.Rebind()
	case 8:
		wire.BlockUDP()
	case 9:
		wire.BlockAfter(linkdelay.Count{Datagrams: int64(g.n(5)), Bytes: int64(g.n(200) * 100)})
	}
}

// act does one of what may be done to a link, or by those on it.
func (g *gamble) act(wire *linkdelay.Wire, conns []net.Conn, pcs []net.PacketConn) {
	switch which := g.n(24); which {
	case 10:
		if g.sometimes() {
			wire.Forget()
		}
	case 11:
		if g.sometimes() {
			wire.Abort()
		}
	case 12:
		if g.sometimes() {
			conns[g.n(len(conns))].Close()
		}
	case 13, 14, 15, 16, 17:
		c := conns[g.n(len(conns))]
		c.SetWriteDeadline(time.Now().Add(time.Duration(g.n(20)) * ms))
		c.Write(make([]byte, g.n(200)*g.n(200)))
	case 18, 19, 20, 21, 22:
		from, to := g.n(len(pcs)), g.n(len(pcs))
		pcs[from].WriteTo(make([]byte, 10*g.n(150)), pcs[to].LocalAddr())
	case 23:
		g.pass()
	default:
		g.befall(wire, which)
	}
}

// pass lets up to a second pass.
func (g *gamble) pass() { time.Sleep(time.Duration(g.n(100)*g.n(100)) * 100 * us) }

// addScripts gives a fuzz test n scripts to begin with.
func addScripts(f *testing.F, n, size int) {
	for seed := range n {
		script := make([]byte, size)
		rand.NewChaCha8([32]byte{byte(seed), byte(size)}).Read(script)
		f.Add(script)
	}
}

// In = delivered + dropped + queued + in flight at every moment, whatever the
// link, the traffic and what is done to them; and with streams that are not
// stranded or reset, what is read are the bytes that were written.
func FuzzLedgersBalance(f *testing.F) {
	addScripts(f, 24, 200)
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			g := &gamble{script: script, rng: rand.New(rand.NewPCG(1, 2))}
			network := linkdelay.NewNetwork(t, linkdelay.RTT(20*ms))
			var conns []net.Conn
			for range 3 {
				near, far := pairIn(t, network)
				conns = append(conns, near, far)
			}
			for _, c := range conns {
				go io.Copy(io.Discard, c) // ends with the Network
			}
			a, b := socketsIn(t, network)
			third := socket(t, network.Host("pc.test"), ":0")
			pcs := []net.PacketConn{a, b, third}
			wireOf(network).SetLink(g.link())
			for len(g.script) > 0 {
				g.act(wireOf(network), conns, pcs)
				requireBalance(t, network)
			}
			time.Sleep(time.Minute)
			requireBalance(t, network)
		})
	})
}

// What arrives is what was written, in order, and the end behind it, whatever
// the paths and what befalls them.
func FuzzBytesArriveIntact(f *testing.F) {
	addScripts(f, 200, 100)
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 1000 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			g := &gamble{script: script, rng: rand.New(rand.NewPCG(1, 2))}
			network := linkdelay.NewNetwork(t, linkdelay.RTT(20*ms))
			wire := wireOf(network)
			near, far := pairIn(t, network)
			wire.SetLink(g.link())
			var wg sync.WaitGroup
			defer wg.Wait()
			for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
				want, chunks, gap := noise(1+g.n(200)*g.n(200)), 1+g.n(20), time.Duration(g.n(60))*ms
				pair[1].SetReadDeadline(time.Now().Add(24 * time.Hour))
				carry(t, &wg, "a life", pair, want, 1+len(want)/chunks, gap)
			}
			for len(g.script) > 0 {
				g.befall(wire, g.n(10))
				g.pass()
				requireBalance(t, network)
			}
			wire.Heal()
			wire.Resume(linkdelay.Up)
			wire.Resume(linkdelay.Down)
			wire.SetLink(linkdelay.RTT(20 * ms)) // whatever was lost for good
			wg.Wait()
			requireBalance(t, network)
		})
	})
}
