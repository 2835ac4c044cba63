package mitm

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// lookout is a client's connection on which somebody looks whether the client
// leaves while the origin is dialled for it. What is read meanwhile is given
// afterwards.
type lookout struct {
	net.Conn
	read  []byte // and not given; belongs to while's goroutine while that runs
	first int    // bytes that the first Read has brought
}

func lookOut(conn net.Conn) *lookout { return &lookout{Conn: conn} }

// lookAhead is how much a client may send before it has heard of the origin,
// and still be looked at.
const lookAhead = 4 << 10

var errLeft = errors.New("the client has left")

// while is a context that ends when the client leaves, until stop is called.
// The goroutine that looks ends with stop, which waits for it.
func (l *lookout) while(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if l.look() {
			cancel(errLeft)
		}
	}()
	return ctx, func() {
		l.SetReadDeadline(time.Unix(1, 0))
		<-done
		l.SetReadDeadline(time.Time{})
		cancel(nil)
	}
}

// look reports whether the client has left. One that has sent something and then
// its end has not: it may want an answer all the same.
func (l *lookout) look() (left bool) {
	buffer := make([]byte, lookAhead)
	for len(l.read) < lookAhead {
		n, err := l.Conn.Read(buffer[len(l.read):])
		l.read = buffer[:len(l.read)+n]
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout():
			return false
		case err != nil:
			return err != io.EOF || len(l.read) == 0
		}
	}
	return false
}

func (l *lookout) Read(p []byte) (int, error) {
	if len(l.read) == 0 {
		n, err := l.Conn.Read(p)
		if l.first == 0 {
			l.first = n
		}
		return n, err
	}
	n := copy(p, l.read)
	l.read = l.read[n:]
	if len(l.read) == 0 {
		l.read = nil // idle connections have no use for it
	}
	return n, nil
}

// NetConn is the connection below, as in tls.Conn.
func (l *lookout) NetConn() net.Conn { return l.Conn }

// conn is l, which can be half closed if the connection below can.
func (l *lookout) conn() net.Conn {
	if half, ok := l.Conn.(closeWriter); ok {
		return &halfLookout{l, half}
	}
	return l
}

type halfLookout struct {
	*lookout
	closeWriter
}
