package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"example.com/wiretest/netlog"
)

// HandshakeServer does the server's side of TLS on conn and writes into rec
// what was offered and chosen, the server name, the TLS version, the issuer of
// the certificate that was shown, and whether the session was resumed; of a
// resumed session, which shows none, the issuer of the certificate that a full
// handshake would show. What the client offered is recorded as soon as its
// hello is there, so also when the handshake fails later.
//
// Sessions are resumed across connections that share cfg, by its ticket keys.
// cfg is not modified. When the handshake fails or ctx ends, rec is closed
// with the reason, and so is conn; the error says which side refused.
func HandshakeServer(ctx context.Context, conn net.Conn, cfg *tls.Config, rec *netlog.ConnectionRecord) (*tls.Conn, error) {
	if cfg == nil {
		return nil, refused(conn, rec, "TLS handshake: the server has no tls.Config", nil)
	}
	hello := &helloRecorder{cfg: cfg, rec: rec}
	tlsConn := tls.Server(conn, hello.config())
	if err := shakeHands(ctx, tlsConn); err != nil {
		return nil, failed(ctx, conn, rec, clientSide, err)
	}
	state := tlsConn.ConnectionState()
	record(rec, state, hello.issuer(state.DidResume))
	hello.hello = nil // which the connection would hold as long as it lives
	return tlsConn, nil
}

// RecordHello is for a handshake that the caller does by other means, as that
// of QUIC: it returns what a tls.Config.GetConfigForClient is to return for hello
// so that rec gets what HandshakeServer records, and done, to be called with the
// state after the handshake.
func RecordHello(cfg *tls.Config, hello *tls.ClientHelloInfo, rec *netlog.ConnectionRecord) (watched *tls.Config, done func(tls.ConnectionState), err error) {
	h := &helloRecorder{cfg: cfg, rec: rec}
	h.keepKeys()
	watched, err = h.configForClient(hello)
	return watched, func(state tls.ConnectionState) { record(rec, state, h.issuer(state.DidResume)) }, err
}

// HandshakeClient is the client's side of HandshakeServer. Offered and
// ServerName are what cfg says; ServerName is "" where an address is asked
// for, because no SNI is sent then (RFC 6066, section 3).
func HandshakeClient(ctx context.Context, conn net.Conn, cfg *tls.Config, rec *netlog.ConnectionRecord) (*tls.Conn, error) {
	if cfg == nil {
		return nil, refused(conn, rec, "TLS handshake: the client has no tls.Config", nil)
	}
	rec.Update(func(c *netlog.Connection) {
		c.Offered = slices.Clone(cfg.NextProtos)
		c.ServerName = sniOf(cfg.ServerName)
	})
	tlsConn := tls.Client(conn, cfg)
	if err := shakeHands(ctx, tlsConn); err != nil {
		return nil, failed(ctx, conn, rec, serverSide, err)
	}
	RecordClient(tlsConn.ConnectionState(), rec)
	return tlsConn, nil
}

// shakeHands is HandshakeContext, which says that ctx has ended also where the
// handshake had failed by itself just before: then it says why.
func shakeHands(ctx context.Context, c *tls.Conn) error {
	err := c.HandshakeContext(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	if before := c.Handshake(); before != nil && !isOwnClose(before) { // it is not tried again
		return before
	}
	return err
}

// RecordClient writes into rec what the client's side of a handshake agreed on,
// as HandshakeClient does.
func RecordClient(state tls.ConnectionState, rec *netlog.ConnectionRecord) {
	issuer := ""
	if len(state.PeerCertificates) > 0 {
		issuer = state.PeerCertificates[0].Issuer.CommonName
	}
	record(rec, state, issuer)
}

// record writes down what a finished handshake agreed on.
func record(rec *netlog.ConnectionRecord, state tls.ConnectionState, issuer string) {
	now := time.Now()
	rec.Update(func(c *netlog.Connection) {
		c.Handshaken = now
		c.TLSVersion = state.Version
		c.Resumed = state.DidResume
		c.Issuer = issuer
		c.ALPN = state.NegotiatedProtocol
		if c.ALPN == "" {
			c.ALPN = netlog.NoALPN
		}
	})
}

// sniOf is the name that crypto/tls sends for a ServerName: none for an IP
// address, and no trailing dot.
func sniOf(name string) string {
	host := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if i := strings.LastIndex(host, "%"); i > 0 {
		host = host[:i]
	}
	if net.ParseIP(host) != nil {
		return ""
	}
	return strings.TrimRight(name, ".")
}

// peer names the other end in the reason of a failure.
type peer string

const (
	clientSide peer = "client"
	serverSide peer = "server"
)

func (p peer) other() peer {
	if p == clientSide {
		return serverSide
	}
	return clientSide
}

// failed closes rec and conn after a handshake with other failed by cause.
func failed(ctx context.Context, conn net.Conn, rec *netlog.ConnectionRecord, other peer, cause error) error {
	return refused(conn, rec, fmt.Sprintf("TLS handshake: %s: %v", blame(ctx, other, cause), cause), cause)
}

func refused(conn net.Conn, rec *netlog.ConnectionRecord, reason string, cause error) error {
	rec.Close(reason)
	conn.Close()
	return &handshakeError{reason: reason, cause: cause}
}

// blame says who ended the handshake. A refusal of the other side arrives as
// an alert, which crypto/tls marks as a remote error; all of its other errors
// are this side's own, unless the transport made them.
func blame(ctx context.Context, other peer, cause error) string {
	var op *net.OpError
	var header tls.RecordHeaderError
	switch {
	case ctx.Err() != nil && (errors.Is(cause, ctx.Err()) || isOwnClose(cause)):
		return fmt.Sprintf("the %s gave up", other.other())
	case errors.As(cause, &op) && op.Op == "remote error":
		return fmt.Sprintf("the %s refused", other)
	case errors.Is(cause, io.EOF), errors.Is(cause, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the %s hung up", other)
	case errors.As(cause, &header):
		return fmt.Sprintf("the %s does not speak TLS", other)
	case errors.As(cause, &op), errors.Is(cause, net.ErrClosed), errors.Is(cause, io.ErrClosedPipe):
		return "the connection broke"
	default:
		return fmt.Sprintf("the %s refused", other.other())
	}
}

type handshakeError struct {
	reason string
	cause  error
}

func (e *handshakeError) Error() string { return "wire: " + e.reason }
func (e *handshakeError) Unwrap() error { return e.cause }
