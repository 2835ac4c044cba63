package wire

import "net"

// Abort ends the connection at once, by a reset where what is below can: a
// *net.TCPConn, or anything else that SetLinger(0) makes close so. What was
// written and has not left may be lost.
func (c *Control) Abort() {
	t := c.tap
	t.mu.Lock()
	t.ended("reset by " + t.cfg.Side.String())
	t.mu.Unlock()
	lowest := bottom(t.Conn)
	if l, ok := lowest.(interface{ SetLinger(int) error }); ok {
		l.SetLinger(0)
	}
	lowest.Close() // below TLS, which would have a last word
	t.shut()
}

// Close ends the connection, on TLS by an alert and then by FIN, behind what a
// Control has put in and what is being written. So a peer that does not read
// holds it up; Abort waits for nobody.
func (c *Control) Close() {
	t := c.tap
	t.mu.Lock()
	ip := t.ip.Load()
	if ip != nil && len(ip.out.queue) > 0 && !ip.out.holding && !t.end.recorded {
		ip.out.finale = true
	} else {
		t.onceWritten(t.shut)
	}
	t.mu.Unlock()
	t.kick()
	<-t.gone
}

// bottom is the connection below all that wrap it.
func bottom(conn net.Conn) net.Conn {
	for {
		above, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = above.NetConn()
	}
}
