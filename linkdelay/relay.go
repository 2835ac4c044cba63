package linkdelay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
)

// Relay is a link on real sockets: what listens at Addr and forwards to a
// target. Clients that know nothing of it connect to Addr instead of the
// target; [Relay.DialContext] does so for Go clients whatever the address.
// The link's Up leads from the clients to the target, and its impairment is on
// before the first client is accepted.
//
// TCP: each direction is carried on its own. FIN and a half-close travel like
// data, a reset stays a reset (but on Linux alone where it comes while the relay
// writes; elsewhere that may become a FIN), and what was accepted before a clean
// close is never lost. A reader that stops holds back its writer: unless the Path
// has a Buffer, a connection keeps at most 4 MiB that waits each way, and 256 MiB
// with what is in flight. The target is dialled for each connection when its
// first packet would arrive; a target that refuses is a reset to the client. The
// kernel completes a client's connect before a relay hears of it: connecting takes
// no time, unless [Handshakes] makes the first data wait for it.
//
// UDP: each address of a client has a socket of its own towards the target, a
// NAT binding; only the target reaches the client by it. See [BindingTimeout]
// and [Wire.Rebind]. A binding survives that the target refuses datagrams by
// ICMP. In [Stats], delivered is what the kernel took for the target or the
// client.
//
// Nothing runs while nothing is due. How late a relay is in real time is in the
// package's comment.
type Relay struct {
	*Wire
	// Addr is where the relay listens, "127.0.0.1:port".
	Addr string

	name   string // as in messages
	crew   *crew
	tcp    *tcpRelay // nil: it carries no TCP
	udp    *udpRelay // nil: it carries no UDP
	config relayConfig
}

// NewTCP returns a Relay of TCP connections to target, "host:port". It is ready
// when NewTCP returns, and closed by tb.Cleanup; what then still runs fails tb, by
// name. A mistaken target, link or option fails tb at once.
func NewTCP(tb testing.TB, target string, link Link, options ...RelayOption) *Relay {
	tb.Helper()
	r, err := StartTCP(target, link, options...)
	return r.ownedBy(tb, err)
}

// StartTCP is [NewTCP] without a test; the caller closes the Relay. The error
// names what is mistaken, and its value; a mistaken SetLink later panics.
func StartTCP(target string, link Link, options ...RelayOption) (*Relay, error) {
	return startRelay("TCP relay", "tcp", target, link, options)
}

// NewUDP returns a Relay of UDP datagrams to target, "host:port", in the way of
// [NewTCP].
func NewUDP(tb testing.TB, target string, link Link, options ...RelayOption) *Relay {
	tb.Helper()
	r, err := StartUDP(target, link, options...)
	return r.ownedBy(tb, err)
}

// StartUDP is [NewUDP] without a test, as [StartTCP] is of NewTCP.
func StartUDP(target string, link Link, options ...RelayOption) (*Relay, error) {
	return startRelay("UDP relay", "udp", target, link, options)
}

// NewRelay returns a Relay of both TCP and UDP to target, on one link and on
// one port number for both, as a client needs it that follows Alt-Svc to
// HTTP/3; else in the way of [NewTCP].
func NewRelay(tb testing.TB, target string, link Link, options ...RelayOption) *Relay {
	tb.Helper()
	r, err := StartRelay(target, link, options...)
	return r.ownedBy(tb, err)
}

// StartRelay is [NewRelay] without a test, as [StartTCP] is of NewTCP.
func StartRelay(target string, link Link, options ...RelayOption) (*Relay, error) {
	return startRelay("relay", "both", target, link, options)
}

func (r *Relay) ownedBy(tb testing.TB, err error) *Relay {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	r.Wire.ownedBy(tb, r.Close)
	return r
}

// Close ends everything at once: it listens no more, connections are reset on
// both sides, and what was in flight is gone. Nothing of the Relay remains; what
// still runs after 10 seconds the error names. Close may be called again, and waits
// again.
func (r *Relay) Close() error { return r.crew.close(r.name) }

// DialContext connects to the Relay, whatever addr says; it has the signature
// of net.Dialer. The network has to be one that the Relay carries.
func (r *Relay) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if err := r.carries(network); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: plainAddr{network, addr}, Err: err}
	}
	return new(net.Dialer).DialContext(ctx, family(network), r.Addr)
}

func (r *Relay) carries(network string) error {
	switch family(network) {
	case "tcp":
		if r.tcp == nil {
			return fmt.Errorf("linkdelay: %s %s: carries no TCP", r.name, r.Addr)
		}
	case "udp":
		if r.udp == nil {
			return fmt.Errorf("linkdelay: %s %s: carries no UDP", r.name, r.Addr)
		}
	default:
		return net.UnknownNetworkError(network)
	}
	return nil
}

func startRelay(name, carries, target string, link Link, options []RelayOption) (*Relay, error) {
	if err := link.validate(); err != nil {
		return nil, err
	}
	r, err := newRelay(name, target, link, options)
	if err != nil {
		return nil, fmt.Errorf("linkdelay: %s: %w", name, err)
	}
	if err := r.bind(carries, target); err != nil {
		r.Close()
		return nil, fmt.Errorf("linkdelay: %s: %w", name, err)
	}
	if r.tcp != nil {
		r.tcp.serve()
	}
	if r.udp != nil {
		r.udp.serve()
	}
	return r, nil
}

func newRelay(name, target string, link Link, options []RelayOption) (*Relay, error) {
	config, err := newRelayConfig(options)
	if err != nil {
		return nil, err
	}
	if err := checkTarget(target); err != nil {
		return nil, err
	}
	crew := newCrew(newClock())
	return &Relay{Wire: clientWire(crew.clock, link), name: name, crew: crew, config: config}, nil
}

func checkTarget(target string) error {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if err := checkPort(target, port, 1); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if host == "" {
		return fmt.Errorf("target: %q: has no host", target)
	}
	return nil
}

// bind listens by the protocols that the relay carries.
func (r *Relay) bind(carries, target string) (err error) {
	switch carries {
	case "tcp":
		err = r.bindTCP(target, r.config.listen)
	case "udp":
		err = r.bindUDP(target, r.config.listen)
	default:
		err = r.bindBoth(target)
	}
	return err
}

// bindBoth finds a port that is free by both protocols: the number that the
// kernel picks for one may be taken by another socket of the other.
func (r *Relay) bindBoth(target string) error {
	for range 50 {
		if err := r.bindTCP(target, r.config.listen); err != nil {
			return err
		}
		err := r.bindUDP(target, r.Addr)
		if err == nil {
			return nil
		}
		r.tcp.listener.Close()
		if _, port, _ := net.SplitHostPort(r.config.listen); port != "0" || !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return errors.New("no port is free for both TCP and UDP")
}

// closing is a socket as what a crew aborts.
type closing struct{ io.Closer }

func (c closing) abort() { c.Close() }
