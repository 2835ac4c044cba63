package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// A server that refuses its second request by GOAWAY: net/http's client sends
// it again on another connection.
func ExampleFault() {
	var log netlog.Log
	server := wire.NewServer(wire.ServerConfig{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }),
		Faults:  []wire.Fault{{Request: 2, Do: wire.GoAway}},
	})
	defer server.Close(context.Background())
	client := http2Client(server, &log)
	defer client.CloseIdleConnections()

	for range 3 {
		resp, err := client.Get("http://origin.test/")
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	for _, c := range log.Connections() {
		fmt.Printf("%d requests %q\n", c.Requests, c.GoAway)
	}
	for _, q := range log.Requests() {
		fmt.Printf("%d %q\n", q.Status, q.Err)
	}
	// Output:
	// 2 requests "GOAWAY NO_ERROR last stream 1, sent"
	// 2 requests ""
	// 200 ""
	// 0 "refused by GOAWAY NO_ERROR last stream 1"
	// 200 ""
	// 200 ""
}

// A handler that says what net/http cannot: which request of its connection is the
// last, and why.
func ExampleControl() {
	var log netlog.Log
	server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wire.ControlOf(r).GoAway(wire.StreamOf(r).ID(), 0xb, "come back later") // ENHANCE_YOUR_CALM
	})})
	defer server.Close(context.Background())
	client := http2Client(server, &log)
	defer client.CloseIdleConnections()

	for range 2 {
		resp, err := client.Get("http://origin.test/")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	for _, c := range log.Connections() {
		fmt.Println(c.Requests, "request,", c.GoAway)
	}
	// Output:
	// 1 request, GOAWAY ENHANCE_YOUR_CALM last stream 1, sent, debug "come back later"
	// 1 request, GOAWAY ENHANCE_YOUR_CALM last stream 1, sent, debug "come back later"
}

// A handler that says what net/http cannot: why it resets a stream.
func ExampleStream_ResetAs() {
	var log netlog.Log
	server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some of it")
		http.NewResponseController(w).Flush()
		wire.StreamOf(r).ResetAs(0xb) // ENHANCE_YOUR_CALM
		panic(http.ErrAbortHandler)
	})})
	defer server.Close(context.Background())
	client := http2Client(server, &log)
	defer client.CloseIdleConnections()

	resp, _ := client.Get("http://origin.test/")
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%s: %v\n", body, err)
	fmt.Println(log.Requests()[0].Err)
	// Output:
	// some of it: stream error: stream ID 1; ENHANCE_YOUR_CALM; received from peer
	// RST_STREAM ENHANCE_YOUR_CALM sent by server
}

// http2Client speaks HTTP/2 to server over connections in memory.
func http2Client(server *wire.Server, log *netlog.Log) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{
		Protocols: protocols,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := newMemConns("10.0.0.2:40000", "10.0.0.1:80", 0)
			go server.ServeConn(far, log.Open(netlog.Connection{ALPN: "h2"}))
			return near, nil
		},
	}}
}
