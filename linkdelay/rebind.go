package linkdelay

// nat is what Rebind has made of addresses. Without it all are as they are.
type nat struct {
	free   func(host string) *Addr // a new address on the side that is behind it
	round  int                     // counts rebindings
	rounds map[string]int          // when a socket's was renewed
	seen   map[string]*Addr        // by a socket's own address: the one that others see
	real   map[string]place        // and back
	dead   map[string]place        // addresses that were seen once
}

func (w *wire) rebind(inside int) {
	n := &w.nat
	if n.free == nil {
		return // a relay does it by its sockets
	}
	if n.seen == nil {
		n.seen, n.real, n.dead = make(map[string]*Addr), make(map[string]place), make(map[string]place)
		n.rounds = make(map[string]int)
	}
	n.round++
	for _, f := range w.open {
		if f.kind == datagrams {
			n.renew(f.ends[inside], w.host(inside))
		}
	}
}

// host is the one that a lane leads away from.
func (w *wire) host(lane int) string {
	if lane == 0 {
		return w.hosts.a
	}
	return w.hosts.b
}

func (n *nat) renew(socket, host string) {
	if n.rounds[socket] == n.round {
		return // by another flow of the same socket
	}
	n.rounds[socket] = n.round
	old, at := socket, parsePlace(socket)
	if a := n.seen[socket]; a != nil {
		old, at = a.text, n.real[a.text]
	}
	addr := n.free(host)
	if addr == nil {
		return // no port is left, or the sockets are real
	}
	delete(n.real, old)
	n.dead[old] = at
	n.seen[socket], n.real[addr.text] = addr, at
}

// socket is the one behind an address, and whether it no longer is.
func (n *nat) socket(seen place) (place, bool) {
	if len(n.dead) == 0 {
		return seen, false
	}
	text := seen.String()
	if p, ok := n.dead[text]; ok {
		return p, true
	}
	if p, ok := n.real[text]; ok {
		return p, false
	}
	return seen, false
}

// parsePlace is the inverse of place.String.
func parsePlace(text string) place {
	host, port, err := splitAddress(text)
	if err != nil {
		panic(err) // a place wrote it
	}
	return place{host, port}
}
