package linkdelay

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// memory is the world without sockets. It starts no goroutine: whoever reads
// waits for what it reads to come due.
type memory struct {
	network *Network
	clock   clock
	done    chan struct{} // closed by close

	mu        sync.Mutex
	closed    bool
	open      map[aborter]struct{}
	listeners map[place]*listener
	calls     map[call]struct{}
	boxes     map[place]*mailbox
	next      map[portSpace]int
	rebound   map[place]bool // ports of NATs
}

// aborter is what ends at once when the Network does.
type aborter interface{ abort() }

// call is a connection as its dialler names it; no two are alike.
type call struct{ local, remote place }

// portSpace is the ports of one protocol on one host.
type portSpace struct{ network, host string }

const (
	firstPort = 49152 // RFC 6335, section 6: the dynamic ports
	freePorts = 1<<16 - firstPort
)

func newMemory(n *Network) *memory {
	return &memory{
		network:   n,
		clock:     n.clock,
		done:      make(chan struct{}),
		open:      make(map[aborter]struct{}),
		listeners: make(map[place]*listener),
		calls:     make(map[call]struct{}),
		boxes:     make(map[place]*mailbox),
		next:      make(map[portSpace]int),
		rebound:   make(map[place]bool),
	}
}

func (m *memory) close() error {
	m.mu.Lock()
	all := m.open
	m.open, m.closed = nil, true
	m.mu.Unlock()
	close(m.done)
	for one := range all {
		one.abort()
	}
	m.clock.close()
	return nil
}

// usable is an error once the Network is closed.
func (m *memory) usable() error {
	if m.closed {
		return net.ErrClosed
	}
	return m.clock.check()
}

// free picks the next port that is not taken. Numbers are not used again until
// all others were, so that a late packet finds nobody.
func (m *memory) free(network, host string, taken func(place) bool) (place, error) {
	space := portSpace{network, host}
	for range freePorts {
		p := place{host, firstPort + m.next[space]}
		m.next[space] = (m.next[space] + 1) % freePorts
		if !taken(p) {
			return p, nil
		}
	}
	return place{}, syscall.EADDRINUSE
}

func (m *memory) listen(_ context.Context, h *Host, network string, port int) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return nil, err
	}
	at, err := m.claim(network, place{h.name, port}, func(p place) bool { return m.listeners[p] != nil })
	if err != nil {
		return nil, err
	}
	l := newListener(m, at)
	m.listeners[at] = l
	m.open[l] = struct{}{}
	return l, nil
}

func (m *memory) listenPacket(_ context.Context, h *Host, network string, port int) (net.PacketConn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return nil, err
	}
	at, err := m.claim(network, place{h.name, port}, m.bound)
	if err != nil {
		return nil, err
	}
	c := newPacketConn(m, h, at, m.boxAt(at))
	m.open[c] = struct{}{}
	return c, nil
}

// bound reports whether a port for datagrams is taken.
func (m *memory) bound(p place) bool { return m.rebound[p] || m.boxes[p].taken() }

// freeAddr is a new address for a socket behind a NAT.
func (n *Network) freeAddr(host string) *Addr {
	m, ok := n.world.(*memory)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.free("udp", host, m.bound)
	if err != nil {
		return nil
	}
	m.rebound[at] = true
	return newAddr("udp", at)
}

// claim is the port that was asked for, or any free one for port 0.
func (m *memory) claim(network string, at place, taken func(place) bool) (place, error) {
	if at.port == 0 {
		return m.free(network, at.host, taken)
	}
	if taken(at) {
		return place{}, syscall.EADDRINUSE
	}
	return at, nil
}

// boxAt is where datagrams for a port wait, whether somebody listens or not.
func (m *memory) boxAt(at place) *mailbox {
	b := m.boxes[at]
	if b == nil {
		b = newMailbox(m.clock)
		m.boxes[at] = b
	}
	return b
}

func (m *memory) box(at place) *mailbox {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boxAt(at)
}

func (m *memory) listenerAt(at place) *listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listeners[at]
}

func (m *memory) removeListener(l *listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, l)
	if m.listeners[l.addr.place] == l {
		delete(m.listeners, l.addr.place)
	}
}

func (m *memory) remove(a aborter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, a)
}
