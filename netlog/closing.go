package netlog

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"example.com/wiretest/netlog/internal/reset"
)

// takesLeave notes that p ends TLS from this side. The peer may answer that, and
// close, before this side does.
func (r *recordedConn) takesLeave(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaving = tail(p).endsTLS() && r.ended == "" && !r.tail.endsTLS()
}

// note keeps the first error that this side did not cause.
func (r *recordedConn) note(err error) {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.leaving || r.ended != "" {
		return
	}
	switch {
	case err == io.EOF || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE):
		r.ended = "closed by the peer"
	case reset.Is(err):
		r.ended = "reset by the peer"
	default:
		r.ended = "failed: " + err.Error()
	}
}

// Reasons that are completed when a better one turns up.
const closedHere = "closed by this side"

// reason is why the connection is being closed. The end of TLS comes before that
// of the connection, and net/http closes as soon as it has read it.
func (r *recordedConn) reason() string {
	c := r.record.Connection()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended != "":
		return r.ended
	case r.secure && !r.leaving && r.tail.endsTLS():
		return "closed by the peer"
	case r.cause != "":
		return closedHere + ": " + r.cause
	case r.secure && c.Handshaken.IsZero():
		return closedHere + " before TLS was established"
	case c.ALPN == "h2" && !c.Used():
		return closedHere + ": not needed, another connection speaks h2"
	}
	return closedHere
}

// because says why this side closes, or closed a moment ago.
func (r *recordedConn) because(cause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.cause = cause
		return
	}
	r.record.Update(func(c *Connection) {
		if c.CloseReason == closedHere {
			c.CloseReason += ": " + cause
		}
	})
}

// rests says that net/http is done with an answer: err is nil if it put the
// connection into its pool. That it has no use for a closed one goes without
// saying.
func (r *recordedConn) rests(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.cause = ""
	case !r.closed && !r.leaving:
		r.cause = strings.TrimPrefix(err.Error(), "http: putIdleConn: ")
	}
}
