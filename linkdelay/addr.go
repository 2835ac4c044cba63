package linkdelay

import (
	"net"
	"strconv"
)

// Addr is the address of a listener, a connection or a socket of a Network:
// the name of its host, and a port. As "host.name:port" it can be dialled from
// any host of the Network.
type Addr struct {
	network string
	text    string
	place   place
	real    net.Addr
}

// place is a port of a host.
type place struct {
	host string
	port int
}

func newAddr(network string, at place) *Addr {
	return &Addr{network: network, text: at.String(), place: at}
}

func (p place) String() string { return net.JoinHostPort(p.host, strconv.Itoa(p.port)) }

// Network is "tcp" or "udp".
func (a *Addr) Network() string { return a.network }

// String is "host.name:port".
func (a *Addr) String() string { return a.text }

// Host is the name of the host.
func (a *Addr) Host() string { return a.place.host }

// Port is the port within the Network.
func (a *Addr) Port() int { return a.place.port }

// Real is the address of the socket behind it, 127.0.0.1 and its port, for
// clients outside of the Network. It is nil in memory.
func (a *Addr) Real() net.Addr { return a.real }
