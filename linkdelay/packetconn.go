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
	flows   map[string]*flow // by the text of the address
	writeBy instant
	closed  bool
}

// flow is the way from one socket to one port.
type flow struct {
	lane *lane
	box  *mailbox
	last instant // when the last datagram arrives; nothing overtakes it
}

func newPacketConn(m *memory, h *Host, at place, box *mailbox) *packetConn {
	c := &packetConn{
		memory:  m,
		host:    h,
		addr:    newAddr("udp", at),
		box:     box,
		flows:   make(map[string]*flow),
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
	f, err := c.flowTo(to)
	if err != nil {
		return err
	}
	f.last = max(f.last, now.add(f.lane.delay()))
	f.box.post(f.last, c.addr, p)
	return nil
}

func (c *packetConn) flowTo(to net.Addr) (*flow, error) {
	text := to.String()
	if f := c.flows[text]; f != nil {
		return f, nil
	}
	t, err := c.host.target("udp", text)
	if err != nil {
		return nil, err
	}
	w := c.memory.network.wire(c.host.name, t.host)
	f := &flow{lane: w.from(c.host.name), box: c.memory.box(t.place)}
	c.flows[text] = f
	return f, nil
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
