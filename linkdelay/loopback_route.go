package linkdelay

// realRoute is the way from a socket of a loopback Network to one address. A
// goroutine of the crew writes to the socket what comes due.
type realRoute struct {
	conn *realPacketConn
	to   target
	flow *flow
	way  *way
	box  *mailbox
}

// routeTo is called under the socket's mutex.
func (c *realPacketConn) routeTo(to target) *realRoute {
	text := to.String()
	if r := c.routes[text]; r != nil {
		return r
	}
	w := c.world.network.wire(c.host.name, to.host)
	r := &realRoute{conn: c, to: to, box: newMailbox(w.clock)}
	r.box.bind(r)
	r.meet(w)
	c.routes[text] = r
	c.world.crew.keep(r)
	c.using.Add(1)
	if !c.world.crew.start("writing what a link delivers to a UDP socket", r.deliver) {
		c.unused()
	}
	return r
}

func (r *realRoute) meet(w *wire) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.from(r.conn.host.name)
	r.flow = w.meet(from, r.conn.addr.text, r.to.String())
	r.way = r.flow.ways[from]
	r.way.box = r.box
}

// send puts a datagram on the link; the address that others see is the socket's.
func (r *realRoute) send(p []byte) {
	w := r.flow.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	r.way.post(w.clock.now(), r.conn.addr, p)
}

func (r *realRoute) deliver() {
	defer r.ended()
	buf := make([]byte, maxDatagram)
	for {
		n, _, err := r.box.receive(r, buf)
		if err != nil {
			return
		}
		// Who has the port is asked on arrival.
		real, ok := r.conn.world.realOf(r.to)
		if ok {
			_, err = r.conn.socket.WriteToUDPAddrPort(buf[:n], real)
		}
		if !ok || err != nil {
			r.way.unheard(n)
		}
	}
}

func (r *realRoute) ended() {
	r.conn.world.crew.drop(r)
	r.conn.unused()
}

// leave lets what was sent still arrive.
func (r *realRoute) leave() {
	r.box.drain()
	r.flow.wire.mu.Lock()
	defer r.flow.wire.mu.Unlock()
	r.flow.part()
}

func (r *realRoute) abort() { r.box.unbind() }

// unused is called by each user of the socket, its owner and its routes: the
// last closes it.
func (c *realPacketConn) unused() {
	if c.using.Add(-1) == 0 {
		c.world.unname(c.addr)
		c.socket.Close()
	}
}
