package linkdelay_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// What was sent arrives though its socket is closed, also if it has to wait
// for the end of a Pause.
func TestPausedDatagramsOutliveTheirSocket(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(2*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		far.SetReadDeadline(time.Now().Add(patience))
		wire := wireOf(network)
		wire.Pause(linkdelay.Up)
		sendText(t, near, far.LocalAddr(), "held")
		require.NoError(t, near.Close())
		time.Sleep(10 * ms)
		wire.Resume(linkdelay.Up)
		requireDatagram(t, far, "held")
		require.EqualValues(t, 1, wire.Stats().Up.Datagrams.Delivered.Datagrams)
	})
}

func TestPausedDatagramsOutliveTheirWrapping(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, linkdelay.RTT(20*ms))
		near, far := socketsIn(t, network)
		start := time.Now()
		w.Pause(linkdelay.Up)
		near = w.PacketConn(near)
		sendText(t, near, far.LocalAddr(), "held")
		require.NoError(t, near.Close())
		time.Sleep(time.Second)
		w.Resume(linkdelay.Up)
		requireDatagram(t, far, "held")
		require.Equal(t, time.Second, time.Since(start))
		synctest.Wait()
		require.Zero(t, w.Running())
	})
}

// What a Pause held and Cut has swallowed nobody waits for.
func TestCutEndsASocketWhoseDatagramsArePaused(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, linkdelay.RTT(20*ms))
		near, far := socketsIn(t, network)
		near = w.PacketConn(near)
		w.Pause(linkdelay.Up)
		sendText(t, near, far.LocalAddr(), "held")
		require.NoError(t, near.Close())
		synctest.Wait()
		require.NotZero(t, w.Running())
		w.Cut()
		synctest.Wait()
		require.Zero(t, w.Running())
	})
}

func TestUDPRebindLosesNothingThatIsPaused(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.RTT(2*ms))
	client := relayedSocket(t, relay)
	old := say(t, client, target, "first")
	relay.Pause(linkdelay.Up)
	_, err := client.Write([]byte("held"))
	require.NoError(t, err)
	require.NoError(t, relay.WaitFor(t.Context(), func(s linkdelay.Stats) bool { return s.Up.Datagrams.In.Datagrams == 2 }))
	relay.Rebind()
	time.Sleep(10 * ms)
	relay.Resume(linkdelay.Up)
	text, from := heard(t, target)
	require.Equal(t, "held", text)
	require.Equal(t, old, from, "it was sent before")
}

// Stats lists the last 1,000 flows only, but what a socket has sent before it
// was closed is accounted for however many came after it.
func TestDatagramsOfManyClosedSocketsAreAccountedFor(t *testing.T) {
	const sockets = 1100
	virtual(t, linkdelay.RTT(2*time.Second), func(t *testing.T, network *linkdelay.Network) {
		far := socket(t, network.Host("origin.test"), ":443")
		for range sockets {
			near := socket(t, network.Host("pc.test"), ":0")
			sendText(t, near, far.LocalAddr(), "hello")
			near.Close()
		}
		require.EqualValues(t, sockets, wireOf(network).Stats().Up.Datagrams.InFlight.Datagrams)
		time.Sleep(time.Second)
		up := wireOf(network).Stats().Up.Datagrams
		require.EqualValues(t, sockets, up.Delivered.Datagrams, up)
		require.Zero(t, up.InFlight, up)
		socket(t, network.Host("pc.test"), ":0")
		near := socket(t, network.Host("pc.test"), ":0")
		sendText(t, near, far.LocalAddr(), "hello")
		near.Close()
		stats := wireOf(network).Stats()
		require.Len(t, stats.Flows, 1000, "what has arrived is forgotten")
		require.EqualValues(t, sockets+1, stats.Up.Datagrams.In.Datagrams)
		require.Zero(t, stats.Up.Datagrams.Missing())
	})
}

// The account of what a socket would not send does not depend on whether it is
// closed meanwhile.
func TestRefusedDatagramsOfAClosedWrappingAreCounted(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, linkdelay.RTT(20*ms))
		inside, far := socketsIn(t, network)
		inside.SetWriteDeadline(time.Now())
		near := w.PacketConn(inside)
		sendText(t, near, far.LocalAddr(), "refused")
		require.NoError(t, near.Close())
		time.Sleep(time.Second)
		up := w.Stats().Up.Datagrams
		require.EqualValues(t, 1, up.Dropped[linkdelay.DroppedNoReceiver].Datagrams, up)
		require.Zero(t, up.Delivered, up)
	})
}

// Where no socket can be had towards the target, the client's datagram is
// lost, and nothing is open for it.
func TestUDPRelayAccountsForWhatHasNoBinding(t *testing.T) {
	checkLeaks(t)
	const linkLocal = "[fe80::1]:9" // without a zone, so the kernel refuses it
	if _, err := net.Dial("udp", linkLocal); err == nil {
		t.Skip("this system connects a socket to " + linkLocal)
	}
	relay := linkdelay.NewUDP(t, linkLocal, linkdelay.RTT(2*ms))
	_, err := relayedSocket(t, relay).Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, relay.WaitFor(t.Context(), linkdelay.Dropped(linkdelay.DroppedNoReceiver, 1)))
	require.Zero(t, relay.Stats().Open("udp"))
	require.Zero(t, relay.Bindings())
}
