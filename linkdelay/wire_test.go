package linkdelay_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
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

// TestTheSmallestBuffers: a writer goes on when a reader has made room.
func TestTheSmallestBuffers(t *testing.T) {
	for size := 1; size <= 4; size++ {
		virtual(t, both(linkdelay.Path{Delay: 50 * ms, Buffer: size}), func(t *testing.T, network *linkdelay.Network) {
			near, far := pairIn(t, network)
			near.SetWriteDeadline(time.Now().Add(time.Hour))
			var wg sync.WaitGroup
			wg.Go(func() {
				fmt.Fprint(near, "one by one")
				near.(halfCloser).CloseWrite()
			})
			all, err := io.ReadAll(far)
			wg.Wait()
			require.NoError(t, err)
			require.Equal(t, "one by one", string(all), "Buffer: %d", size)
		})
	}
}

// What a pause holds is on its way still, and so is the end behind it.
func TestWhatComesOverTheEndThatAPauseHolds(t *testing.T) {
	for _, p := range []linkdelay.Path{
		{Delay: 50 * ms}, {Delay: 50 * ms, Rate: 10e6}, {Delay: 50 * ms, Congestion: linkdelay.Reno},
	} {
		for name, c := range map[string]struct {
			comes func(*linkdelay.Wire)
			want  string
			err   error
		}{
			"cut":    {func(w *linkdelay.Wire) { w.Cut(); w.Heal() }, "held", nil},
			"forget": {(*linkdelay.Wire).Forget, "", os.ErrDeadlineExceeded},
			"abort":  {(*linkdelay.Wire).Abort, "", syscall.ECONNRESET},
		} {
			virtual(t, both(p), func(t *testing.T, network *linkdelay.Network) {
				near, far := pairIn(t, network)
				wireOf(network).Pause(linkdelay.Up)
				fmt.Fprint(near, "held")
				near.(halfCloser).CloseWrite()
				time.Sleep(time.Second)
				c.comes(wireOf(network))
				wireOf(network).Resume(linkdelay.Up)
				far.SetReadDeadline(time.Now().Add(time.Minute))
				all, err := io.ReadAll(far)
				require.ErrorIs(t, err, c.err, "%s, %+v", name, p)
				require.Equal(t, c.want, string(all), "%s, %+v", name, p)
				requireBalance(t, network)
			})
		}
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
