package h3

import (
	"net/http"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// answerWriter is what http3 gives a handler.
type answerWriter interface {
	http.ResponseWriter
	http.Flusher
	http3.HTTPStreamer
	http3.Settingser
	FlushError() error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// answer leaves out what a handler says of its connection, as net/http does over
// HTTP/2: to a client over HTTP/3 it makes an answer malformed (RFC 9114, section 4.2).
// http3 takes the fields with the first bytes that it sends, and that may be when the
// handler has returned.
type answer struct{ answerWriter }

// clean removes the fields that RFC 9110, section 7.6.1, names.
func (a answer) clean() {
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
		delete(a.Header(), name)
	}
}

func (a answer) WriteHeader(status int) { a.clean(); a.answerWriter.WriteHeader(status) }

func (a answer) Write(p []byte) (int, error) { a.clean(); return a.answerWriter.Write(p) }

func (a answer) Flush() { a.clean(); a.answerWriter.Flush() }

func (a answer) FlushError() error { a.clean(); return a.answerWriter.FlushError() }

func (a answer) HTTPStream() (*http3.Stream, error) { a.clean(); return a.answerWriter.HTTPStream() }
