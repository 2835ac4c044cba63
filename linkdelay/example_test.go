package linkdelay_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/linkdelay"
)

// A Network without a test, in real time.
func ExampleStartNetwork() {
	network, err := linkdelay.StartNetwork(linkdelay.RTT(20 * time.Millisecond))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer network.Close()
	ctx := context.Background()
	ln, _ := network.Host("origin.test").Listen(ctx, "tcp", ":80")
	fmt.Println("listening on", ln.Addr())

	start := time.Now()
	conn, err := network.Host("pc.test").DialContext(ctx, "tcp", "origin.test:80")
	fmt.Println(conn.LocalAddr(), err, time.Since(start) >= 20*time.Millisecond)
	_, err = network.Host("pc.test").DialContext(ctx, "tcp", "nowhere.test:80")
	fmt.Println(err)
	// Output:
	// listening on origin.test:80
	// pc.test:49152 <nil> true
	// dial tcp nowhere.test:80: lookup nowhere.test: no such host; the Network has origin.test, pc.test
}

// A Network in virtual time. A test has its t; only the Example needs
// testing.RunTests.
func ExampleNewNetwork() {
	test("ExampleNewNetwork", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
			network.SetLink("pc.test", "far.test", linkdelay.Link{
				Up:   linkdelay.Path{Delay: time.Second},
				Down: linkdelay.Path{Delay: 2 * time.Second},
			})
			for _, name := range []string{"near.test", "far.test"} {
				network.Host(name).Listen(t.Context(), "tcp", ":80")
				start := time.Now()
				network.Host("pc.test").DialContext(t.Context(), "tcp", name+":80")
				fmt.Println(name, time.Since(start))
			}
		})
	})
	// Output:
	// near.test 100ms
	// far.test 3s
}

// The same test in memory and on sockets.
func ExampleEachWorld() {
	test("ExampleEachWorld", func(t *testing.T) {
		linkdelay.EachWorld(t, linkdelay.RTT(10*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
			ln, _ := network.Host("origin.test").Listen(t.Context(), "tcp", ":80")
			client, _ := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:80")
			server, _ := ln.Accept()
			fmt.Fprint(client, "hello from "+t.Name())
			client.Close()
			io.Copy(os.Stdout, server)
			fmt.Println()
		})
	})
	// Output:
	// hello from ExampleEachWorld/memory
	// hello from ExampleEachWorld/loopback
}

// test runs body once; testing.RunTests alone would do so -count times.
func test(name string, body func(t *testing.T)) {
	ran := false
	testing.RunTests(regexp.MatchString, []testing.InternalTest{{Name: name, F: func(t *testing.T) {
		if !ran {
			ran = true
			body(t)
		}
	}}})
}
