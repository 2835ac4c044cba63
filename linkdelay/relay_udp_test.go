package linkdelay_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// socketReal is a UDP socket of the kernel, whose reads end within [patience].
func socketReal(t testing.TB) *net.UDPConn {
	t.Helper()
	pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { pc.Close() })
	pc.SetReadBuffer(4 << 20) // a delay makes a burst of what was sent by and by
	pc.SetReadDeadline(time.Now().Add(patience))
	return pc
}

// relayedSocket is a client's socket that talks to a new relay.
func relayedSocket(t testing.TB, relay *linkdelay.Relay) net.Conn {
	t.Helper()
	conn, err := relay.DialContext(t.Context(), "udp", "ignored.test:443")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(patience))
	return conn
}

// heard is the next datagram of a socket, and where it came from.
func heard(t testing.TB, pc *net.UDPConn) (string, net.Addr) {
	t.Helper()
	buf := make([]byte, 2048)
	n, from, err := pc.ReadFromUDP(buf)
	require.NoError(t, err)
	return string(buf[:n]), from
}

// say sends text to the target and returns the port of the NAT that it came from.
func say(t testing.TB, client net.Conn, target *net.UDPConn, text string) net.Addr {
	t.Helper()
	_, err := client.Write([]byte(text))
	require.NoError(t, err)
	got, from := heard(t, target)
	require.Equal(t, text, got)
	return from
}

func requireHears(t testing.TB, client net.Conn, want string) {
	t.Helper()
	buf := make([]byte, 2048)
	n, err := client.Read(buf)
	require.NoError(t, err)
	require.Equal(t, want, string(buf[:n]))
}

func TestUDPRelayCarriesBothWaysWithDelay(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), lopsided(30*ms, 50*ms))
	client := relayedSocket(t, relay)
	start := time.Now()
	from := say(t, client, target, "ping")
	require.GreaterOrEqual(t, time.Since(start), 30*ms)
	target.WriteTo([]byte("pong"), from)
	requireHears(t, client, "pong")
	require.GreaterOrEqual(t, time.Since(start), 80*ms)
}

// quic-go#2616: constant delay reordered; srt#735.
func TestUDPRelayKeepsOrder(t *testing.T) {
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.RTT(20*ms))
	client := relayedSocket(t, relay)
	for i := range 200 { // as many as the kernel's buffer takes
		fmt.Fprintf(client, "%03d", i)
	}
	for i := range 200 {
		got, _ := heard(t, target)
		require.Equal(t, fmt.Sprintf("%03d", i), got)
	}
}

func TestUDPRelayBindsEachClientToItsPort(t *testing.T) {
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.Link{})
	one, other := relayedSocket(t, relay), relayedSocket(t, relay)
	first, second := say(t, one, target, "a"), say(t, other, target, "b")
	require.NotEqual(t, first.String(), second.String())
	require.Equal(t, first.String(), say(t, one, target, "c").String(), "the same port again")
	target.WriteTo([]byte("for the other"), second)
	requireHears(t, other, "for the other")
}

// moby#49649: a flow whose client only sends was collected. RFC 4787: sending
// keeps a binding alive, hearing does not.
func TestUDPBindingLivesByWhatTheClientSends(t *testing.T) {
	checkLeaks(t)
	const idle = 300 * ms
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.Link{}, linkdelay.BindingTimeout(idle))
	client := relayedSocket(t, relay)
	from := say(t, client, target, "first")
	for range 6 { // twice the timeout in all, without an answer
		time.Sleep(idle / 3)
		if next := say(t, client, target, "again"); next.String() != from.String() {
			t.Skip("the machine was too busy to send in time")
		}
	}
	require.Eventually(t, func() bool {
		target.WriteTo([]byte("keeps nothing alive"), from)
		return relay.Bindings() == 0 && relay.Running() == 1
	}, patience, 10*ms)
	require.NotEqual(t, from.String(), say(t, client, target, "late").String(), "a new binding has a new port")
}

func TestUDPRebindChangesThePortAndLosesNothing(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.RTT(40*ms))
	client := relayedSocket(t, relay)
	before := say(t, client, target, "before")
	target.WriteTo([]byte("answer"), before)
	client.Write([]byte("in flight"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, relay.WaitFor(ctx, func(s linkdelay.Stats) bool {
		return s.Up.Datagrams.In.Datagrams == 2 && s.Down.Datagrams.In.Datagrams == 1
	}))
	relay.Rebind()
	requireHears(t, client, "answer")
	text, from := heard(t, target)
	require.Equal(t, "in flight", text)
	require.Equal(t, before.String(), from.String())
	after := say(t, client, target, "after")
	require.NotEqual(t, before.String(), after.String())
	target.WriteTo([]byte("to the new port"), after)
	requireHears(t, client, "to the new port")
}

// A refusal by ICMP must not end what comes later.
func TestUDPRelaySurvivesATargetThatIsAway(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	addr := target.LocalAddr().(*net.UDPAddr)
	target.Close()
	relay := linkdelay.NewUDP(t, addr.String(), linkdelay.RTT(2*ms))
	client := relayedSocket(t, relay)
	for sent := range int64(5) {
		client.Write([]byte("anybody?"))
		require.NoError(t, relay.WaitFor(t.Context(), func(s linkdelay.Stats) bool {
			up := s.Up.Datagrams
			return up.Delivered.Datagrams+up.AllDropped().Datagrams > sent
		}))
	}
	again, err := net.ListenUDP("udp", addr)
	require.NoError(t, err)
	defer again.Close()
	again.SetReadDeadline(time.Now().Add(patience))
	client.Write([]byte("now"))
	text, from := heard(t, again)
	if text == "anybody?" { // the last one was about to be written
		text, from = heard(t, again)
	}
	require.Equal(t, "now", text)
	again.WriteTo([]byte("here"), from)
	requireHears(t, client, "here")
}

func TestUDPRelayCarriesEmptyAndBigDatagrams(t *testing.T) {
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.RTT(2*ms))
	client := relayedSocket(t, relay)
	for _, size := range []int{0, 1, 1200, 65507} {
		client.Write(make([]byte, size))
		n, _, err := target.ReadFromUDP(make([]byte, 1<<16))
		require.NoError(t, err)
		require.Equal(t, size, n)
	}
}

func TestUDPRelayCloseEndsEverything(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.RTT(100*ms))
	for range 20 {
		relayedSocket(t, relay).Write([]byte("in flight"))
	}
	require.Eventually(t, func() bool { return relay.Bindings() == 20 }, patience, ms)
	require.NoError(t, relay.Close())
	require.Zero(t, relay.Running())
}

// HTTP/3 is announced for the port of HTTP/2.
func TestRelayOfBothSharesAPort(t *testing.T) {
	checkLeaks(t)
	ln, target := pairReal(t)
	for range 10 {
		relay := linkdelay.NewRelay(t, ln.Addr().String(), linkdelay.RTT(2*ms))
		near, far := connectThrough(t, relay, ln)
		near.Write([]byte("x"))
		_, err := far.Read(make([]byte, 1))
		require.NoError(t, err)
		require.Equal(t, relay.Addr, near.RemoteAddr().String())
		client := relayedSocket(t, relay)
		require.Equal(t, relay.Addr, client.RemoteAddr().String())
		say(t, client, target, "y")
		require.NoError(t, relay.Close())
	}
}

// pairReal is a listener and a socket on one port number.
func pairReal(t testing.TB) (net.Listener, *net.UDPConn) {
	t.Helper()
	for range 50 {
		ln := listenReal(t)
		tcp := ln.Addr().(*net.TCPAddr)
		pc, err := net.ListenUDP("udp", &net.UDPAddr{IP: tcp.IP, Port: tcp.Port})
		if err == nil {
			t.Cleanup(func() { pc.Close() })
			pc.SetReadBuffer(4 << 20)
			pc.SetReadDeadline(time.Now().Add(patience))
			return ln, pc
		}
	}
	t.Fatal("no number is free for both")
	return nil, nil
}
