package mitm

import (
	"io"
	"time"
)

// refusedLinger is how long a client that was refused may take to end its
// connection.
const refusedLinger = 5 * time.Second

// dismiss ends the connection of a client that was told why. What it sends until
// it has ended too is read, to no purpose but that: a connection that is closed
// with something unread is reset, and by that a client can lose the answer (RFC
// 9112, section 9.6).
func (c *client) dismiss(reason string) {
	c.rec.Close(reason)
	if half, ok := c.conn.(closeWriter); ok && half.CloseWrite() == nil {
		c.conn.SetReadDeadline(time.Now().Add(refusedLinger))
		io.Copy(io.Discard, c.conn)
	}
	c.end(reason)
}
