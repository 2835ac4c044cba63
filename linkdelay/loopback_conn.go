package linkdelay

import (
	"context"
	"io"
	"net"
)

// realListener is a TCP listener under a name of the Network.
type realListener struct {
	*net.TCPListener
	world *loopback
	addr  *Addr
}

func (l *loopback) listen(ctx context.Context, h *Host, network string, port int) (net.Listener, error) {
	c, addr, err := l.bind(network, place{h.name, port}, func(port int) (io.Closer, net.Addr, error) {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", realAddress(port))
		if err != nil {
			return nil, nil, err
		}
		return ln, ln.Addr(), nil
	})
	if err != nil {
		return nil, err
	}
	ln := &realListener{c.(*net.TCPListener), l, addr}
	if err := l.keep(ln); err != nil {
		return nil, err
	}
	return ln, nil
}

// Accept returns a connection that the Network closes if nobody else does.
func (ln *realListener) Accept() (net.Conn, error) {
	conn, err := ln.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	return ln.world.track(conn)
}

// Close frees the port in the Network.
func (ln *realListener) Close() error {
	if ln.world.drop(ln) {
		ln.world.release(ln.addr) // first: the kernel may give the port to the next at once
	}
	return ln.TCPListener.Close()
}

// Addr is an *Addr.
func (ln *realListener) Addr() net.Addr { return ln.addr }

// realConn is a TCP connection that the Network knows of.
type realConn struct {
	*net.TCPConn
	world *loopback
}

func (l *loopback) track(conn net.Conn) (net.Conn, error) {
	c := &realConn{conn.(*net.TCPConn), l}
	if err := l.keep(c); err != nil {
		return nil, err
	}
	return c, nil
}

// Close closes the connection as a net.TCPConn does.
func (c *realConn) Close() error {
	c.world.drop(c)
	return c.TCPConn.Close()
}
