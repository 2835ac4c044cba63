package linkdelay

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
)

// Wrapper puts one link before sockets that belong to others: connections,
// listeners and sockets for datagrams that the code under test makes itself, of
// the kernel or of any other kind. What it returns behaves as the conns of a
// [Network] do, but that the data comes from, and goes to, the socket inside;
// outside of a synctest bubble Write blocks when the peer does not read.
//
//	wrapper := linkdelay.NewWrapper(t, linkdelay.RTT(100*time.Millisecond))
//	tr := &http.Transport{DialContext: wrapper.DialContext(nil)}
//
// Its Wire is one for all that it wraps; Rebind does nothing, as there is no
// NAT. Two goroutines serve each socket until it is closed, by its user or by
// the Wrapper's Close.
type Wrapper struct {
	*Wire
	crew *crew
}

// NewWrapper returns a Wrapper, which is closed by tb.Cleanup, with all that it
// has wrapped; what then still runs fails tb, by name. A mistaken link fails tb at
// once.
func NewWrapper(tb testing.TB, link Link) *Wrapper {
	tb.Helper()
	w, err := StartWrapper(link)
	if err != nil {
		tb.Fatal(err)
	}
	w.Wire.ownedBy(tb, w.Close)
	return w
}

// StartWrapper is [NewWrapper] without a test; the caller closes the Wrapper. The
// error names the field of link that is mistaken, and its value; a mistaken
// SetLink later panics.
func StartWrapper(link Link) (*Wrapper, error) {
	if err := link.validate(); err != nil {
		return nil, err
	}
	crew := newCrew(newClock())
	return &Wrapper{clientWire(crew.clock, link), crew}, nil
}

// Close ends everything that was wrapped, connections by a reset. What still runs
// after 10 seconds the error names, as a socket may that does not end its Read when
// it is closed. Close may be called again, and waits again.
func (w *Wrapper) Close() error { return w.crew.close("Wrapper") }

// Conn is a connection over the link and then c. The link's Up leads from the
// caller to c's peer. Only the result must be used from now on; its Close
// closes c, when what was written has left. If c has no CloseWrite, nor has the
// result. A connection of datagrams, as of "udp", is one of datagrams again.
func (w *Wrapper) Conn(c net.Conn) net.Conn {
	if isDatagrams(c) {
		return &connected{w.PacketConn(connectedSocket{c}), c.RemoteAddr()}
	}
	flow := w.wire.connect(clientLane, c.LocalAddr().String(), c.RemoteAddr().String())
	near, far := newPair(flow, clientLane, c.LocalAddr(), c.RemoteAddr())
	w.crew.limit(near)
	w.crew.join(c, far, 0)
	return &linked{near, c}
}

func isDatagrams(c net.Conn) bool {
	network := c.LocalAddr().Network()
	return strings.HasPrefix(network, "udp") || strings.HasPrefix(network, "ip") || network == "unixgram"
}

// accepted is a connection whose peer has dialled: Up leads from the peer.
func (w *Wrapper) accepted(c net.Conn) net.Conn {
	flow := w.wire.connect(clientLane, c.RemoteAddr().String(), c.LocalAddr().String())
	client, server := newPair(flow, clientLane, c.RemoteAddr(), c.LocalAddr())
	w.crew.limit(server)
	w.crew.join(c, client, 0)
	return &linked{server, c}
}

// Listener accepts what ln accepts, over the link. The link's Up leads from the
// clients to the caller. Accepting takes no time.
func (w *Wrapper) Listener(ln net.Listener) net.Listener { return &wrappedListener{ln, w} }

type wrappedListener struct {
	net.Listener
	wrapper *Wrapper
}

func (ln *wrappedListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return ln.wrapper.accepted(c), nil
}

// DialContext dials by dial, or by a net.Dialer if dial is nil, and over the
// link. A connection of "tcp" costs a round trip, or more where packets are
// lost, and dial is called when the first packet has arrived.
func (w *Wrapper) DialContext(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if family(network) != "tcp" {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return w.Conn(c), nil
		}
		conn, err := w.crew.dialOver(ctx, w.wire, clientLane, "client", addr, func() (net.Conn, error) { return dial(ctx, network, addr) })
		return conn, dialError(network, addr, err)
	}
}

func dialError(network, addr string, err error) error {
	var told *net.OpError
	if err == nil || errors.As(err, &told) {
		return err
	}
	return &net.OpError{Op: "dial", Net: network, Addr: plainAddr{network, addr}, Err: syscallError("connect", err)}
}

// linked is a connection over a link, and behind it a socket.
type linked struct {
	*conn
	socket net.Conn
}

// CloseWrite fails at once where the socket has no half of it to close.
func (c *linked) CloseWrite() error {
	if _, ok := c.socket.(interface{ CloseWrite() error }); !ok {
		return c.failed("close", syscall.EOPNOTSUPP)
	}
	return c.conn.CloseWrite()
}

// NetConn is the socket: to look at, not to read or to write.
func (c *linked) NetConn() net.Conn { return c.socket }
