package linkdelay

import (
	"context"
	"net"
	"syscall"
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

// handshake takes three packets. The dialler has the connection after a
// round trip; the listener has it when the third packet arrives.
func (m *memory) handshake(ctx context.Context, c call) (net.Conn, error) {
	w := m.network.wire(c.local.host, c.remote.host)
	up, down := w.from(c.local.host), w.to(c.local.host)

	syn := m.clock.now().add(up.delay())
	if err := m.clock.sleep(ctx, syn, m.done); err != nil {
		return nil, err
	}
	l := m.listenerAt(c.remote)
	answer := syn.add(down.delay())
	if err := m.clock.sleep(ctx, answer, m.done); err != nil {
		return nil, err
	}
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	return m.join(l, c, up, down, answer.add(up.delay()))
}

// join makes both ends of a connection and hands one to the listener, which
// accepts it at the instant given.
func (m *memory) join(l *listener, c call, up, down *lane, accepted instant) (net.Conn, error) {
	client, server := newPair(m.clock, newAddr("tcp", c.local), newAddr("tcp", c.remote), up, down)
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
