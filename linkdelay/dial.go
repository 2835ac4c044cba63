package linkdelay

import (
	"context"
	"net"
	"syscall"

	"example.com/wiretest/linkdelay/internal/sender"
)

func (m *memory) dial(ctx context.Context, h *Host, to target) (net.Conn, error) {
	if to.network == "udp" {
		pc, err := m.listenPacket(ctx, h, "udp", 0)
		if err != nil {
			return nil, err
		}
		return connect(pc, to.place), nil
	}
	c, err := m.reserve(h.name, to.place)
	if err != nil {
		return nil, err
	}
	conn, err := m.handshake(ctx, c)
	if err != nil {
		m.release(c)
		return nil, err
	}
	return conn, nil
}

// reserve gives a connection its local port.
func (m *memory) reserve(host string, remote place) (call, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(); err != nil {
		return call{}, err
	}
	local, err := m.free("tcp", host, func(p place) bool {
		_, used := m.calls[call{p, remote}]
		return used || m.listeners[p] != nil
	})
	if err != nil {
		return call{}, syscall.EADDRNOTAVAIL
	}
	c := call{local, remote}
	m.calls[c] = struct{}{}
	return c, nil
}

func (m *memory) release(c call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, c)
}

// handshake takes three packets, and more where some are lost. The dialler has
// the connection after a round trip; the listener has it when the third packet
// arrives.
func (m *memory) handshake(ctx context.Context, c call) (net.Conn, error) {
	w := m.network.wire(c.local.host, c.remote.host)
	from := w.from(c.local.host)
	var l *listener
	d := dialling{
		flow: w.connect(from, c.local.String(), c.remote.String()), from: from,
		done: m.done, heard: func() { l = m.listenerAt(c.remote) },
	}
	done, err := d.run(ctx)
	if err == nil && l == nil {
		err = syscall.ECONNREFUSED
	}
	if err != nil {
		d.flow.abandon()
		return nil, err
	}
	return m.join(l, d, c, instant(done.Accepted))
}

// initialWindow is in segments (RFC 6928).
const initialWindow = 10

// dialling is a handshake that goes on.
type dialling struct {
	flow  *flow
	from  int             // the lane of its first packet
	done  <-chan struct{} // ends it with net.ErrClosed
	heard func()          // called when the first packet arrives, perhaps again
}

// run returns when the dialler's side is established.
func (d dialling) run(ctx context.Context) (done sender.Dialled, err error) {
	w := d.flow.wire
	h := sender.NewHandshake(sender.Instant(w.clock.now()), segments{d.flow.ways[d.from]}, segments{d.flow.ways[1-d.from]})
	epoch := w.cuts()
	for {
		at := h.Next()
		if h.Over() {
			var ok bool
			if done, ok = d.result(h); !ok {
				return done, syscall.ETIMEDOUT
			}
			at = done.Established
		}
		if err := w.clock.sleep(ctx, instant(at), d.done); err != nil {
			return done, err
		}
		if now := w.cuts(); now != epoch {
			epoch = now
			h.Cut()
			continue
		}
		if h.Over() {
			d.flow.begins(done.Window(initialWindow))
			return done, nil
		}
		if d.step(h) {
			d.heard()
		}
	}
}

// begins sets the initial window.
func (f *flow) begins(window int) {
	f.wire.mu.Lock()
	defer f.wire.mu.Unlock()
	f.window = window
}

// abandon is for a connection that came to nothing.
func (f *flow) abandon() {
	f.leave()
	f.leave()
}

func (d dialling) step(h *sender.Handshake) (heard bool) {
	w := d.flow.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	w.play(w.clock.now())
	return h.Step()
}

// result reads the paths, which SetLink changes.
func (d dialling) result(h *sender.Handshake) (sender.Dialled, bool) {
	d.flow.wire.mu.Lock()
	defer d.flow.wire.mu.Unlock()
	return h.Result()
}

// cuts is how often the wire was cut.
func (w *wire) cuts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.epoch
}

// join makes both ends of a connection and hands one to the listener, which
// accepts it at the instant given.
func (m *memory) join(l *listener, d dialling, c call, accepted instant) (net.Conn, error) {
	client, server := newPair(d.flow, d.from, newAddr("tcp", c.local), newAddr("tcp", c.remote))
	client.gone = func() { m.remove(client); m.release(c) }
	server.gone = func() { m.remove(server) }
	if err := m.register(client, server); err != nil {
		return nil, err
	}
	if !l.deliver(server, accepted) {
		server.reset(accepted) // closed during the handshake
	}
	return client, nil
}

func (m *memory) register(both ...*conn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return net.ErrClosed
	}
	for _, c := range both {
		m.open[c] = struct{}{}
	}
	return nil
}
