package linkdelay_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"example.com/wiretest/linkdelay"
)

// A relay before a server of the kernel, for any client: here one of Go, whose
// transport dials the relay whatever the URL says.
func ExampleStartTCP() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	defer server.Close()
	relay, err := linkdelay.StartTCP(server.Listener.Addr().String(), linkdelay.RTT(40*time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer relay.Close()

	tr := &http.Transport{DialContext: relay.DialContext}
	defer tr.CloseIdleConnections()
	start := time.Now()
	res, err := (&http.Client{Transport: tr}).Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(res.Body)
	fmt.Println(string(body), time.Since(start) >= 40*time.Millisecond)
	fmt.Println("connections:", relay.Stats().Open("tcp"))
	// Output:
	// hello true
	// connections: 1
}

// A NAT that forgets: each client has another port from then on.
func ExampleStartUDP() {
	server, _ := net.ListenPacket("udp", "127.0.0.1:0")
	defer server.Close()
	relay, err := linkdelay.StartUDP(server.LocalAddr().String(), linkdelay.RTT(4*time.Millisecond),
		linkdelay.BindingTimeout(30*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer relay.Close()

	client, _ := net.Dial("udp", relay.Addr)
	defer client.Close()
	buf := make([]byte, 100)
	fmt.Fprint(client, "one")
	_, first, _ := server.ReadFrom(buf)
	relay.Rebind()
	fmt.Fprint(client, "two")
	_, second, _ := server.ReadFrom(buf)
	fmt.Println(first.String() == second.String())
	// Output:
	// false
}

// A link before connections that the code under test dials by itself.
func ExampleStartWrapper() {
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	defer ln.Close()
	wrapper, err := linkdelay.StartWrapper(linkdelay.RTT(40 * time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer wrapper.Close()

	start := time.Now()
	conn, _ := net.Dial("tcp", ln.Addr().String())
	conn = wrapper.Conn(conn)
	server, _ := ln.Accept()
	defer server.Close()
	fmt.Fprint(conn, "over the link")
	conn.Close()
	text, _ := io.ReadAll(server)
	fmt.Println(string(text), time.Since(start) >= 20*time.Millisecond)
	// Output:
	// over the link true
}
