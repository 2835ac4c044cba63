package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/internal/reset"
)

// ending is why the connection ends: the first reason is the cause, the later
// ones follow from it.
type ending struct {
	reason   string
	notes    []string // what stopped a parser
	recorded bool
}

// ended states a reason; the first counts.
func (t *Tap) ended(reason string) {
	if t.end.reason == "" {
		t.end.reason = reason
	}
}

// ownReason is why this side closes.
func (t *Tap) ownReason() string {
	if x := t.h1.current(); x != nil && x.has().because != "" {
		return x.has().because
	}
	return "closed by " + t.cfg.Side.String()
}

// note adds to the reason what stopped a parser.
func (t *Tap) note(text string) {
	t.end.notes = append(t.end.notes, text)
}

// readFailed says what a failed Read means. It ends the answers if those are
// what was read, but not the connection: the owner may still write. Behind a reset
// nothing of that arrives.
func (t *Tap) readFailed(err error) {
	if isTimeout(err) || isOwnClose(err) {
		return
	}
	t.ended(t.because("read", err))
	t.incoming().eof(err == io.EOF)
	if reset.Is(err) {
		t.down.eof(false)
	}
}

// writeFailed says what a failed Write means. What the peer sent before it
// closed may still be read.
func (t *Tap) writeFailed(err error) {
	if isTimeout(err) || isOwnClose(err) {
		return
	}
	t.ended(t.because("write", err))
}

func (t *Tap) because(op string, err error) string {
	peer := t.cfg.Side.peer()
	switch {
	case err == io.EOF, errors.Is(err, syscall.EPIPE):
		return "closed by " + peer
	case reset.Is(err):
		return "reset by " + peer
	}
	return op + ": " + err.Error()
}

// closeRecord ends all that is open and records the end of the connection.
func (t *Tap) closeRecord() {
	if t.end.recorded {
		return
	}
	t.end.recorded = true
	if t.cfg.Side == ServerSide {
		t.down.eof(t.end.reason == "closed by server")
	}
	t.h1.connectionEnded()
	if t.h2 != nil {
		t.h2.connectionEnded()
	}
	reason := strings.Join(append([]string{t.end.reason}, t.end.notes...), "; ")
	t.cfg.Record.Close(reason)
}

// cutOff ends a request whose answer can no longer end.
func (t *Tap) cutOff(rec *netlog.RequestRecord) {
	if rec != nil {
		rec.End("connection closed before the answer ended: " + t.end.reason)
	}
}

// isTimeout is about deadlines: the connection lives on.
func isTimeout(err error) bool {
	if bare, ok := err.(net.Error); ok && bare.Timeout() { // as after each request of HTTP/1.1, where it is to cost nothing
		return true
	}
	var ne net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}

// isOwnClose is what a Read or Write returns when this end was closed, and
// then Close knows the reason.
func isOwnClose(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}
