package linkdelay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
)

func TestWaitForSeesADropWithoutSleeping(t *testing.T) {
	virtual(t, both(linkdelay.Path{Delay: 50 * ms, MaxDatagram: 1350}), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		go func() {
			for i := range 500 {
				near.WriteTo(make([]byte, 1000+i), far.LocalAddr())
				time.Sleep(ms)
			}
		}()
		start := time.Now()
		require.NoError(t, wireOf(network).WaitFor(t.Context(), linkdelay.DroppedOver(1350)))
		require.Equal(t, 351*ms, time.Since(start))
		require.NoError(t, wireOf(network).WaitFor(t.Context(), linkdelay.Dropped(linkdelay.DroppedTooBig, 10)))
		require.Equal(t, 360*ms, time.Since(start))
		require.NoError(t, wireOf(network).WaitFor(t.Context(), linkdelay.Delivered(linkdelay.Up, 10*1000+45)))
		require.Equal(t, 360*ms, time.Since(start), "long ago")
		time.Sleep(time.Second)
	})
}

func TestWaitForSeesArrivalsThatNobodyReads(t *testing.T) {
	for _, p := range []linkdelay.Path{{Delay: 50 * ms}, {Delay: 50 * ms, Congestion: linkdelay.Cubic}} {
		virtual(t, both(p), func(t *testing.T, network *linkdelay.Network) {
			start := time.Now()
			go connectPair(network)
			require.NoError(t, wireOf(network).WaitFor(t.Context(), linkdelay.Opened("tcp", 1)))
			require.Equal(t, start, time.Now())
			time.Sleep(time.Second)
			near, _ := pairIn(t, network)
			start = time.Now()
			near.Write(make([]byte, 1000))
			require.NoError(t, wireOf(network).WaitFor(t.Context(), linkdelay.Delivered(linkdelay.Up, 1000)))
			require.Equal(t, 50*ms, time.Since(start))

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := wireOf(network).WaitFor(ctx, linkdelay.Opened("udp", 1))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "in 1000 bytes, delivered 1000 bytes")
		})
	}
}

func TestWaitForCountsWhatHasOpenedAndClosedAgain(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		near.Close()
		far.Close()
		socket, peer := socketsIn(t, network)
		socket.WriteTo([]byte("x"), peer.LocalAddr())
		socket.Close()
		stats := wireOf(network).Stats()
		require.Zero(t, stats.Open("tcp")+stats.Open("udp"), stats)
		require.Equal(t, []int{1, 1}, []int{stats.Opened("tcp"), stats.Opened("udp")})
		start := time.Now()
		for _, kind := range []string{"tcp", "udp"} {
			require.NoError(t, wireOf(network).WaitFor(t.Context(), linkdelay.Opened(kind, 1)))
		}
		require.Equal(t, start, time.Now(), "what is true stays true")
	})
}

func TestDropsAreNotedInANetlog(t *testing.T) {
	virtual(t, both(linkdelay.Path{Delay: 50 * ms, Drop: linkdelay.Nth(2)}), func(t *testing.T, network *linkdelay.Network) {
		log := new(netlog.Log)
		wireOf(network).Record(log)
		near, far := socketsIn(t, network)
		start := time.Now()
		time.Sleep(ms)
		for range 3 {
			near.WriteTo(make([]byte, 1200), far.LocalAddr())
		}
		wireOf(network).BlockUDP()
		notes := log.Notes(linkdelay.EventDrop)
		require.Len(t, notes, 1)
		require.Equal(t, map[string]any{
			"network": "udp", "from": "pc.test", "to": "origin.test", "cause": "script", "bytes": 1200,
			"connection": uint64(1), "index": 2,
		}, notes[0].Params)
		require.Equal(t, ms, notes[0].Time.Sub(start))
		require.Equal(t, "BlockUDP", log.Notes(linkdelay.EventChange)[0].Params["what"])
	})
}

// failingTB is a test that has failed, and what it logs.
type failingTB struct {
	testing.TB
	cleanups []func()
	said     []string
}

func (f *failingTB) Cleanup(do func())            { f.cleanups = append(f.cleanups, do) }
func (f *failingTB) Failed() bool                 { return true }
func (f *failingTB) Logf(format string, a ...any) { f.said = append(f.said, fmt.Sprintf(format, a...)) }

func TestAFailingTestSaysSeedAndLastEvents(t *testing.T) {
	tb := &failingTB{TB: t}
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(tb, linkdelay.Link{Up: linkdelay.Path{MaxDatagram: 1200}, Seed: 42})
		near, far := socketsIn(t, network)
		time.Sleep(10 * ms)
		for range 30 {
			near.WriteTo(make([]byte, 1300), far.LocalAddr())
		}
		near.WriteTo(nil, text("pc.test:1"))
		for _, c := range tb.cleanups {
			c()
		}
	})
	require.Len(t, tb.said, 1, "nothing happened on the host's way to itself")
	require.Contains(t, tb.said[0], "link from pc.test to origin.test, seed 42, last events:\n  … 6 earlier events\n")
	require.Equal(t, 24, strings.Count(tb.said[0], "of connection 1 from pc.test dropped: too big (1300 bytes)"))
	require.Contains(t, tb.said[0], "10ms  datagram 30 of")
}
