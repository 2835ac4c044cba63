package wire

import (
	"fmt"
	"slices"
	"time"

	"example.com/wiretest/netlog"
)

// poolHost is what a Pool knows of one host. All of it is guarded by Pool.mu;
// no method blocks.
type poolHost struct {
	pool     *Pool
	name     string
	protocol string                   // of the newest connection; "" is not known yet
	conns    map[*pooledConn]struct{} // all that are open, also those that left the pool but have leases
	h2       *pooledConn              // the one connection of h2, or of a ForeignConn, that takes requests
	last     *netlog.ConnectionRecord // the one that left last; nil if none has
	idle     []*pooledConn            // http/1.1, the last used one last
	http1    int                      // http/1.1 connections that have not left
	dials    []*dial                  // that run
	waiting  []*waiter                // in order of their calls

	forgotten bool // nothing joins it anymore
}

// pooledConn is a connection of a Pool.
type pooledConn struct {
	host     *poolHost
	client   *ClientConn
	inFlight int  // leases
	left     bool // it takes no more requests
}

// schedule gives out what is free, and dials for those that still wait.
func (h *poolHost) schedule() {
	now := time.Now()
	for len(h.waiting) > 0 {
		conn := h.take()
		if conn == nil {
			break
		}
		w := h.waiting[0]
		h.waiting = h.waiting[1:]
		w.disown()
		w.serve(conn, now)
	}
	h.dialOrStall(now)
}

// take returns a connection for one more request, nil if there is none now.
func (h *poolHost) take() *pooledConn {
	if h.h2 != nil && h.h2.done() {
		h.retire(h.h2)
	}
	if h.h2 != nil {
		if h.h2.inFlight < h.h2.client.Limit() {
			return h.h2
		}
		return nil
	}
	for len(h.idle) > 0 {
		last := len(h.idle) - 1
		conn := h.idle[last]
		if !conn.done() {
			h.idle = h.idle[:last]
			return conn
		}
		h.retire(conn)
	}
	return nil
}

// dialOrStall looks after all that wait while nothing is free.
func (h *poolHost) dialOrStall(now time.Time) {
	for _, w := range h.waiting {
		switch {
		case w.dial != nil:
		case h.h2 != nil:
			w.stall(netlog.StalledMaxStreams, now)
		case h.adopt(w):
		case h.oneDialForAll():
			if len(h.dials) == 0 {
				h.startDial(w)
			}
			return
		case h.pool.cfg.MaxConns > 0 && h.http1+len(h.dials) >= h.pool.cfg.MaxConns:
			w.stall(netlog.StalledMaxSocketsPerGroup, now)
		default:
			h.startDial(w)
		}
	}
}

// oneDialForAll reports whether those that wait are to share the connection
// that is being dialled.
func (h *poolHost) oneDialForAll() bool {
	if h.protocol == "" {
		return h.pool.cfg.ExpectH2
	}
	return h.protocol != protoHTTP1
}

// join takes in a new connection.
func (h *poolHost) join(conn *pooledConn) {
	h.conns[conn] = struct{}{}
	h.protocol = conn.client.protocol
	if h.protocol == protoHTTP1 {
		h.http1++
		h.idle = append(h.idle, conn)
		return
	}
	if h.h2 != nil && !h.h2.done() {
		conn.client.rec.Close(fmt.Sprintf("closed by client: there is another %s connection", h.h2.client.protocol))
		h.retire(conn)
		return
	}
	if h.h2 != nil {
		h.retire(h.h2)
	}
	h.h2 = conn
	for _, old := range slices.Clone(h.idle) {
		h.retire(old)
	}
}

// release ends one lease of conn.
func (h *poolHost) release(conn *pooledConn, reuse bool) {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	conn.inFlight--
	switch {
	case !reuse, conn.done(), conn.left:
		h.retire(conn)
	case conn.client.protocol == protoHTTP1 && h.h2 != nil:
		h.retire(conn)
	case conn.client.protocol == protoHTTP1:
		h.idle = append(h.idle, conn)
	}
	h.schedule()
}

// retire lets conn take no more requests, and closes it when it has none.
func (h *poolHost) retire(conn *pooledConn) {
	if !conn.left {
		conn.left = true
		h.last = conn.client.rec
		if h.h2 == conn {
			h.h2 = nil
		}
		if conn.client.protocol == protoHTTP1 {
			h.http1--
			h.idle = remove(h.idle, conn)
		}
	}
	if _, open := h.conns[conn]; open && conn.inFlight == 0 {
		delete(h.conns, conn)
		h.pool.closeConn(conn.client)
	}
}

// changed is called when the limit of conn changes or it is done.
func (h *poolHost) changed(conn *pooledConn) {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if _, open := h.conns[conn]; !open {
		return // it has yet to join, or is closed
	}
	if conn.done() {
		h.retire(conn)
	}
	h.schedule()
}

func (c *pooledConn) done() bool {
	select {
	case <-c.client.done:
		return true
	default:
		return false
	}
}

// closeConn closes client in a task of its own: closing may take a while, and
// whoever calls may hold locks of net/http. Close waits for it.
func (p *Pool) closeConn(client *ClientConn) {
	p.tasks.Go(func() { client.Close() })
}

// drop takes w out of the queue, and reports whether it was in it. It wants
// schedule to be called after.
func (h *poolHost) drop(w *waiter) bool {
	i := slices.Index(h.waiting, w)
	if i < 0 {
		return false
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	w.disown()
	return true
}

// shut ends all waiting and closes all connections.
func (h *poolHost) shut(why error) {
	for _, w := range h.waiting {
		w.fail(why)
	}
	h.waiting = nil
	for conn := range h.conns {
		delete(h.conns, conn)
		conn.left = true
		h.pool.closeConn(conn.client)
	}
	h.h2, h.idle, h.http1 = nil, nil, 0
}

func remove[T comparable](all []T, one T) []T {
	return slices.DeleteFunc(all, func(other T) bool { return other == one })
}
