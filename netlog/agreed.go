package netlog

import (
	"crypto/tls"
	"time"
)

// handshaken is the end of a handshake. With a proxy that is spoken to over TLS
// the origin's comes last and stays.
func (r *recordedConn) handshaken(state tls.ConnectionState, err error) {
	if err != nil {
		r.record.Update(func(c *Connection) { c.CloseReason = "TLS handshake failed: " + err.Error() })
		return
	}
	r.record.Update(func(c *Connection) {
		c.Handshaken = time.Now()
		r.agreed(c, state)
	})
}

func (r *recordedConn) agreed(c *Connection, state tls.ConnectionState) {
	name := c.ServerName
	if c.agreed(state); r.sniffs {
		c.ServerName = name // what was sent; with ECH the state has another
	}
}

// agreed writes down what a handshake came to.
func (c *Connection) agreed(state tls.ConnectionState) {
	if c.Handshaken.IsZero() {
		c.Handshaken = time.Now()
	}
	c.TLSVersion, c.Resumed, c.ALPN = state.Version, state.DidResume, state.NegotiatedProtocol
	if c.ALPN == "" {
		c.ALPN = NoALPN
	}
	c.ServerName = state.ServerName
	if len(state.PeerCertificates) > 0 {
		c.Issuer = state.PeerCertificates[0].Issuer.CommonName
	}
}
