package linkdelay_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/linkdelay"
)

// How long does a request take over 100 ms of round trip? In a test, which has
// its t, the two lines around the bubble are not needed.
func Example() {
	test("Example", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
			ln, _ := network.Host("origin.test").Listen(t.Context(), "tcp", ":80")
			go http.Serve(ln, http.NotFoundHandler()) // ends with the Network
			tr := &http.Transport{DialContext: network.Host("pc.test").DialContext}
			start := time.Now()
			resp, err := (&http.Client{Transport: tr}).Get("http://origin.test/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()              // or the transport waits for it after the bubble's end
			fmt.Println(time.Since(start)) // one round trip to connect, one to ask
		})
	})
	// Output: 200ms
}

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

// A Network in virtual time, with a link that is not like the others.
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

// A link that is changed while it carries traffic, and watched.
func ExampleWire() {
	test("ExampleWire", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
			phone, _ := network.Host("phone.test").ListenPacket(t.Context(), "udp", ":0")
			origin, _ := network.Host("origin.test").ListenPacket(t.Context(), "udp", ":443")
			wire := network.Wire("phone.test", "origin.test")
			link := wire.Link()
			link.Up.MaxDatagram = 1200
			wire.SetLink(link)
			go phone.WriteTo(make([]byte, 1400), origin.LocalAddr())
			go phone.WriteTo(make([]byte, 1000), origin.LocalAddr())
			wire.WaitFor(t.Context(), linkdelay.DroppedOver(1350))
			wire.WaitFor(t.Context(), linkdelay.Delivered(linkdelay.Up, 1000))
			fmt.Println(wire.Stats().Up.Datagrams)
		})
	})
	// Output:
	// in 2 datagrams, 2400 bytes, delivered 1 datagrams, 1000 bytes, dropped by "too big" 1 datagrams, 1400 bytes
}

// One lost segment holds back what follows it, for a round trip more.
func ExampleNth() {
	test("ExampleNth", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			link := linkdelay.RTT(100 * time.Millisecond)
			link.Down.Drop = linkdelay.Nth(5)
			network := linkdelay.NewNetwork(t, link)
			ln, _ := network.Host("origin.test").Listen(t.Context(), "tcp", ":80")
			pc, _ := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:80")
			origin, _ := ln.Accept()
			start := time.Now()
			origin.Write(make([]byte, 14600))
			for _, part := range []int{4 * 1460, 6 * 1460} {
				io.ReadFull(pc, make([]byte, part))
				fmt.Println(part, "bytes after", time.Since(start).Round(time.Millisecond))
			}
		})
	})
	// Output:
	// 5840 bytes after 50ms
	// 8760 bytes after 150ms
}

// test runs body once and prints nothing by itself; testing.RunTests alone would
// run it -count times, and write its name into the Example's output under -v.
func test(name string, body func(t *testing.T)) {
	verbose := flag.Lookup("test.v").Value.String()
	flag.Set("test.v", "false")
	defer flag.Set("test.v", verbose)
	ran := false
	testing.RunTests(regexp.MatchString, []testing.InternalTest{{Name: name, F: func(t *testing.T) {
		if !ran {
			ran = true
			body(t)
		}
	}}})
}
