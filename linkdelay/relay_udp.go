package linkdelay

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

// maxDatagram is one byte more than UDP can carry.
const maxDatagram = 1 << 16

// udpRelay forwards datagrams of any number of clients over the link, each by
// a binding of its own.
type udpRelay struct {
	relay  *Relay
	target *net.UDPAddr
	socket *net.UDPConn

	mu       sync.Mutex
	bindings map[netip.AddrPort]*binding
}

func (r *Relay) bindUDP(target, listen string) error {
	to, err := net.ResolveUDPAddr("udp", target)
	if err != nil {
		return err
	}
	pc, err := new(net.ListenConfig).ListenPacket(r.crew.ctx, "udp", listen)
	if err != nil {
		return err
	}
	socket := pc.(*net.UDPConn)
	raiseBuffers(socket)
	r.wire.onRebind = append(r.wire.onRebind, func() { r.udp.rebind() })
	r.udp = &udpRelay{relay: r, target: to, socket: socket, bindings: make(map[netip.AddrPort]*binding)}
	r.Addr = socket.LocalAddr().String()
	return nil
}

// raiseBuffers asks for room for a burst; the kernel gives as much as it may.
func raiseBuffers(socket *net.UDPConn) {
	const burst = 7 << 20 // what quic-go asks for
	socket.SetReadBuffer(burst)
	socket.SetWriteBuffer(burst)
}

func (u *udpRelay) serve() {
	u.relay.crew.keep(closing{u.socket})
	u.relay.crew.start("reading datagrams of clients", u.read)
}

func (u *udpRelay) read() {
	buf := make([]byte, maxDatagram)
	for {
		n, client, err := u.socket.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			u.sendUp(client, buf[:n])
		case errors.Is(err, net.ErrClosed):
			return
		case isRefused(err): // by a client that is gone, on Windows
		case u.relay.crew.pause() != nil:
			return
		}
	}
}

// sendUp puts a client's datagram on the link. A binding may be retired
// between being found and being used; then the next one is used.
func (u *udpRelay) sendUp(client netip.AddrPort, p []byte) {
	for {
		b, err := u.bindingOf(client)
		if err != nil {
			u.lose(client, p)
			return
		}
		b.sent.Store(int64(u.relay.crew.clock.now()))
		if b.post(clientLane, p) {
			return
		}
	}
}

// lose accounts for a datagram that has no binding, because no socket is left
// for one.
func (u *udpRelay) lose(client netip.AddrPort, p []byte) {
	w := u.relay.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.begin(datagrams, clientLane, client.String(), u.target.String())
	way := f.ways[clientLane]
	way.in.add(1, len(p))
	way.drop(noReceiver, 1, len(p))
	way.note(w.clock.now(), noReceiver, len(p), 0, 0)
	f.users = 0
	w.end(f)
}

// sendDown puts a datagram of the target on the link.
func (u *udpRelay) sendDown(b *binding, p []byte) {
	b.post(1-clientLane, p)
}

// rebind gives each client another port towards the target, from its next
// datagram on.
func (u *udpRelay) rebind() {
	u.mu.Lock()
	var all []*binding
	for _, b := range u.bindings {
		all = append(all, b)
	}
	u.mu.Unlock()
	for _, b := range all {
		b.retire()
	}
}
