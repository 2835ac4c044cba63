package linkdelay_test

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// numbered sends n datagrams of a size, one each millisecond, and returns which
// arrived, in order of arrival, and when after they were sent.
func numbered(t *testing.T, from, to net.PacketConn, n, size int) (got []int, took []time.Duration) {
	t.Helper()
	start := time.Now()
	go func() {
		p := make([]byte, size)
		for i := range n {
			binary.BigEndian.PutUint32(p, uint32(i)) // the first bit is 0
			from.WriteTo(p, to.LocalAddr())
			time.Sleep(ms)
		}
	}()
	require.NoError(t, to.SetReadDeadline(time.Now().Add(time.Duration(n)*ms+10*time.Second)))
	buf := make([]byte, 1<<16)
	for {
		k, _, err := to.ReadFrom(buf)
		if err != nil {
			return got, took
		}
		if k != size {
			require.Equal(t, size, k)
		}
		i := int(binary.BigEndian.Uint32(buf))
		got, took = append(got, i), append(took, time.Since(start)-time.Duration(i)*ms)
	}
}

func missing(got []int, n int) (lost []int) {
	for i := range n {
		if !slices.Contains(got, i) {
			lost = append(lost, i)
		}
	}
	return lost
}

// The first datagram of eachWayUDP leads up; on the way up the test's own begin
// with the second.
func TestScriptsLoseWhatTheySay(t *testing.T) {
	nothing := func(linkdelay.Packet) bool { return false }
	for name, c := range map[string]struct {
		drop func(linkdelay.Packet) bool
		lost []int
	}{
		"the nth":         {linkdelay.Nth(1, 4), []int{0, 3}},
		"the first three": {linkdelay.First(3), []int{0, 1, 2}},
		"by time": {func(p linkdelay.Packet) bool {
			return p.Sent >= 60*ms && p.Sent < 62*ms
		}, []int{5, 6}},
		"by size, too small": {func(p linkdelay.Packet) bool { return p.Size > 100 }, nil},
		"long headers":       {func(p linkdelay.Packet) bool { return p.LongHeader }, nil},
		"of the second flow": {func(p linkdelay.Packet) bool { return p.Connection != 1 }, nil},
		"nothing":            {nothing, nil},
	} {
		virtual(t, linkdelay.Link{
			Up: linkdelay.Path{Delay: 5 * ms}, Down: linkdelay.Path{Delay: 50 * ms, Drop: c.drop},
		}, func(t *testing.T, network *linkdelay.Network) {
			near, far := socketsIn(t, network)
			sendText(t, near, far.LocalAddr(), "Up leads from here")
			requireDatagram(t, far, "Up leads from here")
			time.Sleep(50 * ms)
			got, took := numbered(t, far, near, 10, 100)
			require.Equal(t, c.lost, missing(got, 10), name)
			require.Equal(t, slices.Repeat([]time.Duration{50 * ms}, len(got)), took, name)
			stats := network.Wire("pc.test", "origin.test").Stats().Down.Datagrams
			require.EqualValues(t, len(c.lost), stats.Dropped[linkdelay.DroppedByScript].Datagrams, name)
		})
	}
}

func TestLongHeadersAreTold(t *testing.T) {
	link := both(linkdelay.Path{Drop: func(p linkdelay.Packet) bool { return p.LongHeader && p.Network == "udp" }})
	eachWayUDP(t, link, func(t *testing.T, _ *linkdelay.Network, from, to net.PacketConn) {
		sendText(t, from, to.LocalAddr(), "\xc0 initial")
		sendText(t, from, to.LocalAddr(), "\x40 one round trip")
		requireDatagram(t, to, "\x40 one round trip")
	})
}

// toxiproxy#603: probability 0 still fired.
func TestLossIsOfItsProbability(t *testing.T) {
	for _, p := range []float64{0, 0.01, 0.3, 1} {
		for seed := range uint64(3) {
			virtual(t, linkdelay.Link{Up: linkdelay.Path{Loss: p}, Down: linkdelay.Path{Loss: p}, Seed: seed}, func(t *testing.T, network *linkdelay.Network) {
				const n = 2000
				near, far := socketsIn(t, network)
				for _, pcs := range [][2]net.PacketConn{{near, far}, {far, near}} {
					got, _ := numbered(t, pcs[0], pcs[1], n, 1200)
					require.True(t, slices.IsSorted(got))
					sigma := math.Sqrt(n * p * (1 - p))
					require.InDelta(t, n*p, n-len(got), 4*sigma, "loss %v, seed %d", p, seed)
				}
			})
		}
	}
}

func TestSeedsRepeat(t *testing.T) {
	lost := func(seed uint64) (all []int) {
		virtual(t, linkdelay.Link{Up: linkdelay.Path{Loss: 0.1}, Seed: seed}, func(t *testing.T, network *linkdelay.Network) {
			near, far := socketsIn(t, network)
			got, _ := numbered(t, near, far, 300, 1200)
			all = missing(got, 300)
		})
		return all
	}
	require.Equal(t, lost(7), lost(7))
	require.NotEqual(t, lost(7), lost(8))
	require.NotEqual(t, lost(0), lost(1))
}

// Directions draw apart, and by the sides that the link names: not by the order
// of their names.
func TestSeedsBelongToDirections(t *testing.T) {
	link := both(linkdelay.Path{Loss: 0.1})
	lost := func(one, other string) (up, down []int) {
		virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			network.SetLink(one, other, link)
			near, far := socket(t, network.Host(one), ":0"), socket(t, network.Host(other), ":443")
			got, _ := numbered(t, near, far, 300, 1200)
			back, _ := numbered(t, far, near, 300, 1200)
			up, down = missing(got, 300), missing(back, 300)
		})
		return up, down
	}
	up, down := lost("a.test", "b.test")
	require.NotEqual(t, up, down)
	turnedUp, turnedDown := lost("b.test", "a.test")
	require.Equal(t, up, turnedUp)
	require.Equal(t, down, turnedDown)
}

// What is between large datagrams does not change which of them are lost.
func TestLossOfLargeDatagramsDoesNotDependOnSmallOnes(t *testing.T) {
	lost := func(small int) (all []int) {
		virtual(t, linkdelay.Link{Up: linkdelay.Path{Loss: 0.1}}, func(t *testing.T, network *linkdelay.Network) {
			near, far := socketsIn(t, network)
			for range small {
				near.WriteTo(make([]byte, 40), far.LocalAddr())
			}
			far.SetReadDeadline(time.Now())
			time.Sleep(ms)
			far.Close()
			far = socket(t, network.Host("origin.test"), ":443")
			got, _ := numbered(t, near, far, 300, 1200)
			all = missing(got, 300)
		})
		return all
	}
	require.Equal(t, lost(0), lost(5))
}

// quic-go#5768, bun#42818: 1 % loss above 1,440 bytes, all above 1,280.
func TestLossBySize(t *testing.T) {
	path := linkdelay.Path{Delay: ms, LossOver: linkdelay.SizeLoss{Size: 1280, Loss: 0.5, ShortHeader: true}, MaxDatagram: 1452}
	eachWayUDP(t, both(path), func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn) {
		small, _ := numbered(t, from, to, 400, 1280)
		require.Len(t, small, 400)
		large, _ := numbered(t, from, to, 400, 1281)
		require.InDelta(t, 200, len(large), 40)
		largest, _ := numbered(t, from, to, 10, 1453)
		require.Empty(t, largest)
		require.NoError(t, to.SetReadDeadline(time.Time{}))
		long := "\xc3" + string(make([]byte, 1400))
		for range 20 {
			sendText(t, from, to.LocalAddr(), long)
			requireDatagram(t, to, long)
		}
		stats := network.Wire("pc.test", "origin.test").Stats()
		dropped := map[linkdelay.Cause]int64{}
		for _, l := range []linkdelay.Ledger{stats.Up.Datagrams, stats.Down.Datagrams} {
			for why, n := range l.Dropped {
				dropped[why] += n.Datagrams
			}
			require.Zero(t, l.Missing())
		}
		require.Equal(t, map[linkdelay.Cause]int64{
			linkdelay.DroppedBySize: 400 - int64(len(large)), linkdelay.DroppedTooBig: 10,
		}, dropped)
		require.Equal(t, 1453, max(stats.Up.Datagrams.LargestDropped, stats.Down.Datagrams.LargestDropped))
	})
}

func TestBurstsAreOfTheirMeanLengths(t *testing.T) {
	path := linkdelay.Path{Burst: linkdelay.Burst{Good: 90 * ms, Bad: 10 * ms}}
	virtual(t, both(path), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		const n = 40_000
		got, _ := numbered(t, near, far, n, 100)
		require.InDelta(t, 0.1, float64(n-len(got))/n, 0.02)
		bursts := 0
		for i := 1; i < len(got); i++ {
			if got[i] != got[i-1]+1 {
				bursts++
			}
		}
		require.InDelta(t, 400, bursts, 80, "bad times of 10 ms, some too short to hit anything")
	})
	path.Burst.Loss = 0.5
	virtual(t, both(path), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		got, _ := numbered(t, near, far, 15_000, 100)
		require.InDelta(t, 0.05, float64(15_000-len(got))/15_000, 0.02)
	})
}

// srt#735: 1 ms of jitter reordered half of the packets.
func TestJitterKeepsOrder(t *testing.T) {
	for _, shape := range []linkdelay.Shape{linkdelay.Uniform, linkdelay.Normal} {
		eachWayUDP(t, both(linkdelay.Path{Delay: 50 * ms, Jitter: 10 * ms, Shape: shape}), func(t *testing.T, _ *linkdelay.Network, from, to net.PacketConn) {
			got, took := numbered(t, from, to, 2000, 100)
			require.True(t, slices.IsSorted(got))
			require.Len(t, got, 2000)
			slices.Sort(took)
			least, most := 40*ms, 60*ms
			if shape == linkdelay.Normal {
				least, most = 20*ms, 80*ms
			}
			require.GreaterOrEqual(t, took[0], least)
			require.LessOrEqual(t, took[1999], most)
			require.Greater(t, took[1999]-took[0], 12*ms)
		})
	}
}

func TestJitterOfPacketsFarApartIsOfItsShape(t *testing.T) {
	for shape, within := range map[linkdelay.Shape]float64{linkdelay.Uniform: 0.5, linkdelay.Normal: 0.383} {
		virtual(t, both(linkdelay.Path{Delay: 50 * ms, Jitter: 10 * ms, Shape: shape}), func(t *testing.T, network *linkdelay.Network) {
			near, far := socketsIn(t, network)
			inside := 0
			for range 2000 {
				start := time.Now()
				sendText(t, near, far.LocalAddr(), "x")
				requireDatagram(t, far, "x")
				if took := time.Since(start); took > 45*ms && took < 55*ms {
					inside++
				}
			}
			require.InDelta(t, within, float64(inside)/2000, 0.045)
		})
	}
}

func TestReorderIsAKnobOfItsOwn(t *testing.T) {
	eachWayUDP(t, both(linkdelay.Path{Delay: 50 * ms, Reorder: 0.1, ReorderBy: 2500 * us}), func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn) {
		got, took := numbered(t, from, to, 1000, 100)
		require.Empty(t, missing(got, 1000))
		late := 0
		for _, d := range took {
			if d != 50*ms {
				require.Equal(t, 52500*us, d)
				late++
			}
		}
		require.InDelta(t, 100, late, 40)
		require.False(t, slices.IsSorted(got))
		stats := network.Wire("pc.test", "origin.test").Stats()
		require.InDelta(t, late, stats.Up.Datagrams.Reordered+stats.Down.Datagrams.Reordered, 1)
	})
}

func TestDuplicatesArriveTwice(t *testing.T) {
	eachWayUDP(t, both(linkdelay.Path{Delay: ms, Duplicate: 0.25}), func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn) {
		before := duplicated(network)
		to.SetReadDeadline(time.Now().Add(2 * ms)) // a copy of the first one
		to.ReadFrom(make([]byte, 100))
		got, _ := numbered(t, from, to, 1000, 100)
		require.Empty(t, missing(got, 1000))
		require.EqualValues(t, 1000+duplicated(network)-before, len(got))
		require.InDelta(t, 1250, len(got), 60)
	})
}

func duplicated(network *linkdelay.Network) int64 {
	stats := network.Wire("pc.test", "origin.test").Stats()
	return stats.Up.Datagrams.Duplicated.Datagrams + stats.Down.Datagrams.Duplicated.Datagrams
}

func TestCorruptionTurnsOneBit(t *testing.T) {
	virtual(t, both(linkdelay.Path{Corrupt: 0.5}), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		want, hit := noise(1000), 0
		buf := make([]byte, 2000)
		where := make(map[int]bool)
		for range 1000 {
			near.WriteTo(want, far.LocalAddr())
			n, _, err := far.ReadFrom(buf)
			require.NoError(t, err)
			require.Equal(t, len(want), n)
			wrong := 0
			for i := range want {
				if flips := bits.OnesCount8(want[i] ^ buf[i]); flips > 0 {
					wrong += flips
					where[i] = true
				}
			}
			require.LessOrEqual(t, wrong, 1)
			hit += wrong
		}
		require.InDelta(t, 500, hit, 80)
		require.Greater(t, len(where), 300, "anywhere")
		require.EqualValues(t, hit, network.Wire("pc.test", "origin.test").Stats().Up.Datagrams.Corrupted)
	})
}

func TestUDPIsAPathOfItsOwn(t *testing.T) {
	link := linkdelay.RTT(100 * ms)
	link.Up.UDP = &linkdelay.Path{Delay: 10 * ms, Loss: 1}
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		link.Up.UDP.Loss = 0 // what was given is a copy
		near, far := pairIn(t, network)
		requireOneWay(t, near, far, 50*ms)
		pc, origin := socketsIn(t, network)
		sendText(t, pc, origin.LocalAddr(), "lost")
		network.SetLink("pc.test", "origin.test", link)
		start := time.Now()
		sendText(t, pc, origin.LocalAddr(), "found")
		requireDatagram(t, origin, "found")
		require.Equal(t, 10*ms, time.Since(start))
	})
}
