package linkdelay_test

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestLoopbackCarriesItsLinks(t *testing.T) {
	checkLeaks(t)
	network := linkdelay.NewLoopback(t, lopsided(20*ms, 40*ms))
	ln := listen(t, network.Host("origin.test"), ":443")
	start := time.Now()
	near := dial(t, network.Host("pc.test"), "origin.test:443")
	require.GreaterOrEqual(t, time.Since(start), 60*ms, "a round trip to connect")
	far := accept(t, ln)
	far.Write([]byte("greeting"))
	_, err := io.ReadFull(near, make([]byte, 8))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 120*ms, "heard no earlier than after the handshake")
	for _, c := range []struct {
		from, to net.Conn
		delay    time.Duration
	}{{near, far, 20 * ms}, {far, near, 40 * ms}} {
		start := time.Now()
		c.from.Write([]byte("x"))
		_, err := c.to.Read(make([]byte, 1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), c.delay)
	}
	require.Equal(t, near.LocalAddr().String(), far.RemoteAddr().String())
}

func TestLoopbackRefusesAfterARoundTrip(t *testing.T) {
	network := linkdelay.NewLoopback(t, linkdelay.RTT(30*ms))
	network.Host("origin.test")
	start := time.Now()
	_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.EqualError(t, err, "dial tcp origin.test:443: connect: connection refused")
	require.GreaterOrEqual(t, time.Since(start), 30*ms)
}

func TestLoopbackDialHonoursItsContext(t *testing.T) {
	checkLeaks(t)
	network := linkdelay.NewLoopback(t, linkdelay.RTT(time.Hour))
	listen(t, network.Host("origin.test"), ":443")
	ctx, cancel := context.WithTimeout(t.Context(), 20*ms)
	defer cancel()
	_, err := network.Host("pc.test").DialContext(ctx, "tcp", "origin.test:443")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ended := make(chan error, 1)
	go func() {
		_, err := network.Host("pc.test").DialContext(context.Background(), "tcp", "origin.test:443")
		ended <- err
	}()
	time.Sleep(10 * ms)
	require.NoError(t, network.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
}

func TestLoopbackDelaysDatagrams(t *testing.T) {
	checkLeaks(t)
	network := linkdelay.NewLoopback(t, lopsided(20*ms, 40*ms))
	near, far := socketsIn(t, network)
	start := time.Now()
	sendText(t, near, far.LocalAddr(), "ping")
	from := requireDatagram(t, far, "ping")
	require.GreaterOrEqual(t, time.Since(start), 20*ms)
	sendText(t, far, from, "pong")
	require.Equal(t, far.LocalAddr().String(), requireDatagram(t, near, "pong").String())
	require.GreaterOrEqual(t, time.Since(start), 60*ms)
	stats := network.Wire("pc.test", "origin.test").Stats()
	require.Len(t, stats.Flows, 1, "both directions are one flow")
	require.EqualValues(t, 1, stats.Up.Datagrams.Delivered.Datagrams)
	require.EqualValues(t, 1, stats.Down.Datagrams.Delivered.Datagrams)
}

// What was sent before Close arrives, under the name of the sender.
func TestLoopbackDeliversDatagramsAfterClose(t *testing.T) {
	checkLeaks(t)
	network := linkdelay.NewLoopback(t, linkdelay.RTT(40*ms))
	near, far := socketsIn(t, network)
	name := near.LocalAddr().String()
	sendText(t, near, far.LocalAddr(), "last words")
	require.NoError(t, near.Close())
	require.ErrorIs(t, near.Close(), net.ErrClosed)
	_, _, err := near.ReadFrom(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
	for _, to := range []net.Addr{far.LocalAddr(), far.LocalAddr().(*linkdelay.Addr).Real(), text("pc.test:1")} {
		_, err = near.WriteTo([]byte("x"), to)
		require.ErrorIs(t, err, net.ErrClosed, "to %v", to)
	}
	require.Equal(t, name, requireDatagram(t, far, "last words").String())
	require.NoError(t, far.Close())
	require.Eventually(t, func() bool { return linkdelay.OpenSockets(network) == 0 }, patience, ms)
}

// A datagram to nobody is counted as such.
func TestLoopbackCountsDatagramsToNobody(t *testing.T) {
	network := linkdelay.NewLoopback(t, linkdelay.RTT(2*ms))
	network.Host("origin.test")
	near := socket(t, network.Host("pc.test"), ":0")
	sendText(t, near, text("origin.test:443"), "anybody?")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	wire := network.Wire("pc.test", "origin.test")
	require.NoError(t, wire.WaitFor(ctx, linkdelay.Dropped(linkdelay.DroppedNoReceiver, 1)))
	require.Zero(t, wire.Stats().Up.Datagrams.Missing())
}

// Loss on sockets is loss on the link: bytes arrive whole, datagrams do not.
func TestSocketsLoseWhatTheLinkLoses(t *testing.T) {
	checkLeaks(t)
	link := linkdelay.RTT(4 * ms)
	link.Up.Loss, link.Down.Loss, link.Seed = 0.05, 0.05, 1
	ln, target := pairReal(t)
	relay := linkdelay.NewRelay(t, ln.Addr().String(), link)
	near, far := connectThrough(t, relay, ln)
	go func() {
		near.Write(noise(1 << 20))
		near.CloseWrite()
	}()
	got, err := io.ReadAll(far)
	require.NoError(t, err)
	require.Equal(t, noise(1<<20), got)
	require.Positive(t, relay.Stats().Up.Streams.Segments.Lost[linkdelay.DroppedByLoss])

	client := relayedSocket(t, relay)
	for range 200 {
		client.Write([]byte("x"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, relay.WaitFor(ctx, func(s linkdelay.Stats) bool {
		up := s.Up.Datagrams
		return up.In.Datagrams == 200 && up.InFlight.Datagrams == 0
	}))
	lost := relay.Stats().Up.Datagrams.Dropped[linkdelay.DroppedByLoss].Datagrams
	require.Positive(t, lost)
	for range 200 - lost {
		heard(t, target)
	}
}
