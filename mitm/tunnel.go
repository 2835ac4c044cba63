package mitm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"example.com/wiretest/netlog"
)

// tunnel is a connection whose bytes pass uninspected.
type tunnel struct {
	proxy    *Proxy
	down, up end
	counts   bool // bytes, which nobody below does
}

// end is a tunnel's connection on one leg.
type end struct {
	stream io.ReadWriteCloser
	conn   net.Conn // that carries it
	rec    *netlog.ConnectionRecord
}

// passThrough dials the origin before it answers, so that the client hears of it
// if that fails.
func (c *client) passThrough(say answer) { c.passOn(c.rest(), say) }

// passOn passes what comes by conn, which is c's.
func (c *client) passOn(conn net.Conn, say answer) {
	markTunnel(c.rec)
	down := lookOut(conn)
	ctx, stop := down.while(c.proxy.ctx)
	up, rec, err := c.proxy.dial(ctx, c.route)
	stop()
	if err != nil {
		say.refuse(http.StatusBadGateway, fmt.Errorf("upstream leg: %w", err))
		return
	}
	markTunnel(rec)
	t := &tunnel{proxy: c.proxy, down: end{down.conn(), c.conn, c.rec}, up: end{up, up, rec}, counts: true}
	defer rec.Close("closed")
	defer up.Close()
	if !say.accept() {
		rec.Close("the client has gone")
		return
	}
	t.run()
}

func markTunnel(rec *netlog.ConnectionRecord) {
	rec.Update(func(c *netlog.Connection) { c.Tunnel = true })
}

// run copies both ways until both are over. The first of them to fail ends the
// other, and so does Close.
func (t *tunnel) run() {
	stop := make(chan struct{})
	var copying, waiting sync.WaitGroup // of this function, which waits
	waiting.Go(func() {
		select {
		case <-t.proxy.ctx.Done():
			t.abort(proxyClosed)
		case <-stop:
		}
	})
	copying.Go(func() { t.copy(t.up, t.down, "client", func(c *netlog.Connection) *int64 { return &c.BytesUp }) })
	copying.Go(func() { t.copy(t.down, t.up, "origin", func(c *netlog.Connection) *int64 { return &c.BytesDown }) })
	copying.Wait()
	close(stop)
	waiting.Wait()
	t.close("both sides closed")
}

// copy passes what from sends, and at its end half-closes to.
func (t *tunnel) copy(to, from end, sender string, count func(*netlog.Connection) *int64) {
	buffer := t.proxy.buffers.Get().(*[bufferSize]byte)
	defer t.proxy.buffers.Put(buffer)
	for {
		n, err := from.stream.Read(buffer[:])
		if n > 0 {
			t.count(n, count)
			if _, err := to.stream.Write(buffer[:n]); err != nil {
				t.abort(fmt.Sprintf("write of what the %s sent: %s", sender, oneLine(bare(err))))
				return
			}
		}
		switch {
		case err == io.EOF:
			t.closeWrite(to, sender)
			return
		case err != nil:
			t.abort(fmt.Sprintf("%s: %s", sender, oneLine(bare(err))))
			return
		}
	}
}

func (t *tunnel) count(n int, count func(*netlog.Connection) *int64) {
	if !t.counts {
		return
	}
	for _, e := range []end{t.down, t.up} {
		e.rec.Update(func(c *netlog.Connection) { *count(c) += int64(n) })
	}
}

// closeWrite passes an end on. A transport that cannot half-close is closed.
func (t *tunnel) closeWrite(to end, sender string) {
	half, ok := to.stream.(closeWriter)
	if !ok {
		t.close(sender + " closed")
		return
	}
	if err := half.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.abort(fmt.Sprintf("end of what the %s sent: %s", sender, oneLine(bare(err))))
	}
}

// abort ends both connections without waiting for what is under way and without
// a word of TLS, so that a reset arrives as one.
func (t *tunnel) abort(reason string) {
	reason = t.proxy.unlessClosed(reason)
	for _, e := range []end{t.down, t.up} {
		e.rec.Close(reason)
		conn := inner(e.conn)
		if lingering, ok := conn.(interface{ SetLinger(seconds int) error }); ok {
			lingering.SetLinger(0)
		}
		conn.Close()
	}
	t.close(reason)
}

func (t *tunnel) close(reason string) {
	reason = t.proxy.unlessClosed(reason)
	for _, e := range []end{t.down, t.up} {
		e.rec.Close(reason)
		e.stream.Close()
	}
}

// inner is the connection at the bottom. What can be reset by itself is: below it
// may be the socket of a slow link, which would let go of what is on its way.
func inner(conn net.Conn) net.Conn {
	if _, resets := conn.(interface{ SetLinger(seconds int) error }); resets {
		return conn
	}
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return inner(over.NetConn())
	}
	return conn
}
