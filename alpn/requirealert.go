package alpn

import (
	"errors"
	"io"
	"syscall"
	"testing"
)

// RequireAlert fails tb at once unless err is of a handshake, or of reading or
// writing after it, that the peer ended with this TLS alert (RFC 8446, section
// 6): 120 is no_application_protocol, from a server that refuses what a client
// offers. It finds the alert in whatever wraps it, the *url.Error of an
// http.Client among them; errors of quic-go need package probeh3's Alerted. On
// the side of a server whose policy refused, it is the alert that was sent.
func RequireAlert(tb testing.TB, err error, alert uint8) {
	tb.Helper()
	got, ok := alertOf(err)
	switch {
	case ok && got == alert:
	case ok:
		tb.Fatalf("alpn: want %s, got %s\n\terror: %v\n\tlikely: %s", alertName(alert), alertName(got), err, causeOfAlert(got))
	case err == nil:
		tb.Fatalf("alpn: want %s, got no error\n\tlikely: %s", alertName(alert), causeOfNone(alert))
	default:
		tb.Fatalf("alpn: want %s, got no alert\n\terror: %v\n\tlikely: %s", alertName(alert), err, causeOfOther(err))
	}
}

// causeOfAlert is what mostly leads to an alert that was not wanted.
func causeOfAlert(alert uint8) string {
	switch alert {
	case alertNoApplicationProtocol:
		return "the peer speaks none of the protocols that were offered"
	case 40:
		return "the two sides have no cipher suite, group or signature algorithm in common"
	case 42, 43, 44, 45, 46, 48:
		return "the peer does not accept the certificate of this side"
	case 70:
		return "the two sides have no version of TLS in common"
	case 80:
		return "the peer's own configuration is at fault: a server without a certificate, or whose callback failed"
	case 112:
		return "the server does not know the name that SNI asked for"
	case 116:
		return "the server wants a client certificate, and got none"
	}
	return "see RFC 8446, section 6.2"
}

func causeOfNone(alert uint8) string {
	if alert == alertNoApplicationProtocol {
		return "the server found a protocol in the offer, or takes no part in ALPN, or lets pass who offers http/1.1 alone, as crypto/tls does; alpn.Only makes it refuse"
	}
	return "with TLS 1.3 a server may refuse after the client's handshake is done: read from the connection first"
}

func causeOfOther(err error) string {
	var mismatch *MismatchError
	switch {
	case errors.As(err, &mismatch) && mismatch.byClient:
		return "this side refused what the server chose, so no alert came from there"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the peer closed the connection without an alert, as proxies and load balancers do"
	case errors.Is(err, syscall.ECONNRESET):
		return "the peer reset the connection without an alert, or its alert was lost in the reset"
	case timedOut(err):
		return "the peer did not answer in time"
	}
	return "this side ended the handshake, or there was none"
}
