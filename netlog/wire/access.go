package wire

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// Access is how the users of a fixture reach it: the clients that it gives them,
// and has closed with it.
type Access struct {
	Fixture string // in messages, such as "origin"
	Addr    string // host:port of the fixture
	InNet   bool   // the fixture listens in a Net, where Addr can be a name

	mu     sync.Mutex
	closed bool              // guarded by mu
	given  []*http.Transport // guarded by mu
	client *http.Client      // guarded by mu
}

// DialFunc opens a connection, as net.Dialer's DialContext does.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dialer is how to dial from a host of the Net, or by a plain dialer if from is
// nil. Where Check has an error, dialling fails with it.
func (a *Access) Dialer(from Net, method, use string) DialFunc {
	if err := a.Check(from, method, use); err != nil {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	if from == nil {
		return new(net.Dialer).DialContext
	}
	return from.DialContext
}

// Check says why the fixture cannot be reached from there, or nil. method is what
// the user has called, and use what to call in its place with a host.
func (a *Access) Check(from Net, method, use string) error {
	switch {
	case IsTypedNil(from):
		return fmt.Errorf("%s: %s: typed nil %T", a.Fixture, method, from)
	case from == nil && a.InNet && !isAddrPort(a.Addr):
		return fmt.Errorf("%s: %s: %s is a name in Config.Net, which a plain dialer cannot reach: use %s(host)", a.Fixture, method, a.Addr, use)
	}
	return nil
}

func isAddrPort(hostport string) bool {
	_, err := netip.ParseAddrPort(hostport)
	return err == nil
}

// Give is tr, whose idle connections Close closes.
func (a *Access) Give(tr *http.Transport) *http.Transport {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.give(tr)
}

func (a *Access) give(tr *http.Transport) *http.Transport {
	if !a.closed {
		a.given = append(a.given, tr)
	}
	return tr
}

// Client is an http.Client over what transport makes when it is first asked for;
// the same at each call.
func (a *Access) Client(transport func() *http.Transport) *http.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client == nil {
		a.client = &http.Client{Transport: a.give(transport())}
	}
	return a.client
}

// Close closes the idle connections of all that was given. What is given later
// is its user's.
func (a *Access) Close() {
	a.mu.Lock()
	given := a.given
	a.given, a.closed = nil, true
	a.mu.Unlock()
	for _, tr := range given {
		tr.CloseIdleConnections()
	}
}
