package linkdelay_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
)

func wireOf(network *linkdelay.Network) *linkdelay.Wire {
	return network.Wire("pc.test", "origin.test")
}

func requireQuiet(t *testing.T, read func() error, d time.Duration) {
	t.Helper()
	start := time.Now()
	err := read()
	assertTimeout(t, err)
	require.Equal(t, d, time.Since(start))
}

// silent reads from a connection until a deadline.
func silent(c net.Conn, d time.Duration) func() error {
	return func() error {
		c.SetReadDeadline(time.Now().Add(d))
		_, err := c.Read(make([]byte, 100))
		c.SetReadDeadline(time.Time{})
		return err
	}
}

func silentUDP(pc net.PacketConn, d time.Duration) func() error {
	return func() error {
		pc.SetReadDeadline(time.Now().Add(d))
		_, _, err := pc.ReadFrom(make([]byte, 100))
		pc.SetReadDeadline(time.Time{})
		return err
	}
}

// Cut swallows old and new; connections go on when their timers say so.
func TestCutSwallowsUntilHeal(t *testing.T) {
	for _, p := range []linkdelay.Path{
		{Delay: 50 * ms},
		{Delay: 50 * ms, Rate: 100e6},
		{Delay: 50 * ms, Rate: 100e6, PerConnection: true},
		{Delay: 50 * ms, Congestion: linkdelay.Cubic},
	} {
		eachWay(t, both(p), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
			fmt.Fprint(from, "arrived,")
			time.Sleep(60 * ms)
			fmt.Fprint(from, "in flight,")
			time.Sleep(10 * ms)
			wireOf(network).Cut()
			cut := time.Now()
			fmt.Fprint(from, "new")
			buf := make([]byte, 100)
			n, err := to.Read(buf)
			require.NoError(t, err)
			require.Equal(t, "arrived,", string(buf[:n]), "%+v", p)
			requireQuiet(t, silent(to, 2*time.Second), 2*time.Second)
			wireOf(network).Heal()
			healed := time.Now()
			got := make([]byte, 13)
			_, err = io.ReadFull(to, got)
			require.NoError(t, err)
			require.Equal(t, "in flight,new", string(got))
			require.Greater(t, time.Since(healed), 50*ms)
			require.Less(t, time.Since(cut), 6*time.Second, "timeouts double")
			from.Close()
			_, err = to.Read(buf)
			require.Equal(t, io.EOF, err)
			requireBalance(t, network)
		})
	}
}

func TestCutDelaysFINAndDialling(t *testing.T) {
	eachWay(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
		from.Close()
		time.Sleep(10 * ms)
		wireOf(network).Cut()
		requireQuiet(t, silent(to, time.Second), time.Second)
		ln := listen(t, network.Host("origin.test"), ":80")
		go func() {
			time.Sleep(2500 * ms)
			wireOf(network).Heal()
		}()
		start := time.Now()
		dial(t, network.Host("pc.test"), ln.Addr().String())
		require.Equal(t, 3100*ms, time.Since(start), "the third SYN, after 1 and 2 s")
		_, err := to.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
	})
}

func TestCutWhileDiallingIsAsALostSYN(t *testing.T) {
	for _, at := range []time.Duration{20 * ms, 70 * ms} {
		virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
			listen(t, network.Host("origin.test"), ":80")
			time.AfterFunc(at, wireOf(network).Cut)
			time.AfterFunc(at+ms, wireOf(network).Heal)
			start := time.Now()
			dial(t, network.Host("pc.test"), "origin.test:80")
			require.GreaterOrEqual(t, time.Since(start), 1050*ms, "cut after %v", at)
			require.LessOrEqual(t, time.Since(start), 1100*ms, "cut after %v", at)
		})
	}
}

// A reset is not sent again: the other side never hears of it, until it speaks.
func TestCutLosesAReset(t *testing.T) {
	for _, p := range []linkdelay.Path{{Delay: 50 * ms}, {Delay: 50 * ms, Congestion: linkdelay.Cubic}} {
		for _, early := range []bool{false, true} {
			eachWay(t, both(p), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
				if early {
					wireOf(network).Cut()
				}
				from.(lingerer).SetLinger(0)
				from.Close()
				time.Sleep(10 * ms)
				wireOf(network).Cut()
				wireOf(network).Heal()
				requireQuiet(t, silent(to, time.Hour), time.Hour)
				_, err := to.Write([]byte("still there?"))
				require.NoError(t, err)
				time.Sleep(100 * ms)
				_, err = to.Write([]byte("no"))
				require.ErrorIs(t, err, syscall.EPIPE)
			})
		}
	}
}

// After 15 minutes or so without an answer a connection fails.
func TestCutForGoodTimesOut(t *testing.T) {
	eachWay(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
		wireOf(network).Cut()
		start := time.Now()
		fmt.Fprint(from, "lost")
		_, err := from.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ETIMEDOUT)
		require.InDelta(t, 15.5*60, time.Since(start).Seconds(), 120)
		_, err = from.Write([]byte("more"))
		require.ErrorIs(t, err, syscall.ETIMEDOUT)
	})
}

func TestCutLosesDatagrams(t *testing.T) {
	eachWayUDP(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn) {
		sendText(t, from, to.LocalAddr(), "in flight")
		time.Sleep(10 * ms)
		wireOf(network).Cut()
		sendText(t, from, to.LocalAddr(), "new")
		wireOf(network).Heal()
		sendText(t, from, to.LocalAddr(), "after")
		requireDatagram(t, to, "after")
		stats := wireOf(network).Stats()
		require.EqualValues(t, 2, stats.Up.Datagrams.Dropped[linkdelay.DroppedByCut].Datagrams+stats.Down.Datagrams.Dropped[linkdelay.DroppedByCut].Datagrams)
		requireBalance(t, network)
	})
}

// kubernetes#87615, traefik#8375: existing connections are dead without a word,
// new ones work.
func TestForgetStrandsWhatIsOpen(t *testing.T) {
	for _, p := range []linkdelay.Path{{Delay: 50 * ms}, {Delay: 50 * ms, Rate: 1e6}, {Delay: 50 * ms, Loss: 0.01}} {
		eachWay(t, both(p), func(t *testing.T, network *linkdelay.Network, from, to net.Conn) {
			from.Write(make([]byte, 50_000))
			time.Sleep(10 * ms)
			wireOf(network).Forget()
			fmt.Fprint(from, "new")
			from.Close()
			to.Write([]byte("back"))
			requireQuiet(t, silent(to, time.Hour), time.Hour)
			near, far := pairIn(t, network)
			go io.Copy(far, far)
			require.Equal(t, "hello", echoed(t, near, "hello"))
			requireBalance(t, network)
		})
	}
}

func TestForgetStrandsSockets(t *testing.T) {
	eachWayUDP(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn) {
		sendText(t, from, to.LocalAddr(), "in flight")
		wireOf(network).Forget()
		sendText(t, from, to.LocalAddr(), "new")
		requireQuiet(t, silentUDP(to, time.Hour), time.Hour)
		other := socket(t, network.Host("pc.test"), ":0")
		sendText(t, other, text("origin.test:443"), "passes")
		for _, f := range wireOf(network).Stats().Flows[1:] {
			require.EqualValues(t, 1, f.Up.In.Datagrams)
		}
		requireBalance(t, network)
	})
}

func TestAbortResetsBothSides(t *testing.T) {
	for _, p := range []linkdelay.Path{{Delay: 50 * ms}, {Delay: 50 * ms, Rate: 1e6}, {Delay: 50 * ms, Loss: 0.01}} {
		virtual(t, both(p), func(t *testing.T, network *linkdelay.Network) {
			near, far := pairIn(t, network)
			near.Write([]byte("arrived"))
			time.Sleep(300 * ms)
			far.Write([]byte("lost"))
			start := time.Now()
			wireOf(network).Abort()
			got, err := io.ReadAll(far)
			require.ErrorIs(t, err, syscall.ECONNRESET)
			require.Equal(t, "arrived", string(got))
			for _, c := range []net.Conn{near, far} {
				n, err := c.Read(make([]byte, 10))
				require.Zero(t, n)
				require.ErrorIs(t, err, syscall.ECONNRESET)
				_, err = c.Write([]byte("x"))
				require.ErrorIs(t, err, syscall.ECONNRESET)
				require.NoError(t, c.Close())
			}
			require.Equal(t, start, time.Now())
			near, far = pairIn(t, network)
			go io.Copy(far, far)
			require.Equal(t, "hello", echoed(t, near, "hello"))
			require.Equal(t, 1, wireOf(network).Stats().Open("tcp"))
			requireBalance(t, network)
		})
	}
}

func TestPauseHoldsOneDirection(t *testing.T) {
	for _, p := range []linkdelay.Path{
		{Delay: 50 * ms}, {Delay: 50 * ms, Rate: 10e6}, {Delay: 50 * ms, Congestion: linkdelay.Reno},
	} {
		virtual(t, both(p), func(t *testing.T, network *linkdelay.Network) {
			near, far := pairIn(t, network)
			fmt.Fprint(near, "1")
			time.Sleep(20 * ms)
			wireOf(network).Pause(linkdelay.Up)
			fmt.Fprint(near, "2")
			near.(halfCloser).CloseWrite()
			fmt.Fprint(far, "back")
			got := make([]byte, 4)
			_, err := io.ReadFull(near, got)
			require.NoError(t, err)
			requireQuiet(t, silent(far, time.Minute), time.Minute)
			start := time.Now()
			wireOf(network).Resume(linkdelay.Up)
			all, err := io.ReadAll(far)
			require.NoError(t, err)
			require.Equal(t, "12", string(all))
			require.Equal(t, start, time.Now())
			requireBalance(t, network)
		})
	}
}

func TestPauseHoldsDatagrams(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		sendText(t, near, far.LocalAddr(), "0")
		time.Sleep(60 * ms)
		sendText(t, near, far.LocalAddr(), "1")
		time.Sleep(20 * ms)
		wireOf(network).Pause(linkdelay.Up)
		sendText(t, near, far.LocalAddr(), "2")
		requireDatagram(t, far, "0")
		requireQuiet(t, silentUDP(far, time.Minute), time.Minute)
		sendText(t, near, far.LocalAddr(), "3")
		require.EqualValues(t, 3, wireOf(network).Stats().Up.Datagrams.InFlight.Datagrams)
		start := time.Now()
		wireOf(network).Resume(linkdelay.Up)
		requireDatagram(t, far, "1")
		requireDatagram(t, far, "2")
		require.Equal(t, start, time.Now())
		requireDatagram(t, far, "3")
		require.Equal(t, 50*ms, time.Since(start))
		requireBalance(t, network)
	})
}

func TestBlockUDPLetsTCPPass(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		pc, origin := socketsIn(t, network)
		sendText(t, pc, origin.LocalAddr(), "on its way")
		wireOf(network).BlockUDP()
		sendText(t, pc, origin.LocalAddr(), "lost")
		sendText(t, origin, pc.LocalAddr(), "lost")
		requireDatagram(t, origin, "on its way")
		go io.Copy(far, far)
		require.Equal(t, "hello", echoed(t, near, "hello"))
		wireOf(network).Heal()
		sendText(t, pc, origin.LocalAddr(), "passes")
		requireDatagram(t, origin, "passes")
		requireBalance(t, network)
	})
}

func TestBlockAfterACount(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		pc, origin := socketsIn(t, network)
		wireOf(network).BlockAfter(linkdelay.Count{Datagrams: 3})
		for i := range 5 {
			sendText(t, pc, origin.LocalAddr(), fmt.Sprint(i))
		}
		for i := range 3 {
			requireDatagram(t, origin, fmt.Sprint(i))
		}
		requireQuiet(t, silentUDP(origin, time.Second), time.Second)
		wireOf(network).Heal()

		wireOf(network).BlockAfter(linkdelay.Count{Bytes: 8})
		fmt.Fprint(near, "0123456789")
		got := make([]byte, 10)
		start := time.Now()
		_, err := io.ReadFull(far, got[:8])
		require.NoError(t, err)
		require.Equal(t, 50*ms, time.Since(start))
		requireQuiet(t, silent(far, time.Second), time.Second)
		wireOf(network).Heal()
		_, err = io.ReadFull(far, got[8:])
		require.NoError(t, err)
		require.Equal(t, "0123456789", string(got))
		requireBalance(t, network)
	})
}

func TestRebindChangesTheSourcePort(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		sendText(t, near, far.LocalAddr(), "1")
		first := requireDatagram(t, far, "1")
		require.Equal(t, near.LocalAddr().String(), first.String())
		for range 3 {
			wireOf(network).Rebind()
			sendText(t, far, first, "to nobody")
			sendText(t, near, far.LocalAddr(), "2")
			second := requireDatagram(t, far, "2")
			require.NotEqual(t, first.String(), second.String())
			require.Equal(t, "pc.test", second.(*linkdelay.Addr).Host())
			sendText(t, far, second, "3")
			from := requireDatagram(t, near, "3")
			require.Equal(t, "origin.test:443", from.String())
			first = second
		}
		require.EqualValues(t, 3, wireOf(network).Stats().Down.Datagrams.Dropped[linkdelay.DroppedByRebind].Datagrams)
		requireBalance(t, network)
	})
}

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
		var ended []chan struct{}
		start := func(do func()) {
			done := make(chan struct{})
			ended = append(ended, done)
			go func() { defer close(done); do() }()
		}
		for range 4 {
			near, far := pairIn(t, network)
			want := noise(500_000)
			start(func() {
				for i := 0; i < len(want); i += 5000 {
					near.Write(want[i : i+5000])
					time.Sleep(5 * ms)
				}
				near.Close()
			})
			start(func() {
				got, err := io.ReadAll(far)
				assert.NoError(t, err)
				assert.Equal(t, len(want), len(got))
				assert.Equal(t, want, got)
				far.Close()
			})
		}
		near, far := socketsIn(t, network)
		start(func() {
			for ctx.Err() == nil {
				near.WriteTo(make([]byte, 1200), far.LocalAddr())
				time.Sleep(ms)
			}
		})
		start(func() {
			for ctx.Err() == nil {
				far.SetReadDeadline(time.Now().Add(10 * ms))
				far.ReadFrom(make([]byte, 2000))
			}
		})
		start(func() { wire.WaitFor(ctx, func(linkdelay.Stats) bool { return false }) })
		for i := range 200 {
			wire.SetLink(linkdelay.Link{Up: paths[i*5%len(paths)], Down: paths[i*3%len(paths)], Seed: uint64(i)})
			time.Sleep(3 * ms)
			switch i % 10 {
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
			requireBalance(t, network)
		}
		wire.Heal()
		wire.SetLink(linkdelay.RTT(20 * ms))
		for _, done := range ended[:8] {
			<-done
		}
		cancel()
		for _, done := range ended[8:] {
			<-done
		}
		requireBalance(t, network)
	})
}
