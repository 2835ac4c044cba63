package linkdelay

import (
	"net"
)

// streamBound is how much a relay keeps, each way of a connection, that is due
// and not taken by the other side.
const streamBound = 1 << 20

// tcpRelay accepts connections and forwards each over the link.
type tcpRelay struct {
	relay    *Relay
	target   string
	listener *net.TCPListener
}

func (r *Relay) bindTCP(target, listen string) error {
	ln, err := new(net.ListenConfig).Listen(r.crew.ctx, "tcp", listen)
	if err != nil {
		return err
	}
	r.tcp = &tcpRelay{relay: r, target: target, listener: ln.(*net.TCPListener)}
	r.Addr = ln.Addr().String()
	return nil
}

func (t *tcpRelay) serve() {
	t.relay.crew.keep(closing{t.listener})
	t.relay.crew.start("accepting connections", t.accept)
}

// accept goes on after errors of single connections; once the listener is
// closed nothing comes any more.
func (t *tcpRelay) accept() {
	for {
		client, err := t.listener.Accept()
		if err == nil {
			t.forward(client)
			continue
		}
		if t.relay.crew.pause() != nil {
			return
		}
	}
}

// forward carries one connection. Its far end is joined to the target when the
// first packet has arrived there.
func (t *tcpRelay) forward(client net.Conn) {
	r := t.relay
	flow := r.wire.connect(clientLane, client.RemoteAddr().String(), t.target)
	near, far := newPair(flow, clientLane, client.LocalAddr(), client.RemoteAddr())
	up, down := r.wire.delay(clientLane, streams), r.wire.delay(1-clientLane, streams)
	near.out.bound, near.in.bound = streamBound, streamBound
	near.through, far.through = true, true

	syn := r.crew.clock.now().add(up)
	var established, accepted instant
	if r.config.handshake {
		established = syn.add(down)
		accepted = established.add(up)
	}
	r.crew.join(client, near, established)
	ok := r.crew.start("connecting to the target", func() {
		if err := t.connect(far, syn, accepted); err != nil {
			far.reset(r.crew.clock.now())
		}
	})
	if !ok {
		far.abort()
	}
}

func (t *tcpRelay) connect(far *conn, syn, accepted instant) error {
	crew := t.relay.crew
	if err := crew.clock.sleep(crew.ctx, syn, nil); err != nil {
		return err
	}
	target, err := new(net.Dialer).DialContext(crew.ctx, "tcp", t.target)
	if err != nil {
		return err
	}
	crew.join(target, far, accepted)
	return nil
}
