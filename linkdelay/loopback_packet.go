package linkdelay

import (
	"context"
	"io"
	"net"
	"net/netip"
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
	pc := &realPacketConn{c.(*net.UDPConn), l, h, addr}
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
		return n, nil, err
	}
	return n, c.world.name(netip.AddrPortFrom(from.Addr().Unmap(), from.Port())), nil
}

// WriteTo takes names of the Network and real addresses.
func (c *realPacketConn) WriteTo(p []byte, to net.Addr) (int, error) {
	real, err := c.resolve(to)
	if err != nil {
		return 0, opError("write", "udp", c.addr, to, err)
	}
	if !real.IsValid() {
		return len(p), nil // nobody listens there: lost without a word
	}
	return c.socket.WriteToUDPAddrPort(p, real)
}

func (c *realPacketConn) resolve(to net.Addr) (netip.AddrPort, error) {
	switch to := to.(type) {
	case nil:
		return netip.AddrPort{}, syscall.EDESTADDRREQ
	case *net.UDPAddr:
		return addrPort(to), nil
	}
	t, err := c.host.target("udp", to.String())
	if err != nil {
		return netip.AddrPort{}, err
	}
	real, _ := c.world.realOf(t)
	return real, nil
}

// Close frees the port in the Network.
func (c *realPacketConn) Close() error {
	if c.world.drop(c) {
		c.world.release(c.addr) // first: the kernel may give the port to the next at once
	}
	return c.socket.Close()
}

func (c *realPacketConn) LocalAddr() net.Addr                { return c.addr }
func (c *realPacketConn) SetDeadline(t time.Time) error      { return c.socket.SetDeadline(t) }
func (c *realPacketConn) SetReadDeadline(t time.Time) error  { return c.socket.SetReadDeadline(t) }
func (c *realPacketConn) SetWriteDeadline(t time.Time) error { return c.socket.SetWriteDeadline(t) }

// SetReadBuffer sets the size of the kernel's buffer.
func (c *realPacketConn) SetReadBuffer(bytes int) error { return c.socket.SetReadBuffer(bytes) }

// SetWriteBuffer sets the size of the kernel's buffer.
func (c *realPacketConn) SetWriteBuffer(bytes int) error { return c.socket.SetWriteBuffer(bytes) }

// SyscallConn is for options of the socket.
func (c *realPacketConn) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }
