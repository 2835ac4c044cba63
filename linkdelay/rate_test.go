package linkdelay_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// 1,500 bytes at 12 Mbit/s take a millisecond, however they are written.
func TestRateOfAStreamIsExact(t *testing.T) {
	for _, c := range []struct{ chunk, size int }{
		{1, 30_000}, {999, 1_500_000}, {1460, 1_500_000}, {16 << 10, 1_500_000}, {1_500_000, 1_500_000},
	} {
		want := 50*ms + time.Duration(c.size/1500)*ms
		eachWay(t, both(linkdelay.Path{Delay: 50 * ms, Rate: 12e6}), func(t *testing.T, _ *linkdelay.Network, from, to net.Conn) {
			start := time.Now()
			for left := c.size; left > 0; left -= c.chunk {
				from.Write(make([]byte, min(c.chunk, left)))
			}
			from.Close()
			_, err := io.ReadFull(to, make([]byte, c.size))
			require.NoError(t, err)
			require.Equal(t, want, time.Since(start), "%d bytes in chunks of %d", c.size, c.chunk)
			_, err = to.Read(make([]byte, 1))
			require.Equal(t, io.EOF, err)
			require.Equal(t, want, time.Since(start), "FIN has no width")
		})
	}
}

// Bytes arrive as they leave, not when the last has left; segments end at
// multiples of their size.
func TestRateLetsBytesArriveBySegments(t *testing.T) {
	eachWay(t, both(linkdelay.Path{Delay: 50 * ms, Rate: 1460 * 8 * 100}), func(t *testing.T, _ *linkdelay.Network, from, to net.Conn) {
		start := time.Now()
		from.Write(make([]byte, 1000))
		from.Write(make([]byte, 2000)) // of the same instant: cut as one
		buf := make([]byte, 10_000)
		for _, want := range []struct {
			size int
			at   time.Duration
		}{{1460, 60 * ms}, {1460, 70 * ms}, {80, 70*ms + 80*10*ms/1460}} {
			n, err := to.Read(buf)
			require.NoError(t, err)
			require.Equal(t, want.size, n)
			require.Equal(t, want.at, time.Since(start))
		}
	})
}

// pion#366: a token bucket drained only on the next arrival.
func TestTheLastPacketLeavesByItself(t *testing.T) {
	eachWayUDP(t, both(linkdelay.Path{Rate: 8000}), func(t *testing.T, _ *linkdelay.Network, from, to net.PacketConn) {
		start := time.Now()
		for i := range 3 {
			sendText(t, from, to.LocalAddr(), fmt.Sprintf("%0100d", i))
		}
		for i := range 3 {
			requireDatagram(t, to, fmt.Sprintf("%0100d", i))
			require.Equal(t, time.Duration(i+1)*100*ms, time.Since(start))
		}
	})
}

// A queue of 3,000 bytes takes three datagrams of 1,000; the first is in it
// until its last bit has left.
func TestFullQueueDropsDatagrams(t *testing.T) {
	path := linkdelay.Path{Delay: 10 * ms, Rate: 8e6, Queue: 3000}
	for name, link := range map[string]linkdelay.Link{
		"bytes": both(path),
		"time":  both(linkdelay.Path{Delay: 10 * ms, Rate: 8e6, QueueTime: 3 * ms}),
		"UDP":   both(linkdelay.Path{UDP: &path}),
	} {
		eachWayUDP(t, link, func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn) {
			start := time.Now()
			for i := range 5 {
				sendText(t, from, to.LocalAddr(), fmt.Sprintf("%01000d", i))
			}
			time.Sleep(ms) // the first has left
			sendText(t, from, to.LocalAddr(), fmt.Sprintf("%01000d", 5))
			sendText(t, from, to.LocalAddr(), fmt.Sprintf("%01000d", 6))
			for _, want := range []struct {
				index int
				at    time.Duration
			}{{0, 11 * ms}, {1, 12 * ms}, {2, 13 * ms}, {5, 14 * ms}} {
				requireDatagram(t, to, fmt.Sprintf("%01000d", want.index))
				require.Equal(t, want.at, time.Since(start), name)
			}
			stats := network.Wire("pc.test", "origin.test").Stats()
			dropped := stats.Up.Datagrams.AllDropped().Datagrams + stats.Down.Datagrams.AllDropped().Datagrams
			require.EqualValues(t, 3, dropped, "%s: 3, 4 and 6\n%v", name, stats)
			require.EqualValues(t, 3, stats.Up.Datagrams.Dropped[linkdelay.DroppedQueueFull].Datagrams+
				stats.Down.Datagrams.Dropped[linkdelay.DroppedQueueFull].Datagrams)
		})
	}
}

func TestQueueOfNoSizeIsATenthOfASecond(t *testing.T) {
	virtual(t, both(linkdelay.Path{Rate: 8e6}), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		for range 200 {
			near.WriteTo(make([]byte, 1000), far.LocalAddr())
		}
		require.EqualValues(t, 100, network.Wire("pc.test", "origin.test").Stats().Up.Datagrams.AllDropped().Datagrams)
	})
}

// What travels is not in the queue: 50 ms of 400 MB/s is 20 MB.
func TestQueueDoesNotCountWhatTravels(t *testing.T) {
	virtual(t, both(linkdelay.Path{Delay: 50 * ms, Rate: 3.2e9, Queue: 64 << 10}), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		for range 1960 { // 49 ms
			near.WriteTo(make([]byte, 10_000), far.LocalAddr())
			time.Sleep(25 * us) // as fast as they leave
		}
		stats := network.Wire("pc.test", "origin.test").Stats().Up.Datagrams
		require.Zero(t, stats.AllDropped(), "%v", stats)
		require.Greater(t, stats.InFlight.Bytes, int64(19_000_000), "%v", stats)
	})
}

// bufferbloat: the small packet waits behind what is queued, and no longer.
func TestQueueIsTheWaitOfOthers(t *testing.T) {
	for _, queue := range []int{100_000, 1_000_000} {
		virtual(t, both(linkdelay.Path{Delay: 10 * ms, Rate: 8e6, Queue: queue}), func(t *testing.T, network *linkdelay.Network) {
			near, far := pairIn(t, network)
			pc, origin := socketsIn(t, network)
			near.Write(make([]byte, 4_000_000)) // 4 s
			time.Sleep(100 * ms)
			start := time.Now()
			sendText(t, pc, origin.LocalAddr(), "ping")
			requireDatagram(t, origin, "ping")
			wait := time.Duration(queue) * us // at a byte a microsecond
			require.InDelta(t, wait+10*ms, time.Since(start), float64(4*ms))

			ln := listen(t, network.Host("origin.test"), ":80")
			start = time.Now()
			dial(t, network.Host("pc.test"), ln.Addr().String())
			require.InDelta(t, wait+20*ms, time.Since(start), float64(5*ms), "a handshake waits too")
			_, err := io.ReadFull(far, make([]byte, 4_000_000))
			require.NoError(t, err)
			require.NoError(t, near.Close())
		})
	}
}

// A connection that keeps the queue full leaves room for a datagram.
func TestABusyConnectionLeavesRoomForDatagrams(t *testing.T) {
	virtual(t, both(linkdelay.Path{Delay: 10 * ms, Rate: 8e6, Queue: 20_000}), func(t *testing.T, network *linkdelay.Network) {
		near, _ := pairIn(t, network)
		pc, origin := socketsIn(t, network)
		near.Write(make([]byte, 4_000_000)) // 4 s
		for i := range 100 {
			time.Sleep(10*ms + time.Duration(i)*us)
			pc.WriteTo(make([]byte, 1472), origin.LocalAddr())
		}
		require.Zero(t, network.Wire("pc.test", "origin.test").Stats().Up.Datagrams.AllDropped())
	})
}

// toxiproxy#613: rate per connection only. Four connections share a link, or
// have one each.
func TestRateIsSharedOrPerConnection(t *testing.T) {
	for _, per := range []bool{false, true} {
		virtual(t, both(linkdelay.Path{Rate: 8e6, PerConnection: per}), func(t *testing.T, network *linkdelay.Network) {
			var near, far [4]net.Conn
			for i := range near {
				near[i], far[i] = pairIn(t, network)
			}
			start := time.Now()
			var wg sync.WaitGroup
			for i := range near {
				near[i].Write(make([]byte, 1_000_000)) // the first is a queue ahead of the others
				far := far[i]
				wg.Go(func() {
					_, err := io.ReadFull(far, make([]byte, 1_000_000))
					assert.NoError(t, err)
					if per {
						assert.Equal(t, time.Second, time.Since(start))
						return
					}
					assert.InDelta(t, 4*time.Second, time.Since(start), float64(320*ms), "they take turns")
				})
			}
			wg.Wait()
		})
	}
}

// go#33425: one peer stops reading, and others go on.
func TestBufferHoldsBackItsOwnWriterOnly(t *testing.T) {
	virtual(t, both(linkdelay.Path{Delay: 50 * ms, Buffer: 100_000}), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		blocked := make(chan int, 1)
		go func() {
			n, _ := near.Write(make([]byte, 1_000_000))
			blocked <- n
		}()
		other, peer := pairIn(t, network)
		go io.Copy(peer, peer)
		require.Equal(t, "hello", echoed(t, other, "hello"))
		synctest.Wait()
		select {
		case n := <-blocked:
			t.Fatalf("Write returned %d although nobody reads", n)
		default:
		}
		_, err := io.ReadFull(far, make([]byte, 1_000_000))
		require.NoError(t, err)
		require.Equal(t, 1_000_000, <-blocked)
	})
}

func TestBlockedWriteEnds(t *testing.T) {
	for name, end := range map[string]func(near, far net.Conn, network *linkdelay.Network){
		"by its deadline":     func(near, _ net.Conn, _ *linkdelay.Network) { near.SetWriteDeadline(time.Now()) },
		"by Close":            func(near, _ net.Conn, _ *linkdelay.Network) { near.Close() },
		"by the peer's Close": func(_, far net.Conn, _ *linkdelay.Network) { far.Close() },
		"by Network.Close":    func(_, _ net.Conn, n *linkdelay.Network) { n.Close() },
		"by Abort":            func(_, _ net.Conn, n *linkdelay.Network) { n.Wire("pc.test", "origin.test").Abort() },
	} {
		for _, path := range []linkdelay.Path{
			{Delay: 50 * ms, Buffer: 100_000},
			{Delay: 50 * ms, Buffer: 100_000, Rate: 8e6},
			{Delay: 50 * ms, Buffer: 100_000, Loss: 0.05},
		} {
			virtual(t, both(path), func(t *testing.T, network *linkdelay.Network) {
				near, far := pairIn(t, network)
				time.AfterFunc(time.Minute, func() { end(near, far, network) })
				start := time.Now()
				n, err := near.Write(make([]byte, 10_000_000))
				require.Error(t, err, name)
				require.Less(t, n, 5_000_000, name)
				require.GreaterOrEqual(t, time.Since(start), time.Minute, name)
				require.LessOrEqual(t, time.Since(start), time.Minute+100*ms, name)
			})
		}
	}
}

func TestRateMayChangeUnderTraffic(t *testing.T) {
	eachWay(t, both(linkdelay.Path{Rate: 8e6, Queue: 10_000}), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
		start := time.Now()
		from.Write(make([]byte, 3_000_000))
		time.Sleep(time.Second)
		network.SetLink("pc.test", "origin.test", both(linkdelay.Path{Rate: 16e6, Queue: 10_000}))
		_, err := io.ReadFull(to, make([]byte, 3_000_000))
		require.NoError(t, err)
		require.InDelta(t, 2*time.Second, time.Since(start), float64(10*ms), "what is queued leaves at the old rate")
	})
	eachWay(t, both(linkdelay.Path{Rate: 8e6}), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
		start := time.Now()
		from.Write(make([]byte, 3_000_000))
		time.Sleep(time.Second)
		network.SetLink("pc.test", "origin.test", linkdelay.RTT(0))
		_, err := io.ReadFull(to, make([]byte, 3_000_000))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), 1100*ms, "but for the queue all at once")
	})
}
