package linkdelay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Net is what a fixture needs of a network: the methods of a [Host], with the
// signatures of net.ListenConfig and net.Dialer. It is an alias, so that equal
// aliases of other packages are the same type.
type Net = interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

var _ Net = (*Host)(nil)

// Network is named hosts, with a Link between each two of them. All methods
// may be called from several goroutines at once. A Network that is made in a
// synctest bubble belongs to it.
type Network struct {
	tb    testing.TB // nil without a test
	link  Link       // of each pair that SetLink has not named
	clock clock
	world world

	closing sync.Once
	closed  error // what closing came to

	mu    sync.Mutex
	hosts map[string]*Host
	wires map[pair]*wire
}

// world is what carries the bytes: memory, or sockets. Its errors are bare;
// Host says what was attempted.
type world interface {
	listen(ctx context.Context, h *Host, network string, port int) (net.Listener, error)
	listenPacket(ctx context.Context, h *Host, network string, port int) (net.PacketConn, error)
	dial(ctx context.Context, h *Host, to target) (net.Conn, error)
	close() error
}

// NewNetwork returns a Network in memory whose hosts are joined by link, each
// two by their own. It is closed by tb.Cleanup. A mistaken link fails tb at once,
// and so do mistaken names and links later.
func NewNetwork(tb testing.TB, link Link) *Network {
	tb.Helper()
	n, err := StartNetwork(link)
	return n.ownedBy(tb, err)
}

// StartNetwork is [NewNetwork] without a test; the caller closes it. The error
// names the field of link that is mistaken, and its value; what is mistaken later
// panics.
func StartNetwork(link Link) (*Network, error) {
	n, err := newNetwork(link)
	if err != nil {
		return nil, err
	}
	n.world = newMemory(n)
	return n, nil
}

func newNetwork(link Link) (*Network, error) {
	if err := link.validate(); err != nil {
		return nil, err
	}
	return &Network{link: link.clone(), clock: newClock(), hosts: make(map[string]*Host), wires: make(map[pair]*wire)}, nil
}

func (n *Network) ownedBy(tb testing.TB, err error) *Network {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	n.tb = tb
	tb.Cleanup(func() {
		if err := n.Close(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			n.report(tb)
		}
	})
	return n
}

// Close ends everything in the Network at once: listeners, connections and
// sockets fail with net.ErrClosed, also where something blocks on them, and
// nothing is delivered any more. (On loopback one end of a connection may see
// the reset of the other first.) Nothing of the Network remains; what
// still runs after 10 seconds, as it might on loopback, the error names. Close may
// be called again, and says the same.
func (n *Network) Close() error {
	n.closing.Do(func() { n.closed = n.world.close() })
	return n.closed
}

// Host is the host of that name, which comes into being when it is first
// named. Case and a final dot do not matter; a sub-domain is a host of its own.
// A name that no URL can have fails the test, or panics if there is none.
func (n *Network) Host(name string) *Host {
	if n.tb != nil {
		n.tb.Helper()
	}
	h, err := n.host(name)
	if err != nil {
		n.fail(err)
	}
	return h
}

// SetLink changes the link between hosts a and b, now: what is sent from now on
// travels by it, and overtakes nothing that was sent before. link.Up leads from
// a to b. A mistaken link or name fails the test, or panics if there is none.
func (n *Network) SetLink(a, b string, link Link) {
	if n.tb != nil {
		n.tb.Helper()
	}
	if err := link.validate(); err != nil {
		n.fail(err)
		return
	}
	w, err := n.wireOf("SetLink", a, b)
	if err != nil {
		n.fail(err)
		return
	}
	w.SetLink(link)
}

// Wire is the link between hosts a and b, to be changed and watched while it
// carries traffic. Up leads from a to b. A mistaken name fails the test, or
// panics if there is none.
func (n *Network) Wire(a, b string) *Wire {
	if n.tb != nil {
		n.tb.Helper()
	}
	w, err := n.wireOf("Wire", a, b)
	if err != nil {
		n.fail(err)
	}
	return w
}

func (n *Network) wireOf(caller, a, b string) (*Wire, error) {
	from, err := n.host(a)
	if err != nil {
		return nil, err
	}
	to, err := n.host(b)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("linkdelay: %s: %q and %q are one host, and a host has no link to itself", caller, a, b)
	}
	return &Wire{wire: n.wire(from.name, to.name), from: from.name, fail: n.fail}, nil
}

func (n *Network) fail(err error) {
	if n.tb == nil {
		panic(err)
	}
	n.tb.Helper()
	n.tb.Fatal(err)
}

func (n *Network) host(name string) (*Host, error) {
	key := canonical(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.hosts[key]; h != nil {
		return h, nil
	}
	if err := checkName(key); err != nil {
		return nil, fmt.Errorf("linkdelay: Host: %q: %w", name, err)
	}
	h := &Host{network: n, name: key}
	n.hosts[key] = h
	return h, nil
}

// known is the host of that name if something has named it.
func (n *Network) known(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hosts[name]
}

// names are those of all hosts, for messages.
func (n *Network) names() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(n.hosts)), ", ")
}

// wire joins two hosts. If it is new, Up of the Network's link leads from the
// host named first.
func (n *Network) wire(from, to string) *wire {
	key := pairOf(from, to)
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.wires[key]
	if w == nil {
		w = newWire(n.clock, from, to, n.linkOf(key))
		w.nat.free = n.freeAddr
		n.wires[key] = w
	}
	return w
}

// report prints the seeds and the last events of the links on which there was
// something to see.
func (n *Network) report(tb testing.TB) {
	tb.Helper()
	n.mu.Lock()
	wires := slices.Collect(maps.Values(n.wires))
	n.mu.Unlock()
	slices.SortFunc(wires, func(a, b *wire) int {
		return cmp.Or(strings.Compare(a.hosts.a, b.hosts.a), strings.Compare(a.hosts.b, b.hosts.b))
	})
	for _, w := range wires {
		w.reportTo(tb)
	}
}

func (n *Network) linkOf(p pair) Link {
	if p.a == p.b {
		return Link{} // a host talks to itself without delay
	}
	return n.link
}
