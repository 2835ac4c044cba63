package wire

import (
	"errors"

	"golang.org/x/net/http2"
)

// ResetCode is the code of the RST_STREAM that a RoundTrip's error, or that of an
// answer's body, is about.
func ResetCode(err error) (code http2.ErrCode, ok bool) {
	var reset http2.StreamError
	if !errors.As(err, &reset) {
		return 0, false
	}
	return reset.Code, true
}

// IsRefused reports whether err is about a stream that the server has reset as one
// that it has not processed (RFC 9113, section 8.7), such as one above a limit that
// the client had not read yet.
func IsRefused(err error) bool {
	code, ok := ResetCode(err)
	return ok && code == http2.ErrCodeRefusedStream
}
