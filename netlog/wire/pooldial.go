package wire

import (
	"context"
	"fmt"
)

// dial is a connection being opened.
type dial struct {
	owner  *waiter // gets its failure; nil if nobody waits for it
	cancel context.CancelCauseFunc
}

// startDial opens a connection for w. Pool.Close waits for it.
func (h *poolHost) startDial(w *waiter) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(w.ctx))
	ctx = context.WithValue(ctx, dialReasonKey, h.dialReason())
	d := &dial{owner: w, cancel: cancel}
	w.dial = d
	h.dials = append(h.dials, d)
	h.pool.tasks.Go(func() {
		defer cancel(nil)
		stop := context.AfterFunc(h.pool.ctx, func() { cancel(errPoolClosed) })
		defer stop()
		client, err := h.pool.cfg.Dial(ctx, h.name)
		h.dialled(d, client, err)
	})
}

// abandon ends a dial that runs for nobody, for the cause for which the last who
// waited went away. The next who waits gets one of its own.
func (h *poolHost) abandon(d *dial, cause error) {
	h.dials = remove(h.dials, d)
	d.cancel(cause)
}

// DialReason says why a Pool calls its Dial with ctx: a connection's
// OpenReason. It is "" elsewhere.
func DialReason(ctx context.Context) string {
	reason, _ := ctx.Value(dialReasonKey).(string)
	return reason
}

// dialReason is why what is there does not do for one more request.
func (h *poolHost) dialReason() string {
	others := h.http1 + len(h.dials)
	switch {
	case others > 0 && h.http1 > 0:
		return fmt.Sprintf("more requests than connections: %d open or being opened", others)
	case others > 0:
		return fmt.Sprintf("more requests than connections: %d being opened", others)
	case h.last == nil:
		return "first request to it"
	}
	last := h.last.Connection()
	switch {
	case last.GoAway != "":
		return fmt.Sprintf("connection %d takes no more: %s", last.ID, last.GoAway)
	case last.CloseReason != "":
		return fmt.Sprintf("connection %d has ended: %s", last.ID, last.CloseReason)
	}
	return fmt.Sprintf("connection %d takes no more requests", last.ID)
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
	case p.closed, h.forgotten:
		p.closeConn(client)
	default:
		h.join(conn)
	}
	h.schedule()
}

// dialOver forgets d and returns its owner.
func (h *poolHost) dialOver(d *dial) *waiter {
	h.dials = remove(h.dials, d)
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
