package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Sockets are what a fixture listens on, all at one port. The first listener has
// the fixture's address.
type Sockets struct {
	TCP []net.Listener
	UDP []net.PacketConn
}

// Close closes them.
func (s Sockets) Close() {
	for _, l := range s.TCP {
		l.Close()
	}
	for _, pc := range s.UDP {
		pc.Close()
	}
}

// Net is a place in a network. Its methods are those of net.ListenConfig and
// net.Dialer.
type Net = interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// portTries bounds the search for a port that is free everywhere.
const portTries = 20

// Listen opens sockets at a port, or, where that is 0, at one that is free for all
// of them: for TCP and, if udp is set, for UDP as well. They are in the network n;
// where that is nil, on both loopback addresses, 127.0.0.1 first, and [::1] where
// there is one. Its errors do not say whose sockets they are about: that is for the
// fixture to add.
func Listen(n Net, port int, udp bool) (Sockets, error) {
	var last error
	for range portTries {
		open, err := listenAt(n, port, udp)
		var taken *takenError
		if err == nil || port != 0 || !errors.As(err, &taken) {
			return open, err
		}
		last = err
	}
	return Sockets{}, fmt.Errorf("%d ports, none free for all: %w", portTries, last)
}

// takenError is of a port of which a part was free.
type takenError struct{ error }

func (e *takenError) Unwrap() error { return e.error }

func listenAt(n Net, port int, udp bool) (open Sockets, err error) {
	if n == nil {
		open.TCP, err = listenLoopback(port)
	} else {
		open.TCP, err = listenIn(n, port)
	}
	if err != nil || !udp {
		return open, err
	}
	for _, l := range open.TCP {
		pc, err := listenPacket(n, l.Addr())
		if err != nil {
			open.Close()
			return Sockets{}, &takenError{fmt.Errorf("udp beside %v: %w", l.Addr(), err)}
		}
		open.UDP = append(open.UDP, pc)
	}
	return open, nil
}

func listenIn(n Net, port int) ([]net.Listener, error) {
	l, err := n.Listen(context.Background(), "tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return nil, fmt.Errorf("Config.Net: %w", err)
	}
	return []net.Listener{l}, nil
}

// listenPacket opens the socket at the address of a listener.
func listenPacket(n Net, at net.Addr) (net.PacketConn, error) {
	if n != nil {
		_, port, err := net.SplitHostPort(at.String())
		if err != nil {
			return nil, err
		}
		return n.ListenPacket(context.Background(), "udp", ":"+port)
	}
	tcp := at.(*net.TCPAddr)
	return net.ListenUDP("udp", &net.UDPAddr{IP: tcp.IP, Port: tcp.Port})
}

// listenLoopback takes one port on both loopback addresses, for clients that
// connect to "localhost" pick either.
func listenLoopback(port int) ([]net.Listener, error) {
	four, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	six, err := listenSix(four.Addr().(*net.TCPAddr).Port)
	switch {
	case err != nil:
		four.Close()
		return nil, &takenError{fmt.Errorf("on [::1]: %w", err)}
	case six == nil:
		return []net.Listener{four}, nil
	}
	return []net.Listener{four, six}, nil
}

// listenSix returns nil, and no error, where the machine has no IPv6 loopback.
// That is tried by another port: the error for a port in use has a different
// number on each system.
func listenSix(port int) (net.Listener, error) {
	l, err := net.ListenTCP("tcp6", &net.TCPAddr{IP: net.IPv6loopback, Port: port})
	if err == nil {
		return l, nil
	}
	other, absent := net.ListenTCP("tcp6", &net.TCPAddr{IP: net.IPv6loopback})
	if absent != nil {
		return nil, nil
	}
	other.Close()
	return nil, err
}
