package wire

import (
	"context"
	"crypto/tls"
	"net"

	"example.com/wiretest/netlog"
)

// HandshakeServer does the server's side of TLS on conn and writes into rec
// what was offered and chosen, the server name, the TLS version, the issuer of
// the certificate that was shown, and whether the session was resumed. When it
// fails, rec is closed with the reason, and so is conn.
func HandshakeServer(ctx context.Context, conn net.Conn, cfg *tls.Config, rec *netlog.ConnectionRecord) (*tls.Conn, error) {
	panic("to be written")
}

// HandshakeClient is the client's side of HandshakeServer.
func HandshakeClient(ctx context.Context, conn net.Conn, cfg *tls.Config, rec *netlog.ConnectionRecord) (*tls.Conn, error) {
	panic("to be written")
}
