package wire

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"example.com/wiretest/netlog"
)

// clientPipe is the connection that net/http gets of a ClientConn. By what
// passes it knows, sooner than net/http tells, when the connection is of no
// more use and when a head was sent.
type clientPipe struct {
	net.Conn // the tap
	client   *ClientConn
	tap      *Tap
	raw      net.Conn // below the tap

	stated  atomic.Int64            // limit that the tap has seen and net/http perhaps not; 0 is none
	sending atomic.Pointer[sending] // http/1.1: the request whose head is being written
	writing chan struct{}           // http/1.1: holds a token while net/http writes

	// Of the reading goroutine.
	greeting greeting
	greeted  bool

	closing atomic.Bool
	failure error
	closed  chan struct{}
}

func newClientPipe(c *ClientConn, conn net.Conn, scheme string) *clientPipe {
	p := &clientPipe{client: c, raw: conn, closed: make(chan struct{}), greeted: c.protocol == protoHTTP1}
	if c.protocol == protoHTTP1 {
		p.writing = make(chan struct{}, 1)
	}
	p.tap = NewTap(conn, TapConfig{
		Side:     ClientSide,
		Protocol: c.protocol,
		Record:   c.rec,
		Scheme:   scheme,
		OnLimit:  func(n int) { p.stated.Store(int64(n) + 1) },
	})
	p.tap.shut = func() { p.Close() }
	p.Conn = p.tap
	return p
}

// Read is called by net/http's reading goroutine alone, without locks.
func (p *clientPipe) Read(b []byte) (int, error) {
	// Asking for more, net/http has taken in what it read before: now it will
	// not hold back a request that the new limit allows.
	p.takenIn()
	n, err := p.Conn.Read(b)
	if p.overtook(n) {
		p.awaitWrite()
	}
	if p.closing.Load() {
		// The close of a *tls.Conn tells the peer before it ends reading: what
		// the peer then still says must not become a success of a request that
		// was cancelled.
		n, err = 0, net.ErrClosed
	}
	if !p.greeted {
		p.greeting.add(b[:n])
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || p.goneAway() {
		p.publishLimit()
		if p.client.finish() {
			p.client.changed()
		}
	}
	return n, err
}

// overtook reports whether the n bytes of an answer are here, on http/1.1, and the
// Write that ended the request has perhaps not returned. A request of which there
// is more to come is not meant: its peer may well have answered without reading it.
func (p *clientPipe) overtook(n int) bool {
	return n > 0 && p.writing != nil && p.tap.askedAll()
}

// mostOvertaken is how long a goroutine that has nothing to wait for may be away on
// a busy machine.
const mostOvertaken = 250 * time.Millisecond

// awaitWrite waits until no Write runs. net/http closes a connection of which it
// knows an answer's end for 50 ms and not yet the end of the write.
func (p *clientPipe) awaitWrite() {
	select {
	case p.writing <- struct{}{}:
		<-p.writing
		return
	default:
	}
	patience := time.NewTimer(mostOvertaken)
	defer patience.Stop()
	select {
	case p.writing <- struct{}{}:
		<-p.writing
	case <-p.closed:
	case <-patience.C: // the peer reads nothing
	}
}

// takenIn is called when net/http has processed all whole frames that it has
// read.
func (p *clientPipe) takenIn() {
	p.publishLimit()
	if !p.greeted && p.greeting.whole() {
		p.greeted = true
		close(p.client.greet)
	}
}

// greeting is the beginning of what an HTTP/2 server sends: its settings
// (RFC 9113, section 3.4).
type greeting struct {
	length [3]byte // of the first frame's payload
	read   int
}

func (g *greeting) add(b []byte) {
	if g.read < len(g.length) {
		copy(g.length[g.read:], b)
	}
	g.read += len(b)
}

func (g *greeting) whole() bool {
	payload := int(g.length[0])<<16 | int(g.length[1])<<8 | int(g.length[2])
	return g.read >= frameHeaderLen+payload
}

func (p *clientPipe) publishLimit() {
	n := p.stated.Swap(0)
	if n == 0 {
		return
	}
	if old := p.client.limit.Swap(n - 1); old != n-1 {
		p.client.changed()
	}
}

// goneAway reports whether the server has said GOAWAY.
func (p *clientPipe) goneAway() (gone bool) {
	if p.client.protocol != protoH2 {
		return false
	}
	p.client.rec.Update(func(c *netlog.Connection) { gone = c.GoAway != "" })
	return gone
}

func (p *clientPipe) Write(b []byte) (int, error) {
	if p.writing != nil {
		p.writing <- struct{}{}
		defer func() { <-p.writing }()
	}
	n, err := p.Conn.Write(b)
	if err != nil {
		p.finishUnderLocks()
		return n, err
	}
	if s := p.sending.Load(); s != nil {
		if rec := p.tap.Last(); rec != s.before {
			p.sending.CompareAndSwap(s, nil)
			s.sent(rec)
		}
	}
	return n, nil
}

// finishUnderLocks is finish for where net/http may hold its locks. The
// goroutine ends when those who are told return.
func (p *clientPipe) finishUnderLocks() {
	if p.client.finish() {
		go p.client.changed()
	}
}

// Close closes the connection; later calls wait for the first.
func (p *clientPipe) Close() error {
	if p.closing.CompareAndSwap(false, true) {
		p.finishUnderLocks()
		p.failure = closeSoon(p.tap, p.raw)
		close(p.closed)
	}
	<-p.closed
	return p.failure
}

// CloseWrite is for the owner of an upgraded connection.
func (p *clientPipe) CloseWrite() error { return p.tap.CloseWrite() }
