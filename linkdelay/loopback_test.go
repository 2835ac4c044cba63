package linkdelay_test

import (
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestLoopbackIsReachedFromOutside(t *testing.T) {
	checkLeaks(t)
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	for _, port := range []string{":0", ":443", ":8443"} {
		ln := listen(t, network.Host("origin.test"), port)
		real := ln.Addr().(*linkdelay.Addr).Real()
		near, err := net.Dial("tcp", real.String())
		require.NoError(t, err)
		far := accept(t, ln)
		near.Write([]byte("hello"))
		near.Close()
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
		if port == ":0" {
			require.Equal(t, strconv.Itoa(ln.Addr().(*linkdelay.Addr).Port()), portOf(t, real), "one number for both")
		}
	}
}

func portOf(t *testing.T, addr net.Addr) string {
	_, port, err := net.SplitHostPort(addr.String())
	require.NoError(t, err)
	return port
}

func TestLoopbackHostsDoNotShareTheirPorts(t *testing.T) {
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	first, second := listen(t, network.Host("a.test"), ":443"), listen(t, network.Host("b.test"), ":443")
	dial(t, network.Host("pc.test"), "b.test:443")
	accept(t, second)
	dial(t, network.Host("pc.test"), "a.test:443")
	accept(t, first)
}

// A server that is under test listens on 127.0.0.1 and knows no Network.
func TestLoopbackHostsReachWhatListensWithoutTheNetwork(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	for _, host := range []string{"127.0.0.1", "localhost"} {
		dial(t, network.Host("pc.test"), net.JoinHostPort(host, portOf(t, ln.Addr())))
		accept(t, ln)
	}
}

func TestLoopbackSocketsHearStrangers(t *testing.T) {
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	stranger, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer stranger.Close()
	pc := socket(t, network.Host("origin.test"), ":443")
	sendText(t, stranger, pc.LocalAddr().(*linkdelay.Addr).Real(), "ping")
	from := requireDatagram(t, pc, "ping")
	require.Equal(t, stranger.LocalAddr().String(), from.String())
	sendText(t, pc, from, "pong")
	requireDatagram(t, stranger, "pong")
}

// A client from outside that follows Alt-Svc needs one number for both.
func TestLoopbackSharesANumberBetweenTCPAndUDP(t *testing.T) {
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	shared := 0
	for range 10 {
		ln := listen(t, network.Host("origin.test"), ":0")
		pc := socket(t, network.Host("origin.test"), ":"+portOf(t, ln.Addr()))
		require.Equal(t, ln.Addr().String(), pc.LocalAddr().String())
		if portOf(t, pc.LocalAddr().(*linkdelay.Addr).Real()) == portOf(t, ln.Addr()) {
			shared++
		}
	}
	require.Positive(t, shared, "the kernel had at least one of ten numbers free for UDP too")
}

func TestLoopbackLeavesNothing(t *testing.T) {
	checkLeaks(t)
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	for range 100 {
		near, far := pairIn(t, network)
		near.Close()
		far.Close()
		pc := socket(t, network.Host("pc.test"), ":0")
		require.NoError(t, pc.Close())
	}
	require.Zero(t, linkdelay.OpenSockets(network))
}

func TestLoopbackAcceptsDeadlines(t *testing.T) {
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	ln := listen(t, network.Host("origin.test"), ":443")
	require.NoError(t, ln.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now()))
	_, err := ln.Accept()
	assertTimeout(t, err)
}
