package wire

import (
	"context"
	"fmt"
	"slices"
)

// dial is a connection being opened.
type dial struct {
	owner *waiter // gets its failure; nil if nobody waits for it
}

// startDial opens a connection for w. Pool.Close waits for it.
func (h *poolHost) startDial(w *waiter) {
	d := &dial{owner: w}
	w.dial = d
	h.dials = append(h.dials, d)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.ctx))
	h.pool.tasks.Go(func() {
		defer cancel()
		stop := context.AfterFunc(h.pool.ctx, cancel)
		defer stop()
		client, err := h.pool.cfg.Dial(ctx, h.name)
		h.dialled(d, client, err)
	})
}

// adopt gives w a dial that runs for nobody, if there is one.
func (h *poolHost) adopt(w *waiter) bool {
	for _, d := range h.dials {
		if d.owner == nil {
			w.dial, d.owner = d, w
			return true
		}
	}
	return false
}

// disown leaves the dial that runs for w to the first that waits without one,
// so that its failure reaches somebody who has been counting on it.
func (w *waiter) disown() {
	if w.dial != nil {
		w.dial.owner, w.dial = nil, nil
	}
}

// dialled takes in the outcome of d.
func (h *poolHost) dialled(d *dial, client *ClientConn, err error) {
	if err == nil && client == nil {
		err = fmt.Errorf("wire: pool: dial %s: no connection and no error", h.name)
	}
	conn := &pooledConn{host: h, client: client}
	if err == nil {
		hook := func() { h.changed(conn) }
		client.pooled.Store(&hook)
	}
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	owner := h.dialOver(d)
	if err == nil && conn.done() {
		err = conn.unusable()
	}
	switch {
	case err != nil:
		h.dialFailed(owner, err)
	case p.closed:
		p.closeConn(client)
	default:
		h.join(conn)
	}
	h.schedule()
}

// dialOver forgets d and returns its owner.
func (h *poolHost) dialOver(d *dial) *waiter {
	h.dials = slices.DeleteFunc(h.dials, func(other *dial) bool { return other == d })
	if d.owner != nil {
		d.owner.dial = nil
	}
	return d.owner
}

func (h *poolHost) dialFailed(owner *waiter, err error) {
	if owner != nil && h.drop(owner) {
		owner.fail(err)
	}
}

// unusable is the error of a connection that is done from the start. To dial
// again instead would go on for ever with a server that hangs up.
func (c *pooledConn) unusable() error {
	c.host.pool.closeConn(c.client)
	return fmt.Errorf("wire: pool: dial %s: the connection ended before it was used: %s",
		c.host.name, c.client.rec.Connection().CloseReason)
}
