package wire

import (
	"io"
	"net"
	"time"
)

// Linger says to the peer of conn that nothing follows, and then reads until the peer
// says so too, or for as long as most, to no purpose but that: a connection that is
// closed with something unread is reset, and by that the peer can lose what it was
// told last (RFC 9112, section 9.6). half is conn, or what is written to in its place;
// where it cannot be closed for writing, Linger returns at once. The caller closes.
func Linger(half interface{ CloseWrite() error }, conn net.Conn, most time.Duration) {
	if half.CloseWrite() == nil {
		conn.SetReadDeadline(time.Now().Add(most))
		io.Copy(io.Discard, conn)
	}
}
