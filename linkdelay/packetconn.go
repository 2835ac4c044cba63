package linkdelay

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxPayload is what fits a UDP datagram over IPv4: 65,535 less the headers.
const maxPayload = 65507

// packetConn is a socket for datagrams in memory.
type packetConn struct {
	memory *memory
	host   *Host
	addr   *Addr
	box    *mailbox

	mu      sync.Mutex
	routes  map[string]*route // by the text of the address
	writeBy instant
	closed  bool
}

// route is the way from one socket to one address. The wire's mutex guards it.
type route struct {
	wire  *wire
	flow  *flow
	way   *way
	from  net.Addr // as the other side sees it
	lost  bool     // the address is one from before a rebinding
	round int      // of rebinding, for which it holds
}

func newPacketConn(m *memory, h *Host, at place, box *mailbox) *packetConn {
	c := &packetConn{
		memory:  m,
		host:    h,
		addr:    newAddr("udp", at),
		box:     box,
		routes:  make(map[string]*route),
		writeBy: never,
	}
	box.bind(c)
	return c
}

// ReadFrom returns the next datagram that has arrived, and waits until one has.
// Its address is an *Addr. What does not fit into p is lost.
func (c *packetConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.box.receive(c, p)
	if err != nil {
		return 0, nil, opError("read", "udp", c.addr, nil, err)
	}
	return n, from, nil
}

// WriteTo never blocks.
func (c *packetConn) WriteTo(p []byte, to net.Addr) (int, error) {
	if err := c.send(p, to); err != nil {
		return 0, opError("write", "udp", c.addr, to, err)
	}
	return len(p), nil
}

func (c *packetConn) send(p []byte, to net.Addr) error {
	if to == nil {
		return syscall.EDESTADDRREQ
	}
	if len(p) > maxPayload {
		return syscall.EMSGSIZE
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.memory.clock.now()
	switch {
	case c.closed:
		return net.ErrClosed
	case now >= c.writeBy:
		return os.ErrDeadlineExceeded
	}
	r, err := c.routeTo(to)
	if err != nil {
		return err
	}
	r.send(c, now, p, to)
	return nil
}

func (c *packetConn) routeTo(to net.Addr) (*route, error) {
	text := to.String()
	if r := c.routes[text]; r != nil {
		return r, nil
	}
	t, err := c.host.target("udp", text)
	if err != nil {
		return nil, err
	}
	r := &route{wire: c.memory.network.wire(c.host.name, t.host)}
	c.routes[text] = r
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	r.find(c, t.place)
	return r, nil
}

func (r *route) send(c *packetConn, now instant, p []byte, to net.Addr) {
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	if r.round != r.wire.nat.round {
		t, err := c.host.target("udp", to.String())
		if err != nil {
			return // it was found before
		}
		old := r.flow
		r.find(c, t.place)
		old.part()
	}
	if r.lost {
		r.way.lose(now, p)
		return
	}
	r.way.post(now, r.from, p)
}

// find is told an address as others see it.
func (r *route) find(c *packetConn, to place) {
	from := r.wire.from(c.host.name)
	socket, lost := r.wire.nat.socket(to)
	r.lost, r.round = lost, r.wire.nat.round
	r.from = c.addr
	if seen := r.wire.nat.seen[c.addr.text]; seen != nil {
		r.from = seen
	}
	r.flow = r.wire.meet(from, c.addr.text, socket.String())
	r.way = r.flow.ways[from]
	r.way.box = c.memory.box(socket)
}

// Close frees the port. What was sent still arrives.
func (c *packetConn) Close() error {
	if !c.end() {
		return opError("close", "udp", c.addr, nil, net.ErrClosed)
	}
	c.memory.remove(c)
	return nil
}

func (c *packetConn) abort() { c.end() }

func (c *packetConn) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	c.box.unbind()
	for _, r := range c.routes {
		r.wire.mu.Lock()
		r.flow.part()
		r.wire.mu.Unlock()
	}
	return true
}

func (c *packetConn) LocalAddr() net.Addr { return c.addr }

func (c *packetConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *packetConn) SetReadDeadline(t time.Time) error {
	return opError("set", "udp", c.addr, nil, c.box.setDeadline(c, t))
}

func (c *packetConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("set", "udp", c.addr, nil, net.ErrClosed)
	}
	c.writeBy = c.memory.clock.at(t)
	return nil
}

// SetReadBuffer changes nothing: the queue counts datagrams. It is there
// because users of sockets ask for it and complain if they cannot.
func (c *packetConn) SetReadBuffer(int) error { return nil }

// SetWriteBuffer changes nothing: a write is never queued.
func (c *packetConn) SetWriteBuffer(int) error { return nil }
