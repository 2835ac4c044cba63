package wire

import (
	"net"
	"time"
)

// closeGrace is how long a close may take to tell the peer.
const closeGrace = 250 * time.Millisecond

// closeSoon closes tap, which is over conn, within closeGrace. The close of a
// *tls.Conn first writes an alert, for which a peer that does not read could
// hold it up for five seconds; then what is below is closed.
func closeSoon(tap, conn net.Conn) error {
	encrypted, ok := conn.(interface{ NetConn() net.Conn })
	if !ok {
		return tap.Close()
	}
	force := time.AfterFunc(closeGrace, func() { encrypted.NetConn().Close() })
	defer force.Stop()
	return tap.Close()
}
