package linkdelay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// answer is how long an answer of n bytes takes over an open connection of 100
// ms, on whose way down a script loses segments.
func answer(t *testing.T, n int, congestion linkdelay.Congestion, drop func(linkdelay.Packet) bool) (took time.Duration) {
	t.Helper()
	link := linkdelay.RTT(100 * ms)
	link.Down.Congestion, link.Down.Drop = congestion, drop
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		want := noise(n)
		go func() {
			far.Read(make([]byte, 10))
			far.Write(want)
		}()
		start := time.Now()
		near.Write([]byte("GET"))
		got := make([]byte, n)
		_, err := io.ReadFull(near, got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "bytes differ")
		took = time.Since(start)
	})
	return took
}

// Times that Linux took, in ms, with Reno (6.18; 50 ms each way by a router in
// userspace). The internal package holds all rows of that table; these go
// through a Network.
func TestStreamsRecoverAsLinuxDoes(t *testing.T) {
	for _, c := range []struct {
		bytes  int
		drop   func(linkdelay.Packet) bool
		kernel time.Duration
	}{
		{1000, nil, 102},
		{1000, linkdelay.Nth(1), 427},
		{10_000, linkdelay.Nth(1), 203},
		{10_000, linkdelay.Nth(5), 232},
		{10_000, linkdelay.Nth(7), 524},
		{16_384, nil, 203},
		{16_384, linkdelay.Nth(12), 616},
		{200_000, nil, 414},
		{200_000, linkdelay.Nth(21), 817},
		{1_000_000, linkdelay.Nth(101), 1331},
	} {
		took := answer(t, c.bytes, linkdelay.Reno, c.drop)
		require.InEpsilon(t, c.kernel*ms, took, 0.08, "%d bytes: %v", c.bytes, took)
	}
}

// A lost segment comes late and intact: what is before it is on time, what
// follows comes with it.
func TestALostSegmentHoldsBackWhatFollows(t *testing.T) {
	eachWay(t, both(linkdelay.Path{Delay: 50 * ms, Drop: linkdelay.Nth(3), Congestion: linkdelay.NoWindow}), func(t *testing.T, _ *linkdelay.Network, from, to net.Conn) {
		start := time.Now()
		want := noise(10 * 1460)
		from.Write(want)
		from.Close()
		buf := make([]byte, len(want))
		n, err := to.Read(buf)
		require.NoError(t, err)
		require.Equal(t, 2*1460, n)
		require.Equal(t, 50*ms, time.Since(start))
		rest, err := io.ReadAll(to)
		require.NoError(t, err)
		require.Equal(t, want, append(buf[:n], rest...))
		require.InDelta(t, 150*ms, time.Since(start), 10, "three acknowledgements beyond it, and sent again")
	})
}

func TestConnectionsThatLostNothingAreNotHeldBack(t *testing.T) {
	drop := func(p linkdelay.Packet) bool { return p.Connection == 2 && linkdelay.Nth(1)(p) }
	virtual(t, both(linkdelay.Path{Delay: 50 * ms, Drop: drop}), func(t *testing.T, network *linkdelay.Network) {
		for i := range 6 {
			near, far := pairIn(t, network)
			start := time.Now()
			near.Write([]byte("x"))
			far.Read(make([]byte, 1))
			if i == 1 {
				require.Equal(t, 350*ms, time.Since(start), "a probe when the timeout of RTT + 200 ms would be, and the way")
			} else {
				require.Equal(t, 50*ms, time.Since(start))
			}
		}
	})
}

func TestDiallingSendsSYNAgain(t *testing.T) {
	lost := func(n int) func(linkdelay.Packet) bool {
		return func(p linkdelay.Packet) bool { return p.Handshake && p.Attempt < n }
	}
	for _, c := range []struct {
		up, down int
		took     time.Duration
	}{{0, 0, 100 * ms}, {1, 0, 1100 * ms}, {2, 0, 3100 * ms}, {0, 1, 1100 * ms}, {1, 1, 2100 * ms}} {
		link := linkdelay.RTT(100 * ms)
		link.Up.Drop, link.Down.Drop = lost(c.up), lost(c.down)
		virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
			ln := listen(t, network.Host("origin.test"), ":443")
			start := time.Now()
			dial(t, network.Host("pc.test"), "origin.test:443")
			require.Equal(t, c.took, time.Since(start), "%d SYN and %d SYN-ACK lost", c.up, c.down)
			accept(t, ln)
			require.Equal(t, c.took+50*ms, time.Since(start))
		})
	}
	virtual(t, both(linkdelay.Path{Delay: ms, Loss: 1}), func(t *testing.T, network *linkdelay.Network) {
		listen(t, network.Host("origin.test"), ":443")
		start := time.Now()
		_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
		require.ErrorIs(t, err, syscall.ETIMEDOUT)
		require.Equal(t, 127*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = network.Host("pc.test").DialContext(ctx, "tcp", "origin.test:443")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 132*time.Second, time.Since(start))
		require.Zero(t, network.Calls())
	})
}

func TestBytesArriveIntactUnderEveryLoss(t *testing.T) {
	for seed := range uint64(3) {
		for _, p := range []linkdelay.Path{
			{Delay: 20 * ms, Loss: 0.05},
			{Delay: 20 * ms, Loss: 0.3, Congestion: linkdelay.Reno},
			{Delay: 20 * ms, Loss: 0.05, Congestion: linkdelay.NoWindow},
			{Delay: 20 * ms, Jitter: 20 * ms, Shape: linkdelay.Normal},
			{Delay: 20 * ms, Jitter: 5 * ms, Rate: 20e6},
			{Delay: 20 * ms, Loss: 0.02, Rate: 20e6, Queue: 20_000},
			{Delay: 20 * ms, Rate: 10e6, Queue: 30_000, Congestion: linkdelay.Cubic},
			{Delay: 20 * ms, Burst: linkdelay.Burst{Good: 200 * ms, Bad: 20 * ms}},
			{Loss: 0.1},
		} {
			link := both(p)
			link.Seed = seed
			virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
				near, far := pairIn(t, network)
				want := noise(300_000)
				var wg sync.WaitGroup
				for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
					carry(t, &wg, fmt.Sprintf("%+v, seed %d", p, seed), pair, want, 7500, 0)
				}
				wg.Wait()
				requireBalance(t, network)
			})
		}
	}
}

func requireBalance(t *testing.T, network *linkdelay.Network) {
	t.Helper()
	stats := network.Wire("pc.test", "origin.test").Stats()
	for _, l := range []linkdelay.Ledger{stats.Up.Streams, stats.Down.Streams, stats.Up.Datagrams, stats.Down.Datagrams} {
		require.Zero(t, l.Missing(), "%v", l)
		require.GreaterOrEqual(t, l.InFlight.Bytes, int64(0), "%v", l)
		require.GreaterOrEqual(t, l.Queued.Bytes, int64(0), "%v", l)
	}
	for _, f := range stats.Flows {
		require.Zero(t, f.Up.Missing(), "%v", f.Up)
		require.Zero(t, f.Down.Missing(), "%v", f.Down)
	}
}

// Loss may come and go on an open connection.
func TestLossBeginsOnAnOpenConnection(t *testing.T) {
	eachWay(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
		start := time.Now()
		fmt.Fprint(from, "in flight")
		network.SetLink("pc.test", "origin.test", both(linkdelay.Path{Delay: 10 * ms, Drop: linkdelay.Nth(1)}))
		fmt.Fprint(from, " and lost")
		buf := make([]byte, 100)
		n, err := to.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "in flight", string(buf[:n]))
		require.Equal(t, 50*ms, time.Since(start))
		network.SetLink("pc.test", "origin.test", both(linkdelay.Path{Delay: 10 * ms}))
		n, err = to.Read(buf)
		require.NoError(t, err)
		require.Equal(t, " and lost", string(buf[:n]))
		require.Equal(t, 230*ms, time.Since(start), "a probe when the timeout of RTT + 200 ms would be, over the shorter link")
		from.Close()
		_, err = to.Read(buf)
		require.Equal(t, io.EOF, err)
		require.Equal(t, 240*ms, time.Since(start))
	})
}
