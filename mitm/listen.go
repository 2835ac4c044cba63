package mitm

import (
	"context"
	"fmt"
	"net"
)

// listen opens the proxy's listeners; the first has the proxy's address.
func listen(n Net) ([]net.Listener, error) {
	if n == nil {
		return listenLoopback()
	}
	l, err := n.Listen(context.Background(), "tcp", ":0")
	if err != nil {
		return nil, fmt.Errorf("Config.Net: %w", err)
	}
	return []net.Listener{l}, nil
}

// portTries bounds the search for a port that is free in both families.
const portTries = 20

// listenLoopback takes one port on both loopback addresses, for clients that
// connect to "localhost" pick either.
func listenLoopback() ([]net.Listener, error) {
	var last error
	for range portTries {
		four, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		six, err := listenSix(four.Addr().(*net.TCPAddr).Port)
		switch {
		case err != nil:
			last = err
			four.Close()
		case six == nil:
			return []net.Listener{four}, nil
		default:
			return []net.Listener{four, six}, nil
		}
	}
	return nil, fmt.Errorf("%d ports, none free on 127.0.0.1 and [::1] both: %w", portTries, last)
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
