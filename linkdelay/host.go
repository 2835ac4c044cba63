package linkdelay

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
)

// Host is one host of a Network. Its methods have the signatures of
// net.ListenConfig and net.Dialer, so that it stands wherever those do.
type Host struct {
	network *Network
	name    string
}

// target is where a Host dials to.
type target struct {
	network string // "tcp" or "udp"
	address string // as it was asked for
	place          // what that is in the Network
}

// Name is the name of the host, in lower case.
func (h *Host) Name() string { return h.name }

// String is the name of the host.
func (h *Host) String() string { return h.name }

// Listen listens for connections ("tcp", "tcp4" or "tcp6") on the host. The
// address is ":port"; a host in it can only be this one. Port 0, or no address
// at all, takes the next free one from 49152 on. The listener's Addr is an
// *[Addr]: it dials from any host of the Network. An address in use is
// syscall.EADDRINUSE, one of another host syscall.EADDRNOTAVAIL.
func (h *Host) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	proto, port, err := h.local(ctx, "tcp", network, address)
	if err != nil {
		return nil, h.failed("listen", network, address, err)
	}
	ln, err := h.network.world.listen(ctx, h, proto, port)
	if err != nil {
		return nil, h.failed("listen", network, address, err)
	}
	return ln, nil
}

// ListenPacket opens a socket for datagrams ("udp", "udp4" or "udp6") on the
// host; addresses are those of Listen. WriteTo takes any net.Addr whose String
// is "host:port" with a name of the Network. A datagram to a port that nobody
// listens on when it arrives is dropped without a word, and so is one that
// finds the queue of its receiver full: 4,096 datagrams that were not read.
func (h *Host) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	proto, port, err := h.local(ctx, "udp", network, address)
	if err != nil {
		return nil, h.failed("listen", network, address, err)
	}
	pc, err := h.network.world.listenPacket(ctx, h, proto, port)
	if err != nil {
		return nil, h.failed("listen", network, address, err)
	}
	return pc, nil
}

// DialContext connects from this host to "name:port" in the Network. A
// loopback address, "localhost" or no name means the host itself.
//
// In memory "tcp" takes one round trip, and ctx can end it at any moment: then
// the listener never sees the connection. A name that nothing in the Network
// has is a *net.DNSError that IsNotFound, at once; a port that nobody listens
// on is syscall.ECONNREFUSED, after a round trip. "udp" is a socket that talks
// to one address, at once.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := h.target(network, address)
	if err != nil {
		return nil, h.failed("dial", network, address, err)
	}
	conn, err := h.network.world.dial(ctx, h, to)
	if err != nil {
		return nil, h.failed("dial", network, address, err)
	}
	return conn, nil
}

// local is the port on this host that address means.
func (h *Host) local(ctx context.Context, proto, network, address string) (string, int, error) {
	if family(network) != proto {
		return "", 0, net.UnknownNetworkError(network)
	}
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	if address == "" {
		return proto, 0, nil
	}
	host, port, err := splitAddress(address)
	if err != nil {
		return "", 0, err
	}
	if host != h.name && !isSelf(host) {
		return "", 0, syscall.EADDRNOTAVAIL
	}
	return proto, port, nil
}

func (h *Host) target(network, address string) (target, error) {
	proto := family(network)
	if proto == "" {
		return target{}, net.UnknownNetworkError(network)
	}
	name, port, err := splitAddress(address)
	if err != nil {
		return target{}, err
	}
	host, err := h.resolve(name)
	if err != nil {
		return target{}, err
	}
	return target{proto, address, place{host, port}}, nil
}

// resolve finds the host that a name means on this host.
func (h *Host) resolve(name string) (string, error) {
	if known := h.network.known(name); known != nil {
		return known.name, nil
	}
	if isSelf(name) {
		return h.name, nil
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "", syscall.ENETUNREACH
	}
	return "", &net.DNSError{Err: "no such host; the Network has " + h.network.names(), Name: name, IsNotFound: true}
}

// family is "tcp", "udp", or "" for anything else.
func family(network string) string {
	switch network {
	case "tcp", "tcp4", "tcp6":
		return "tcp"
	case "udp", "udp4", "udp6":
		return "udp"
	}
	return ""
}

// failed is the error as package net would have it.
func (h *Host) failed(op, network, address string, err error) error {
	var told *net.OpError
	if errors.As(err, &told) {
		return err
	}
	call := map[string]string{"listen": "bind", "dial": "connect"}[op]
	return &net.OpError{Op: op, Net: network, Addr: plainAddr{network, address}, Err: syscallError(call, err)}
}

// plainAddr is an address as somebody wrote it.
type plainAddr struct{ network, text string }

func (a plainAddr) Network() string { return a.network }
func (a plainAddr) String() string  { return a.text }
