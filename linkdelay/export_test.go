package linkdelay

// Open is how many listeners, connections and sockets a Network in memory has
// to close.
func (n *Network) Open() int {
	m := n.world.(*memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.open)
}

// Calls is how many local ports of connections are taken.
func (n *Network) Calls() int {
	m := n.world.(*memory)
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

func (n *Network) dropped(host string, port int) drops {
	b := n.world.(*memory).box(place{host, port})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance(b.clock.now())
	return b.dropped
}

// DroppedNobody counts datagrams that found the port closed.
func DroppedNobody(n *Network, host string, port int) uint64 { return n.dropped(host, port).nobody }

// DroppedOverflow counts datagrams that found the queue full.
func DroppedOverflow(n *Network, host string, port int) uint64 {
	return n.dropped(host, port).overflow
}

// OpenSockets is how much a Network on loopback has to close and to name.
func OpenSockets(n *Network) int {
	l := n.world.(*loopback)
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) + len(l.ports["tcp"]) + len(l.ports["udp"]) + len(l.names)
}

// Running is how many goroutines work for a Relay.
func (r *Relay) Running() int { return r.crew.running() }

// Running is how many goroutines work for a Wrapper.
func (w *Wrapper) Running() int { return w.crew.running() }

func (c *crew) running() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.works {
		n += k
	}
	return n
}

// Held is how many bytes are in the streams of a Relay.
func (r *Relay) Held() (n int) {
	r.crew.mu.Lock()
	defer r.crew.mu.Unlock()
	for a := range r.crew.open {
		if s, ok := a.(*splice); ok {
			s.end.in.mu.Lock()
			n += s.end.in.data.size
			s.end.in.mu.Unlock()
		}
	}
	return n
}

// Bindings is how many clients' addresses a UDP relay knows.
func (r *Relay) Bindings() int {
	r.udp.mu.Lock()
	defer r.udp.mu.Unlock()
	return len(r.udp.bindings)
}

// Missing is by how much the equation of a Ledger does not hold: zero.
func (l Ledger) Missing() Count {
	sum := l.In
	sum.plus(l.Duplicated)
	for _, c := range []Count{l.Delivered, l.AllDropped(), l.Queued, l.InFlight} {
		sum.take(int(c.Datagrams), int(c.Bytes))
	}
	return sum
}
