package linkdelay_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/linkdelay"
)

// changes is what is done to a link under traffic, by turns.
func changes(wire *linkdelay.Wire, turn int) {
	switch turn % 10 {
	case 1:
		wire.Cut()
	case 2:
		wire.Heal()
	case 4:
		wire.Pause(linkdelay.Up)
	case 5:
		wire.Resume(linkdelay.Up)
	case 6:
		wire.Rebind()
	case 7:
		wire.BlockAfter(linkdelay.Count{Bytes: 3000})
	case 8:
		wire.Heal()
	}
}

// stream sends bytes from one end to the other for half a second, and checks
// that they arrive.
func stream(t *testing.T, wg *sync.WaitGroup, near, far net.Conn) {
	want := noise(500_000)
	wg.Go(func() {
		for i := 0; i < len(want); i += 5000 {
			near.Write(want[i : i+5000])
			time.Sleep(5 * ms)
		}
		near.Close()
	})
	wg.Go(func() {
		got, err := io.ReadAll(far)
		assert.NoError(t, err)
		assert.Equal(t, len(want), len(got))
		assert.Equal(t, want, got)
		far.Close()
	})
}

// chatter sends a datagram each millisecond until ctx ends.
func chatter(ctx context.Context, wg *sync.WaitGroup, near, far net.PacketConn) {
	wg.Go(func() {
		for ctx.Err() == nil {
			near.WriteTo(make([]byte, 1200), far.LocalAddr())
			time.Sleep(ms)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			far.SetReadDeadline(time.Now().Add(10 * ms))
			far.ReadFrom(make([]byte, 2000))
		}
	})
}

// toxiproxy#159, #210: removing an impairment hung. Everything at once, under
// traffic; the race detector and the balance are the judges.
func TestLiveChangesUnderTraffic(t *testing.T) {
	paths := []linkdelay.Path{
		{}, {Delay: 20 * ms}, {Delay: 30 * ms, Rate: 10e6, Queue: 20_000}, {Delay: 10 * ms, Rate: 5e6, PerConnection: true},
		{Delay: 10 * ms, Loss: 0.05}, {Delay: 10 * ms, Jitter: 5 * ms, Rate: 20e6}, {Delay: 5 * ms, Congestion: linkdelay.Reno},
		{Delay: 10 * ms, Reorder: 0.1, Duplicate: 0.1, Corrupt: 0.1, UDP: &linkdelay.Path{Rate: 1e6}},
	}
	virtual(t, linkdelay.RTT(20*ms), func(t *testing.T, network *linkdelay.Network) {
		wire := wireOf(network)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var streams, others sync.WaitGroup // waited for below
		for range 4 {
			near, far := pairIn(t, network)
			stream(t, &streams, near, far)
		}
		near, far := socketsIn(t, network)
		chatter(ctx, &others, near, far)
		others.Go(func() { wire.WaitFor(ctx, func(linkdelay.Stats) bool { return false }) })
		for i := range 200 {
			wire.SetLink(linkdelay.Link{Up: paths[i*5%len(paths)], Down: paths[i*3%len(paths)], Seed: uint64(i)})
			time.Sleep(3 * ms)
			changes(wire, i)
			requireBalance(t, network)
		}
		wire.Heal()
		wire.SetLink(linkdelay.RTT(20 * ms))
		streams.Wait()
		cancel()
		others.Wait()
		requireBalance(t, network)
	})
}
