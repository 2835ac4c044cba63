package wire

import (
	"errors"
	"strings"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
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

// refusedBy is how the Err begins of a request that a GOAWAY has left out.
const refusedBy = "refused by GOAWAY "

// IsLeftOut reports whether a GOAWAY of HTTP/2 has left q out, as one that the server
// has not processed and will not (RFC 9113, section 6.8). It was graceful if its code
// was NO_ERROR.
func IsLeftOut(q *netlog.RequestRecord) (is, graceful bool) {
	reason, is := strings.CutPrefix(q.Request().Err, refusedBy)
	return is, strings.HasPrefix(reason, http2.ErrCodeNo.String()+" ")
}
