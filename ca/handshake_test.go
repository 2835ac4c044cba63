package ca_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
)

// inBothWorlds runs body by the real clock, and by a bubble's that starts in
// the year 2000.
func inBothWorlds(t *testing.T, body func(*testing.T)) {
	t.Run("now", body)
	t.Run("in a bubble", func(t *testing.T) { synctest.Test(t, body) })
}

// result is what one handshake came to.
type result struct {
	client, server       tls.ConnectionState
	clientErr, serverErr error
	up, down             int // bytes on the wire, seen by the client
}

// shake does a handshake over net.Pipe and lets the server send one byte. It
// waits for both sides.
func shake(server, client *tls.Config) result {
	c, s := net.Pipe()
	return shakeOn(s, c, server, client)
}

func shakeOn(s, c net.Conn, server, client *tls.Config) (r result) {
	s = newQueuedConn(s)
	done := make(chan struct{})
	go func() { // ends with its side of the conversation, and is waited for below
		defer close(done)
		defer s.Close()
		conn := tls.Server(s, server)
		if r.serverErr = conn.Handshake(); r.serverErr != nil {
			return
		}
		r.server = conn.ConnectionState()
		_, r.serverErr = conn.Write([]byte{'!'})
	}()
	counted := &countingConn{Conn: c}
	conn := tls.Client(counted, client)
	// Reading, because with TLS 1.3 a server that refuses the client says so
	// only after the client's handshake is over.
	if _, r.clientErr = conn.Read(make([]byte, 1)); r.clientErr == nil {
		r.client = conn.ConnectionState()
	}
	c.Close()
	<-done
	r.up, r.down = counted.written, counted.read
	return r
}

// quick is for tests of many handshakes: of the key exchanges P-256 is by far the
// quickest under the race detector.
func quick(cfg *tls.Config) *tls.Config {
	cfg.CurvePreferences = []tls.CurveID{tls.CurveP256}
	return cfg
}

// queuedConn writes without waiting for the reader, as a socket does. Without
// it, on a net.Pipe, a client that refuses a certificate and a server that is
// still writing wait for each other.
type queuedConn struct {
	net.Conn
	out  chan []byte
	done chan struct{}
}

func newQueuedConn(conn net.Conn) *queuedConn {
	q := &queuedConn{conn, make(chan []byte, 100), make(chan struct{})}
	go func() { // ends with Close, which waits for it
		defer close(q.done)
		for p := range q.out {
			q.Conn.Write(p)
		}
	}()
	return q
}

func (q *queuedConn) Write(p []byte) (int, error) {
	q.out <- bytes.Clone(p)
	return len(p), nil
}

func (q *queuedConn) Close() error {
	close(q.out)
	<-q.done
	return q.Conn.Close()
}

type countingConn struct {
	net.Conn
	read, written int
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read += n
	return n, err
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written += n
	return n, err
}

func requireShake(t *testing.T, what string, server, client *tls.Config) result {
	t.Helper()
	r := shake(server, client)
	if r.clientErr != nil || r.serverErr != nil {
		t.Fatalf("%s: client says %v, server says %v", what, r.clientErr, r.serverErr)
	}
	return r
}

// requireRefused wants the client to refuse the server's certificate by an
// error of type E.
func requireRefused[E error](t *testing.T, what string, server, client *tls.Config) E {
	t.Helper()
	r := shake(server, client)
	var want E
	if !errors.As(r.clientErr, &want) {
		t.Fatalf("%s: client says %v, want a %T; server says %v", what, r.clientErr, want, r.serverErr)
	}
	return want
}

// named returns a copy of cfg for a client that wants to reach name.
func named(cfg *tls.Config, name string) *tls.Config {
	cfg = cfg.Clone()
	cfg.ServerName = name
	return cfg
}

func leafOf(t *testing.T, r result) string {
	t.Helper()
	leaf := r.client.PeerCertificates[0]
	return fmt.Sprint(leaf.DNSNames, leaf.IPAddresses, leaf.EmailAddresses)
}
