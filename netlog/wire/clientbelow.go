package wire

import "net"

// NetConn is the connection that NewClientConn was given, as in tls.Conn. Who
// closes what is below TLS ends the connection without a word.
func (c *ClientConn) NetConn() net.Conn {
	if c.foreign != nil {
		return nil
	}
	return c.pipe.raw
}
