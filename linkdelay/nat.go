package linkdelay

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// binding is what a NAT keeps for one address of a client: a socket towards
// the target, and the datagrams on their way over the link. Three goroutines
// of the relay's crew serve it: one reads the socket, and one for each
// direction writes what comes due.
type binding struct {
	relay    *udpRelay
	client   netip.AddrPort
	socket   *net.UDPConn
	up, down *mailbox
	flow     *flow
	sent     atomic.Int64 // the instant of the client's last datagram
	retired  atomic.Bool
	left     atomic.Int32
}

func (u *udpRelay) bindingOf(client netip.AddrPort) (*binding, error) {
	u.mu.Lock()
	b := u.bindings[client]
	u.mu.Unlock()
	if b != nil {
		return b, nil
	}
	b, err := u.newBinding(client)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	u.bindings[client] = b
	u.mu.Unlock()
	b.serve()
	return b, nil
}

func (u *udpRelay) newBinding(client netip.AddrPort) (*binding, error) {
	socket, err := net.DialUDP("udp", nil, u.target)
	if err != nil {
		return nil, err
	}
	raiseBuffers(socket)
	clock := u.relay.crew.clock
	b := &binding{relay: u, client: client, socket: socket, up: newMailbox(clock), down: newMailbox(clock)}
	b.up.bind(b)
	b.down.bind(b)
	b.flow = u.relay.wire.join(clientLane, client.String(), u.target.String(), b.up, b.down)
	b.sent.Store(int64(clock.now()))
	return b, nil
}

func (b *binding) serve() {
	crew := b.relay.relay.crew
	b.left.Store(3)
	crew.keep(b)
	for what, do := range map[string]func(){
		"reading from the target's UDP": b.read,
		"writing to the target's UDP":   b.deliverUp,
		"writing datagrams to a client": b.deliverDown,
	} {
		started := crew.start(what, func() {
			defer b.finished()
			do()
		})
		if !started {
			b.finished()
		}
	}
}

func (b *binding) abort() {
	b.up.unbind()
	b.down.unbind()
	b.socket.Close()
}

func (b *binding) finished() {
	if b.left.Add(-1) > 0 {
		return
	}
	b.abort()
	b.relay.relay.crew.drop(b)
	b.flow.leave()
}

// post puts a datagram on the link, by the lane given; false is that the
// client has another binding by now.
func (b *binding) post(lane int, p []byte) bool {
	w := b.relay.relay.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	if lane == clientLane && b.retired.Load() {
		return false
	}
	b.flow.ways[lane].post(w.clock.now(), nil, p)
	return true
}

// retire takes the binding out of use: what is on its way still arrives, what
// comes to its port from now on is lost.
func (b *binding) retire() {
	w := b.relay.relay.wire
	w.mu.Lock()
	already := b.retired.Swap(true)
	w.mu.Unlock()
	if already {
		return
	}
	b.relay.mu.Lock()
	if b.relay.bindings[b.client] == b {
		delete(b.relay.bindings, b.client)
	}
	b.relay.mu.Unlock()
	b.up.drain()
	b.socket.SetReadDeadline(time.Now()) // read notices
}

// read takes what the target sends, until the binding is retired.
func (b *binding) read() {
	defer b.down.drain()
	buf := make([]byte, maxDatagram)
	b.watch()
	for {
		n, err := b.socket.Read(buf)
		switch {
		case b.retired.Load():
			if err == nil {
				b.lose(buf[:n])
			}
			return
		case err == nil:
			b.relay.sendDown(b, buf[:n])
		case isTimeout(err):
			b.watch()
		case errors.Is(err, net.ErrClosed):
			return
		case isRefused(err): // by ICMP; the next may be heard
		case b.relay.relay.crew.pause() != nil:
			return
		}
	}
}

// lose accounts for a datagram that came to a port that is the client's no more.
func (b *binding) lose(p []byte) {
	w := b.relay.relay.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	b.flow.ways[1-clientLane].lose(w.clock.now(), p)
}

// watch ends the binding if the client has not sent for too long, else it makes
// read look again when that may be.
func (b *binding) watch() {
	expires := b.expires()
	if time.Until(expires) <= 0 {
		b.retire()
	}
	b.socket.SetReadDeadline(expires)
	if b.retired.Load() { // perhaps meanwhile, by another
		b.socket.SetReadDeadline(time.Now())
	}
}

// expires is when the binding ends unless the client sends.
func (b *binding) expires() time.Time {
	last := b.relay.relay.crew.clock.epoch.Add(time.Duration(b.sent.Load()))
	return last.Add(b.relay.relay.config.timeout)
}

func (b *binding) deliverUp() {
	b.deliver(b.up, b.flow.ways[clientLane], func(p []byte) error {
		_, err := b.socket.Write(p)
		return err
	})
}

func (b *binding) deliverDown() {
	b.deliver(b.down, b.flow.ways[1-clientLane], func(p []byte) error {
		_, err := b.relay.socket.WriteToUDPAddrPort(p, b.client)
		return err
	})
}

// deliver writes what comes due. An error that stands for an earlier datagram,
// which an ICMP message refused, costs another try.
func (b *binding) deliver(box *mailbox, way *way, write func([]byte) error) {
	buf := make([]byte, maxDatagram)
	for {
		n, _, err := box.receive(b, buf)
		if err != nil {
			return
		}
		err = write(buf[:n])
		if isRefused(err) {
			err = write(buf[:n])
		}
		if err != nil {
			way.unheard(n)
		}
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// isRefused tells what a socket reports when an ICMP message said that nobody
// listens; on Windows that is a reset.
func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}
