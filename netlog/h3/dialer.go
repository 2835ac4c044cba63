package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/quic-go/quic-go"
)

// Dialer opens QUIC connections from one place, each from a socket of its own
// that is closed with it. Its Dial is for http3.Transport.Dial. Close it.
type Dialer struct {
	// ListenPacket opens the socket: the method of a host in a network, where
	// "name:port" is an address. nil is a socket of the system, on loopback where
	// that is where it dials to.
	ListenPacket func(ctx context.Context, network, address string) (net.PacketConn, error)

	running sync.WaitGroup // one for each connection

	mu     sync.Mutex
	closed bool                   // guarded by mu
	open   map[*clientSocket]bool // guarded by mu
}

type clientSocket struct {
	transport *quic.Transport
	conn      net.PacketConn
	once      sync.Once
}

func (s *clientSocket) close() {
	s.once.Do(func() {
		s.transport.Close()
		s.conn.Close()
	})
}

// errDialerClosed is what remains when the fixture that owns the Dialer is
// closed.
var errDialerClosed = errors.New("h3: dial: closed")

// Dial opens a connection to addr. It returns when requests may be sent: after
// the handshake, or at once where a session that tls remembers allows 0-RTT.
func (d *Dialer) Dial(ctx context.Context, addr string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error) {
	pc, to, err := d.socket(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("h3: dial %s: %w", addr, err)
	}
	if err := checkPacketSize(pc, cfg); err != nil {
		pc.Close()
		return nil, fmt.Errorf("h3: dial %s: %w", addr, err)
	}
	socket := &clientSocket{transport: &quic.Transport{Conn: pc}, conn: pc}
	if !d.add(socket) {
		socket.close()
		return nil, errDialerClosed
	}
	conn, err := socket.transport.DialEarly(ctx, to, tls, cfg)
	if err != nil {
		d.remove(socket)
		return nil, err // quic-go's, so that errors.As finds it
	}
	if !d.track(func() {
		<-conn.Context().Done()
		d.remove(socket)
	}) {
		d.remove(socket)
		return nil, errDialerClosed
	}
	return conn, nil
}

// socket is one to dial from, and the address to dial to.
func (d *Dialer) socket(ctx context.Context, addr string) (net.PacketConn, net.Addr, error) {
	if d.ListenPacket != nil {
		pc, err := d.ListenPacket(ctx, "udp", ":0")
		return pc, named(addr), err
	}
	to, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		return nil, nil, err
	}
	pc, err := new(net.ListenConfig).ListenPacket(ctx, "udp", from(to.AddrPort().Addr().Unmap()))
	return pc, to, err
}

// from is where to dial to an address from: nothing but loopback is bound where
// that will do.
func from(to netip.Addr) string {
	switch {
	case to.IsLoopback() && to.Is4():
		return "127.0.0.1:0"
	case to.IsLoopback():
		return "[::1]:0"
	}
	return ":0"
}

// named is an address of a network that has names.
type named string

func (named) Network() string  { return "udp" }
func (a named) String() string { return string(a) }

func (d *Dialer) add(s *clientSocket) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	if d.open == nil {
		d.open = make(map[*clientSocket]bool)
	}
	d.open[s] = true
	return true
}

func (d *Dialer) remove(s *clientSocket) {
	s.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, s)
}

// track starts a goroutine that Close waits for.
func (d *Dialer) track(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.running.Go(f)
	return true
}

// Close ends all connections at once, without a word to their servers, and
// closes the sockets. Dialling then fails.
func (d *Dialer) Close() error {
	d.mu.Lock()
	d.closed = true
	var open []*clientSocket
	for s := range d.open {
		open = append(open, s)
	}
	d.mu.Unlock()
	for _, s := range open {
		s.close()
	}
	d.running.Wait()
	return nil
}
