package linkdelay_test

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

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
