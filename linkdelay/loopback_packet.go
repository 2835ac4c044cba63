package linkdelay

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// realPacketConn is a UDP socket under a name of the Network. It hides the
// socket's other ways to read and write, which know no names.
type realPacketConn struct {
	socket *net.UDPConn
	world  *loopback
	host   *Host
	addr   *Addr
	using  atomic.Int32

	mu      sync.Mutex
	routes  map[string]*realRoute // by address, over links
	writeBy time.Time
	closed  bool
}

func (l *loopback) listenPacket(ctx context.Context, h *Host, network string, port int) (net.PacketConn, error) {
	c, addr, err := l.bind(network, place{h.name, port}, func(port int) (io.Closer, net.Addr, error) {
		pc, err := new(net.ListenConfig).ListenPacket(ctx, "udp", realAddress(port))
		if err != nil {
			return nil, nil, err
		}
		return pc, pc.LocalAddr(), nil
	})
	if err != nil {
		return nil, err
	}
	pc := &realPacketConn{socket: c.(*net.UDPConn), world: l, host: h, addr: addr, routes: make(map[string]*realRoute)}
	pc.using.Store(1)
	raiseBuffers(pc.socket)
	if err := l.keep(pc); err != nil {
		return nil, err
	}
	return pc, nil
}

// ReadFrom returns the sender as an *Addr if it is of the Network, else as a
// *net.UDPAddr.
func (c *realPacketConn) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.socket.ReadFromUDPAddrPort(p)
	if err != nil {
		return n, nil, c.readError(err)
	}
	return n, c.world.name(netip.AddrPortFrom(from.Addr().Unmap(), from.Port())), nil
}

// readError is that of a socket that is closed, though it may still write what
// is on its way.
func (c *realPacketConn) readError(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("read", "udp", c.addr, nil, net.ErrClosed)
	}
	return err
}

// WriteTo takes names of the Network and real addresses. What goes to another
// host of the Network goes over the link, and never blocks.
func (c *realPacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	real, err := c.send(p, to)
	if err != nil {
		return 0, opError("write", "udp", c.addr, to, err)
	}
	if !real.IsValid() {
		return len(p), nil
	}
	return c.socket.WriteToUDPAddrPort(p, real)
}

// send returns the address of what goes without a link, if anybody listens
// there.
func (c *realPacketConn) send(p []byte, to net.Addr) (netip.AddrPort, error) {
	if to == nil {
		return netip.AddrPort{}, syscall.EDESTADDRREQ
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return netip.AddrPort{}, net.ErrClosed
	case !c.writeBy.IsZero() && !time.Now().Before(c.writeBy):
		return netip.AddrPort{}, os.ErrDeadlineExceeded
	}
	if real, ok := to.(*net.UDPAddr); ok {
		return addrPort(real), nil
	}
	t, err := c.host.target("udp", to.String())
	if err != nil {
		return netip.AddrPort{}, err
	}
	if t.host == c.host.name {
		real, _ := c.world.realOf(t)
		return real, nil
	}
	if len(p) > maxPayload {
		return netip.AddrPort{}, syscall.EMSGSIZE
	}
	c.routeTo(t).send(p)
	return netip.AddrPort{}, nil
}

// Close frees the port in the Network. What was sent still arrives.
func (c *realPacketConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("close", "udp", c.addr, nil, net.ErrClosed)
	}
	c.closed = true
	if c.world.drop(c) {
		c.world.release(c.addr)
	}
	c.socket.SetReadDeadline(time.Now()) // ends ReadFrom
	for _, r := range c.routes {
		r.leave()
	}
	c.unused()
	return nil
}

func (c *realPacketConn) LocalAddr() net.Addr { return c.addr }

func (c *realPacketConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *realPacketConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("set", "udp", c.addr, nil, net.ErrClosed)
	}
	return c.socket.SetReadDeadline(t)
}

func (c *realPacketConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("set", "udp", c.addr, nil, net.ErrClosed)
	}
	c.writeBy = t
	return c.socket.SetWriteDeadline(t)
}

// SetReadBuffer sets the size of the kernel's buffer.
func (c *realPacketConn) SetReadBuffer(bytes int) error { return c.socket.SetReadBuffer(bytes) }

// SetWriteBuffer sets the size of the kernel's buffer.
func (c *realPacketConn) SetWriteBuffer(bytes int) error { return c.socket.SetWriteBuffer(bytes) }

// SyscallConn is for options of the socket.
func (c *realPacketConn) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }
