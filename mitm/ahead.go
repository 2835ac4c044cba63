package mitm

import (
	"bufio"
	"net"
)

// ahead is conn without what was taken from reader, which reads from it: it
// goes on with what was read ahead.
func ahead(conn net.Conn, reader *bufio.Reader) net.Conn {
	if reader.Buffered() == 0 {
		return conn
	}
	b := &bufferedConn{conn, reader}
	if half, ok := conn.(closeWriter); ok {
		return &halfBufferedConn{b, half}
	}
	return b
}

type closeWriter interface{ CloseWrite() error }

// bufferedConn goes on with what was read ahead.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

// NetConn is the connection below, as in tls.Conn.
func (b *bufferedConn) NetConn() net.Conn { return b.Conn }

func (b *bufferedConn) Read(p []byte) (int, error) {
	if b.reader.Buffered() > 0 {
		return b.reader.Read(p)
	}
	return b.Conn.Read(p) // so that a large read needs no copy
}

// halfBufferedConn exists so that only a conn that can be half closed claims to.
type halfBufferedConn struct {
	*bufferedConn
	closeWriter
}
