package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// A server and a client, each of which records the connection that is between
// them.
func Example() {
	authority, _ := ca.Generate(nil)
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	defer listener.Close()

	var log netlog.Log
	server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "request %d", wire.RequestOf(r).Request().ID)
	})})
	defer server.Close(context.Background())
	go func() {
		conn, _ := listener.Accept()
		rec := log.Open(netlog.Connection{Leg: "server"})
		cfg := authority.ServerTLS("origin.test")
		cfg.NextProtos = []string{"h2"}
		if conn, err := wire.HandshakeServer(context.Background(), conn, cfg, rec); err == nil {
			server.ServeConn(conn, rec)
		}
	}()

	conn, _ := net.Dial("tcp", listener.Addr().String())
	rec := new(netlog.Log).Open(netlog.Connection{Leg: "client"})
	cfg := authority.ClientTLS()
	cfg.ServerName, cfg.NextProtos = "origin.test", []string{"h2", "http/1.1"}
	tlsConn, err := wire.HandshakeClient(context.Background(), conn, cfg, rec)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, _ := wire.NewClientConn(tlsConn, wire.ClientConfig{Record: rec})
	defer client.Close()
	req, _ := http.NewRequest("GET", "https://origin.test/", nil)
	resp, err := client.RoundTrip(req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()

	c := log.Connections()[0]
	fmt.Printf("%s: offered %q, chosen %s, spoken %s, %d request\n", body, c.Offered, c.ALPN, c.Protocol, c.Requests)
	// Output: request 1: offered ["h2" "http/1.1"], chosen h2, spoken h2, 1 request
}

// A client by hand, whose connection is recorded.
func ExampleTap() {
	near, far := newMemConns("10.0.0.2:40000", "10.0.0.1:80", 0)
	go func() {
		http.ReadRequest(bufio.NewReader(far))
		io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	}()

	var log netlog.Log
	tap := wire.NewTap(near, wire.TapConfig{
		Side: wire.ClientSide, Protocol: "http/1.1", Scheme: "http", Record: log.Open(netlog.Connection{}),
	})
	req, _ := http.NewRequest("GET", "http://origin.test/greeting", nil)
	req.Write(tap)
	resp, _ := http.ReadResponse(bufio.NewReader(tap), req)
	io.Copy(io.Discard, resp.Body)
	tap.Close()

	q := log.Requests()[0]
	fmt.Println(q.Method, q.URL, q.Protocol, q.Status, "with", q.BodyBytesDown, "bytes,", q.Connection.CloseReason)
	// Output: GET http://origin.test/greeting http/1.1 200 with 5 bytes, closed by client
}

// A host that speaks http/1.1, to which one connection is allowed: who comes
// second waits for it.
func ExamplePool() {
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	defer listener.Close()
	var log netlog.Log
	server := wire.NewServer(wire.ServerConfig{})
	defer server.Close(context.Background())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(conn, log.Open(netlog.Connection{}))
		}
	}()

	pool := wire.NewPool(wire.PoolConfig{
		MaxConns: 1,
		Dial: func(ctx context.Context, host string) (*wire.ClientConn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
			if err != nil {
				return nil, err
			}
			return wire.NewClientConn(conn, wire.ClientConfig{})
		},
	})
	defer pool.Close()
	host := listener.Addr().String()
	first, _ := pool.Get(context.Background(), host)

	impatient, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := pool.Get(impatient, host)
	fmt.Println(err)

	first.Release(true)
	second, _ := pool.Get(context.Background(), host)
	fmt.Println(second.Conn == first.Conn, second.Stalled == "")
	second.Release(true)
	// Output:
	// context deadline exceeded
	// true true
}
