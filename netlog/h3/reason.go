package h3

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"
)

const protocol = "h3"

// side names the ends of a connection in reasons.
type side bool

const (
	onServer side = true
	onClient side = false
)

func (s side) String() string {
	if s == onServer {
		return "server"
	}
	return "client"
}

func (s side) of(remote bool) side { return s != side(remote) }

// reason is why a connection ended, as this side saw it.
func (s side) reason(cause error, handshaken bool) string {
	text := s.ending(cause)
	if !handshaken {
		return "QUIC handshake: " + text
	}
	return text
}

func (s side) ending(cause error) string {
	var app *quic.ApplicationError
	var transport *quic.TransportError
	var idle *quic.IdleTimeoutError
	var shake *quic.HandshakeTimeoutError
	switch {
	case errors.As(cause, &app):
		return fmt.Sprintf("closed by %v: %s%s", s.of(app.Remote), codeName(uint64(app.ErrorCode)), behind(app.ErrorMessage))
	case errors.As(cause, &transport):
		return fmt.Sprintf("closed by %v: %s", s.of(transport.Remote), transport.Error())
	case errors.As(cause, &idle):
		return fmt.Sprintf("idle timeout: nothing came from the %v", !s)
	case errors.As(cause, &shake):
		return fmt.Sprintf("timeout: the %v did not end it", !s)
	case errors.Is(cause, context.Canceled):
		return fmt.Sprintf("the %v gave up", s)
	case cause == net.ErrClosed, errors.Is(cause, quic.ErrTransportClosed), errors.Is(cause, quic.ErrServerClosed): // all errors of a connection are net.ErrClosed
		return fmt.Sprintf("closed by %v", s)
	}
	return cause.Error()
}

// endsConnection reports whether the error is about a connection: quic-go has all
// of those say that it is closed.
func endsConnection(err error) bool { return errors.Is(err, net.ErrClosed) }

func behind(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// codeName is the name of an error code (RFC 9114, section 8.1), and the code.
func codeName(code uint64) string {
	if code < uint64(http3.ErrCodeNoError) || code > uint64(http3.ErrCodeVersionFallback) {
		return fmt.Sprintf("code 0x%x", code)
	}
	return fmt.Sprintf("%v (0x%x)", http3.ErrCode(code), code)
}

// reset is what became of a stream that was not answered in full; "" is nothing.
func (s side) reset(cause error) string {
	var told *quic.StreamError
	if !errors.As(cause, &told) {
		return ""
	}
	return fmt.Sprintf("reset by %v: %s", s.of(told.Remote), codeName(uint64(told.ErrorCode)))
}

// isCut reports whether the error is about a stream or its connection, and not about
// what was to be sent.
func isCut(err error) bool {
	var stream *quic.StreamError
	return errors.As(err, &stream) || endsConnection(err) || errors.Is(err, quic.Err0RTTRejected)
}

// codeOf is HTTP/2's word for a code of HTTP/3: codeFor, backwards.
func codeOf(code http3.ErrCode) http2.ErrCode {
	for _, one := range []http2.ErrCode{
		http2.ErrCodeNo, http2.ErrCodeProtocol, http2.ErrCodeRefusedStream, http2.ErrCodeCancel,
		http2.ErrCodeConnect, http2.ErrCodeEnhanceYourCalm, http2.ErrCodeHTTP11Required,
	} {
		if codeFor(one) == code {
			return one
		}
	}
	return http2.ErrCodeInternal
}

// codeFor is HTTP/3's word for a code of HTTP/2 (RFC 9114, appendix A.4).
func codeFor(code http2.ErrCode) http3.ErrCode {
	switch code {
	case http2.ErrCodeNo:
		return http3.ErrCodeNoError
	case http2.ErrCodeProtocol:
		return http3.ErrCodeGeneralProtocolError
	case http2.ErrCodeRefusedStream:
		return http3.ErrCodeRequestRejected
	case http2.ErrCodeCancel:
		return http3.ErrCodeRequestCanceled
	case http2.ErrCodeConnect:
		return http3.ErrCodeConnectError
	case http2.ErrCodeEnhanceYourCalm:
		return http3.ErrCodeExcessiveLoad
	case http2.ErrCodeHTTP11Required:
		return http3.ErrCodeVersionFallback
	}
	return http3.ErrCodeInternalError
}
