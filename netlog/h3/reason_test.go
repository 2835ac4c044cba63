package h3

import (
	"context"
	"errors"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/assert"
	"golang.org/x/net/http2"
)

func TestReasons(t *testing.T) {
	for want, c := range map[string]struct {
		side
		cause      error
		handshaken bool
	}{
		"closed by client: H3_NO_ERROR (0x100)":                      {onServer, &quic.ApplicationError{Remote: true, ErrorCode: 0x100}, true},
		"closed by server: H3_INTERNAL_ERROR (0x102): out of coffee": {onServer, &quic.ApplicationError{ErrorCode: 0x102, ErrorMessage: "out of coffee"}, true},
		"closed by server: code 0x7":                                 {onClient, &quic.ApplicationError{Remote: true, ErrorCode: 7}, true},
		"idle timeout: nothing came from the client":                 {onServer, &quic.IdleTimeoutError{}, true},
		"QUIC handshake: timeout: the server did not end it":         {onClient, &quic.HandshakeTimeoutError{}, false},
		"QUIC handshake: the client gave up":                         {onClient, context.Canceled, false},
		"closed by server":                                           {onServer, quic.ErrServerClosed, true},
		"received a stateless reset":                                 {onClient, &quic.StatelessResetError{}, true},
		"closed by server: FLOW_CONTROL_ERROR (remote)":              {onClient, &quic.TransportError{Remote: true, ErrorCode: quic.FlowControlError}, true},
		"QUIC handshake: no network":                                 {onClient, errors.New("no network"), false},
	} {
		assert.Equal(t, want, c.side.reason(c.cause, c.handshaken))
	}
	assert.Equal(t, "reset by client: H3_REQUEST_CANCELLED (0x10c)", onServer.reset(&quic.StreamError{Remote: true, ErrorCode: 0x10c}))
	assert.Equal(t, "reset by client: H3_REQUEST_CANCELLED (0x10c)", onClient.reset(&quic.StreamError{ErrorCode: 0x10c}))
	assert.Empty(t, onClient.reset(&quic.IdleTimeoutError{}))
}

func TestCodesOfHTTP2InHTTP3(t *testing.T) {
	for from, to := range map[http2.ErrCode]http3.ErrCode{
		http2.ErrCodeNo:                 http3.ErrCodeNoError,
		http2.ErrCodeProtocol:           http3.ErrCodeGeneralProtocolError,
		http2.ErrCodeInternal:           http3.ErrCodeInternalError,
		http2.ErrCodeRefusedStream:      http3.ErrCodeRequestRejected,
		http2.ErrCodeCancel:             http3.ErrCodeRequestCanceled,
		http2.ErrCodeConnect:            http3.ErrCodeConnectError,
		http2.ErrCodeEnhanceYourCalm:    http3.ErrCodeExcessiveLoad,
		http2.ErrCodeHTTP11Required:     http3.ErrCodeVersionFallback,
		http2.ErrCodeInadequateSecurity: http3.ErrCodeInternalError,
	} {
		assert.Equal(t, to, codeFor(from), "%v", from)
	}
}
