package linkdelay

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// PacketConn is pc over the link. The link's Up leads from the caller to
// others: a server's socket has it the other way round, so give it a Link with
// Up and Down exchanged. Only the result must be used from now on; its Close
// closes pc, when what was written has left. WriteTo never blocks.
func (w *Wrapper) PacketConn(pc net.PacketConn) net.PacketConn {
	c := &wrappedPacketConn{
		wrapper: w, socket: pc,
		in: newMailbox(w.crew.clock), out: newMailbox(w.crew.clock),
		flows: make(map[string]*flow),
	}
	c.in.bind(c)
	c.out.bind(c)
	w.crew.keep(c)
	for what, do := range map[string]func(){
		"reading a wrapped socket for datagrams": c.read,
		"writing a wrapped socket for datagrams": c.deliver,
	} {
		if !w.crew.start(what, do) {
			c.abort()
		}
	}
	return c
}

// wrappedPacketConn is a socket for datagrams behind a link. Two goroutines of
// the crew serve it: one reads the socket, one writes to it what comes due.
type wrappedPacketConn struct {
	wrapper *Wrapper
	socket  net.PacketConn
	in, out *mailbox

	mu      sync.Mutex
	flows   map[string]*flow // by the other's address
	writeBy time.Time
	closed  bool
}

// flowWith is the flow that is shared with an address, nil once the socket is
// closed; in it, both ways end in the mailboxes of this socket.
func (c *wrappedPacketConn) flowWith(other net.Addr) *flow {
	text := other.String()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if f := c.flows[text]; f != nil {
		return f
	}
	f := c.wrapper.wire.join(clientLane, c.socket.LocalAddr().String(), text, c.out, c.in)
	c.flows[text] = f
	return f
}

// post puts a datagram on the link by a lane; the address is the other's.
func (c *wrappedPacketConn) post(lane int, other net.Addr, p []byte) bool {
	f := c.flowWith(other)
	if f == nil {
		return false
	}
	w := c.wrapper.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	f.ways[lane].post(w.clock.now(), other, p)
	return true
}

func (c *wrappedPacketConn) read() {
	defer c.in.drain()
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := c.socket.ReadFrom(buf)
		switch {
		case err == nil:
			c.post(1-clientLane, from, buf[:n])
		case errors.Is(err, net.ErrClosed) || c.isClosed():
			return
		case isRefused(err): // by ICMP; the next may be heard
		case c.wrapper.crew.pause() != nil:
			return
		}
	}
}

// deliver ends when the socket is closed and all has left; then it closes it.
func (c *wrappedPacketConn) deliver() {
	defer c.abort()
	buf := make([]byte, maxDatagram)
	for {
		n, to, err := c.out.receive(c, buf)
		if err != nil {
			return
		}
		_, err = c.socket.WriteTo(buf[:n], to)
		if isRefused(err) { // an earlier one was
			_, err = c.socket.WriteTo(buf[:n], to)
		}
		if err != nil {
			c.sentTo(to).ways[clientLane].unheard(n)
		}
	}
}

// sentTo is the flow that something has gone to an address by, also if the
// socket is closed by now.
func (c *wrappedPacketConn) sentTo(to net.Addr) *flow {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flows[to.String()]
}

func (c *wrappedPacketConn) abort() {
	c.end()
	c.out.unbind()
	c.socket.Close()
	c.wrapper.crew.drop(c)
}

// end is false the second time.
func (c *wrappedPacketConn) end() bool {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	c.mu.Unlock()
	if was {
		return false
	}
	for _, f := range c.flows { // there are no more of them now
		f.leave()
	}
	c.in.unbind()
	return true
}

func (c *wrappedPacketConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// ReadFrom returns the next datagram that has arrived, and waits until one has.
// What does not fit into p is lost.
func (c *wrappedPacketConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.in.receive(c, p)
	if err != nil {
		return 0, nil, c.failed("read", err)
	}
	return n, from, nil
}

// WriteTo never blocks.
func (c *wrappedPacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	if err := c.writable(p, to); err != nil {
		return 0, c.failed("write", err)
	}
	if !c.post(clientLane, to, p) {
		return 0, c.failed("write", net.ErrClosed)
	}
	return len(p), nil
}

func (c *wrappedPacketConn) writable(p []byte, to net.Addr) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case to == nil:
		return syscall.EDESTADDRREQ
	case len(p) > maxPayload:
		return syscall.EMSGSIZE
	case !c.writeBy.IsZero() && !time.Now().Before(c.writeBy):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Close closes the socket when what was sent has left.
func (c *wrappedPacketConn) Close() error {
	if !c.end() {
		return c.failed("close", net.ErrClosed)
	}
	c.out.drain()
	return nil
}

func (c *wrappedPacketConn) LocalAddr() net.Addr { return c.socket.LocalAddr() }

func (c *wrappedPacketConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *wrappedPacketConn) SetReadDeadline(t time.Time) error {
	return c.failed("set", c.in.setDeadline(c, t))
}

func (c *wrappedPacketConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failed("set", net.ErrClosed)
	}
	c.writeBy = t
	return nil
}

// SetReadBuffer sets the size of the socket's buffer, if it has one to set.
func (c *wrappedPacketConn) SetReadBuffer(bytes int) error {
	if s, ok := c.socket.(interface{ SetReadBuffer(int) error }); ok {
		return s.SetReadBuffer(bytes)
	}
	return nil
}

// SetWriteBuffer sets the size of the socket's buffer, if it has one to set.
func (c *wrappedPacketConn) SetWriteBuffer(bytes int) error {
	if s, ok := c.socket.(interface{ SetWriteBuffer(int) error }); ok {
		return s.SetWriteBuffer(bytes)
	}
	return nil
}

func (c *wrappedPacketConn) failed(op string, err error) error {
	return opError(op, "udp", c.socket.LocalAddr(), nil, err)
}

// connectedSocket is a connection of datagrams as a socket that only talks to
// one address.
type connectedSocket struct{ net.Conn }

func (c connectedSocket) ReadFrom(p []byte) (int, net.Addr, error) {
	n, err := c.Read(p)
	return n, c.RemoteAddr(), err
}

func (c connectedSocket) WriteTo(p []byte, _ net.Addr) (int, error) { return c.Write(p) }
