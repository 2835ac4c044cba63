package netlog

import (
	"crypto/tls"
	"net"
	"reflect"
)

// carrierOf is the record of the connection that net/http gave to x, by its
// identity. nil is one that cannot be told from others.
func (t *transport) carrierOf(conn net.Conn, own *recordedConn, x *exchange) *ConnectionRecord {
	if own != nil {
		return own.record
	}
	if conn == nil {
		return nil
	}
	c := x.opening(conn, networkOf(conn), x.host)
	c.OpenReason = "" // somebody else's
	return t.observe(conn, c)
}

// observe is the record of a connection that t cannot wrap; its first call for
// conn opens it as c says.
func (t *transport) observe(conn net.Conn, c Connection) *ConnectionRecord {
	if !reflect.TypeOf(conn).Comparable() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	rec := t.seen[conn]
	if rec == nil {
		rec = t.log.Open(c)
		t.seen[conn] = rec
	}
	return rec
}

// settle writes down the state of TLS that an observed connection shows.
func settle(rec *ConnectionRecord, conn net.Conn) {
	secure, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok || !rec.Connection().Handshaken.IsZero() {
		return
	}
	if state := secure.ConnectionState(); state.HandshakeComplete {
		rec.Update(func(c *Connection) { c.agreed(state) })
	}
}

func networkOf(conn net.Conn) string {
	if a := conn.LocalAddr(); a != nil {
		return a.Network()
	}
	return ""
}
