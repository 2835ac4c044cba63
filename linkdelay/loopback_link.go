package linkdelay

import (
	"context"
	"net"

	"example.com/wiretest/linkdelay/internal/sender"
)

// dialOver connects over the link to another host. The socket is at the far end
// of the link: what the dialler gets is the near end.
func (l *loopback) dialOver(ctx context.Context, h *Host, to target) (net.Conn, error) {
	w := l.network.wire(h.name, to.host)
	return l.crew.dialOver(ctx, w, w.from(h.name), h.name, to.String(), func() (net.Conn, error) {
		return l.dialReal(ctx, to)
	})
}

// dialOver makes a connection by dial when the first packet has arrived, and
// puts the link before it.
func (c *crew) dialOver(ctx context.Context, w *wire, from int, near, far string, dial func() (net.Conn, error)) (net.Conn, error) {
	var socket net.Conn
	var failed error
	d := dialling{flow: w.connect(from, near, far), from: from, done: c.ctx.Done(), heard: func() {
		if socket == nil && failed == nil {
			socket, failed = dial()
		}
	}}
	done, err := d.run(ctx)
	if err == nil {
		err = failed
	}
	if err != nil {
		d.flow.abandon()
		discard(socket)
		return nil, err
	}
	return c.over(socket, d, done), nil
}

// over puts a link before a socket, whose bytes go over it once the handshake
// is over on that side.
func (c *crew) over(socket net.Conn, d dialling, done sender.Dialled) *linked {
	near, far := newPair(d.flow, d.from, socket.LocalAddr(), socket.RemoteAddr())
	c.limit(near)
	c.join(socket, far, instant(done.Accepted))
	return &linked{near, socket}
}

// limit makes a connection hold back who writes to a peer that does not read. In
// virtual time Write must not block: see Streams in memory.
func (c *crew) limit(end *conn) {
	if virtual(c.clock.epoch) {
		return
	}
	end.out.limit(streamBound)
	end.in.limit(streamBound)
}

// discard resets a connection that nobody will have.
func discard(socket net.Conn) {
	if socket == nil {
		return
	}
	if tcp, ok := socket.(interface{ SetLinger(int) error }); ok {
		tcp.SetLinger(0)
	}
	socket.Close()
}
