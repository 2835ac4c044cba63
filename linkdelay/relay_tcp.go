package linkdelay

import "net"

// streamBound is how much a relay keeps, each way of a connection, that waits
// to be sent or taken by the other side.
const streamBound = 4 << 20

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

// forwarding is a connection that is being made.
type forwarding struct {
	relay          *Relay
	flow           *flow
	near, far      *conn
	client, target net.Conn
	tried          bool
	failed         error
}

// forward carries one connection. Its first packet is on the link when the
// relay hears of it; the target is dialled when it has arrived there.
func (t *tcpRelay) forward(client net.Conn) {
	r := t.relay
	f := &forwarding{relay: r, client: client}
	f.flow = r.wire.connect(clientLane, client.RemoteAddr().String(), t.target)
	f.near, f.far = newPair(f.flow, clientLane, client.LocalAddr(), client.RemoteAddr())
	r.crew.limit(f.near)
	f.near.through, f.far.through = true, true
	if !r.config.handshake {
		f.joinClient()
	}
	if !r.crew.start("connecting to the target", func() { f.connect(t.target) }) {
		f.fail()
	}
}

func (f *forwarding) connect(target string) {
	crew := f.relay.crew
	d := dialling{flow: f.flow, from: clientLane, done: crew.ctx.Done(), heard: func() { f.reach(target) }}
	done, err := d.run(crew.ctx)
	switch {
	case err != nil:
		f.fail()
	case !f.relay.config.handshake: // joined already
	case f.failed != nil:
		f.fail()
	default:
		f.joinClient()
		crew.join(f.target, f.far, instant(done.Accepted))
	}
}

// reach dials the target, once, when the first packet arrives there. What
// refuses is a reset.
func (f *forwarding) reach(target string) {
	if f.tried {
		return
	}
	f.tried = true
	crew := f.relay.crew
	f.target, f.failed = new(net.Dialer).DialContext(crew.ctx, "tcp", target)
	switch {
	case f.relay.config.handshake:
	case f.failed != nil:
		f.far.reset(crew.clock.now())
	default:
		crew.join(f.target, f.far, 0)
	}
}

func (f *forwarding) joinClient() { f.relay.crew.join(f.client, f.near, 0) }

// fail ends what there is of the connection by resets; splices that have begun
// see that the link has ended, and end.
func (f *forwarding) fail() {
	f.far.abort()
	f.far.Close()
	if f.relay.config.handshake {
		f.near.Close()
		discard(f.client)
		discard(f.target)
	}
}
