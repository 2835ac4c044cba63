package mitm

import (
	"time"

	"example.com/wiretest/netlog/wire"
)

// refusedLinger is how long a client that was refused may take to end its
// connection.
const refusedLinger = 5 * time.Second

// dismiss ends the connection of a client that was told why, and may have gone on as
// if it had its tunnel.
func (c *client) dismiss(reason string) {
	c.rec.Close(reason)
	if half, ok := c.conn.(closeWriter); ok {
		wire.Linger(half, c.conn, refusedLinger)
	}
	c.end(reason)
}
