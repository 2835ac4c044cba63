package linkdelay

import "net"

// connected is a socket for datagrams that talks to one address.
type connected struct {
	net.PacketConn
	remote net.Addr
}

func connect(pc net.PacketConn, remote place) *connected {
	return &connected{pc, newAddr("udp", remote)}
}

func (c *connected) RemoteAddr() net.Addr { return c.remote }

// Read returns the next datagram from the remote address; others are lost.
func (c *connected) Read(p []byte) (int, error) {
	for {
		n, from, err := c.ReadFrom(p)
		if err != nil || from.String() == c.remote.String() {
			return n, err
		}
	}
}

func (c *connected) Write(p []byte) (int, error) { return c.WriteTo(p, c.remote) }
