package linkdelay

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// NewLoopback returns a Network on real sockets of 127.0.0.1, whose hosts have
// the names and ports of the Network, so that the same test runs in it. It is
// closed by tb.Cleanup; what then still runs fails tb, by name. A mistaken link
// fails tb at once, and so do mistaken names and links later.
//
// A listener on port 0 has the same port in the Network and on 127.0.0.1. One
// on a port of its own has that port in the Network; on 127.0.0.1 it has the
// same if it is above 1023 and free, else another: see [Addr.Real]. Connections
// have real addresses, sockets for datagrams have names.
//
// What a Host dials or sends goes over the link to the other host, both ways,
// in real time: the link is at the dialler's end of a connection and at the
// sender's of a datagram, so that both ends have a socket of the kernel and
// agree on its address. Dialling takes a round trip here too; the listener's
// side is accepted earlier than in memory, when the first packet of the
// handshake arrives, but what it sends waits until the handshake is over. What
// is outside of the Network reaches a listener without a link: put a [Relay]
// before it. Unlike in memory, Write blocks when the peer does not read, and
// [Wire.Rebind] does nothing: a Relay of UDP has it.
func NewLoopback(tb testing.TB, link Link) *Network {
	tb.Helper()
	n, err := StartLoopback(link)
	return n.ownedBy(tb, err)
}

// StartLoopback is [NewLoopback] without a test, as [StartNetwork] is of
// NewNetwork.
func StartLoopback(link Link) (*Network, error) {
	n, err := newNetwork(link)
	if err != nil {
		return nil, err
	}
	n.world = newLoopback(n)
	return n, nil
}

// loopback is the world of real sockets.
type loopback struct {
	network *Network
	crew    *crew // carries the links

	mu     sync.Mutex
	closed bool
	open   map[io.Closer]struct{}
	ports  map[string]map[place]netip.AddrPort // by protocol: what stands behind a port of the Network
	names  map[netip.AddrPort]*Addr            // the sockets for datagrams, the other way round
	past   []*Addr                             // the last names of sockets that are closed
}

func newLoopback(n *Network) *loopback {
	return &loopback{
		network: n,
		crew:    newCrew(n.clock),
		open:    make(map[io.Closer]struct{}),
		ports:   map[string]map[place]netip.AddrPort{"tcp": {}, "udp": {}},
		names:   make(map[netip.AddrPort]*Addr),
	}
}

func (l *loopback) close() error {
	l.mu.Lock()
	all := l.open
	l.open, l.closed = nil, true
	l.mu.Unlock()
	for c := range all {
		if conn, ok := c.(*realConn); ok {
			conn.SetLinger(0) // a reset leaves nothing behind in the kernel
		}
		c.Close()
	}
	return l.crew.close("Network")
}

// keep remembers what the Network has to close; too late it closes it now.
func (l *loopback) keep(c io.Closer) error {
	if !l.add(c) {
		c.Close()
		return net.ErrClosed
	}
	return nil
}

func (l *loopback) add(c io.Closer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.open[c] = struct{}{}
	}
	return !l.closed
}

// drop reports whether c was kept until now.
func (l *loopback) drop(c io.Closer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, kept := l.open[c]
	delete(l.open, c)
	return kept
}

// claim takes a port of the Network for a real socket; false is in use.
func (l *loopback) claim(at place, real net.Addr) (*Addr, bool) {
	behind := addrPort(real)
	addr := newAddr(real.Network(), at)
	addr.real = real
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, used := l.ports[addr.network][at]; used {
		return nil, false
	}
	l.ports[addr.network][at] = behind
	if addr.network == "udp" {
		l.names[behind] = addr
	}
	return addr, true
}

func (l *loopback) release(addr *Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ports[addr.network], addr.place)
}

// keptNames is how many closed sockets are known by name: what they sent last
// may not have been read.
const keptNames = 64

// unname is for when the socket behind a name is about to be closed: the kernel
// may give its port to the next.
func (l *loopback) unname(addr *Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.names, addrPort(addr.real))
	l.past = append(l.past, addr)
	if len(l.past) > keptNames {
		l.past = slices.Delete(l.past, 0, 1)
	}
}

func (l *loopback) behind(network string, at place) (netip.AddrPort, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	real, ok := l.ports[network][at]
	return real, ok
}

// name is the Network's name for the source of a datagram, if it has one.
func (l *loopback) name(real netip.AddrPort) net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	if addr := l.names[real]; addr != nil {
		return addr
	}
	for _, addr := range slices.Backward(l.past) {
		if addrPort(addr.real) == real {
			return addr
		}
	}
	return net.UDPAddrFromAddrPort(real)
}

func addrPort(a net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch a := a.(type) {
	case *net.TCPAddr:
		ap = a.AddrPort()
	case *net.UDPAddr:
		ap = a.AddrPort()
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// bind opens a real socket for a port of the Network by open, which takes a
// real port. A real port that is taken costs another try.
func (l *loopback) bind(network string, at place, open func(port int) (io.Closer, net.Addr, error)) (io.Closer, *Addr, error) {
	if _, used := l.behind(network, at); used {
		return nil, nil, syscall.EADDRINUSE
	}
	want := 0
	if at.port > 1023 {
		want = at.port
	}
	var last error = syscall.EADDRINUSE
	for range 20 {
		c, real, err := open(want)
		want = 0
		if err != nil {
			last = err
			continue
		}
		named := at
		if at.port == 0 {
			named.port = int(addrPort(real).Port())
		}
		if addr, ok := l.claim(named, real); ok {
			return c, addr, nil
		}
		c.Close()
	}
	return nil, nil, last
}

func realAddress(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (l *loopback) dial(ctx context.Context, h *Host, to target) (net.Conn, error) {
	if to.network == "udp" {
		pc, err := l.listenPacket(ctx, h, "udp", 0)
		if err != nil {
			return nil, err
		}
		return connect(pc, to.place), nil
	}
	if to.host != h.name {
		return l.dialOver(ctx, h, to)
	}
	conn, err := l.dialReal(ctx, to)
	if err != nil {
		return nil, err
	}
	return l.track(conn)
}

func (l *loopback) dialReal(ctx context.Context, to target) (net.Conn, error) {
	real, ok := l.realOf(to)
	if !ok {
		return nil, syscall.ECONNREFUSED
	}
	return new(net.Dialer).DialContext(ctx, "tcp", real.String())
}

// realOf is where a target is on 127.0.0.1. By a loopback address a host also
// reaches what listens there without the Network.
func (l *loopback) realOf(to target) (netip.AddrPort, bool) {
	if real, ok := l.behind(to.network, to.place); ok {
		return real, true
	}
	host, _, err := net.SplitHostPort(to.address)
	if err != nil || !isSelf(canonical(host)) {
		return netip.AddrPort{}, false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(ip, uint16(to.port)), true
}
