package linkdelay_test

import (
	"context"
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

// carried is a link with a connection on it, and the means to make another.
type carried struct {
	wire      *linkdelay.Wire
	near, far net.Conn
	connect   func() (near, far net.Conn)
}

// eachCarrier runs body with everything that carries a link: a Network in
// memory and on loopback, a relay and a wrapper.
func eachCarrier(t *testing.T, link linkdelay.Link, body func(t *testing.T, s *carried)) {
	t.Helper()
	run := func(t *testing.T, wire *linkdelay.Wire, connect func() (near, far net.Conn)) {
		s := &carried{wire: wire, connect: connect}
		s.near, s.far = connect()
		body(t, s)
	}
	linkdelay.EachWorld(t, link, func(t *testing.T, network *linkdelay.Network) {
		run(t, network.Wire("pc.test", "origin.test"), func() (near, far net.Conn) { return pairIn(t, network) })
	})
	t.Run("relay", func(t *testing.T) {
		ln := listenReal(t)
		relay := linkdelay.NewTCP(t, ln.Addr().String(), link)
		run(t, relay.Wire, func() (near, far net.Conn) { return connectThrough(t, relay, ln) })
	})
	t.Run("wrapper", func(t *testing.T) {
		w := linkdelay.NewWrapper(t, link)
		run(t, w.Wire, func() (near, far net.Conn) {
			near, far, err := wrapped["a dialled connection"](w)
			require.NoError(t, err)
			t.Cleanup(func() { far.Close() })
			return near, far
		})
	})
}

// requireNothingComes gives what must not come 100 ms to come all the same.
func requireNothingComes(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(100*ms)))
	n, err := c.Read(make([]byte, 1))
	require.Zero(t, n)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Time{}))
}

func requirePasses(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	_, err := from.Write([]byte(text))
	require.NoError(t, err)
	requireRead(t, to, text)
}

func requireRead(t *testing.T, c net.Conn, text string) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	buf := make([]byte, len(text))
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	require.Equal(t, text, string(buf))
	require.NoError(t, c.SetReadDeadline(time.Time{}))
}

func TestCutOnEveryCarrier(t *testing.T) {
	eachCarrier(t, linkdelay.RTT(4*ms), func(t *testing.T, s *carried) {
		requirePasses(t, s.near, s.far, "before")
		s.wire.Cut()
		s.near.Write([]byte("during"))
		requireNothingComes(t, s.far)
		s.wire.Heal()
		requireRead(t, s.far, "during")
		requirePasses(t, s.far, s.near, "after")
	})
}

// kubernetes#87615, traefik#8375: what exists dies in silence, what is new works.
func TestForgetOnEveryCarrier(t *testing.T) {
	eachCarrier(t, linkdelay.RTT(4*ms), func(t *testing.T, s *carried) {
		requirePasses(t, s.near, s.far, "before")
		s.wire.Forget()
		s.near.Write([]byte("into the hole"))
		s.far.Write([]byte("into the hole"))
		requireNothingComes(t, s.far)
		requireNothingComes(t, s.near)
		near, far := s.connect()
		requirePasses(t, near, far, "new")
		requirePasses(t, far, near, "as well")
		s.near.Close()
		requireNothingComes(t, s.far)
	})
}

func TestAbortOnEveryCarrier(t *testing.T) {
	eachCarrier(t, linkdelay.RTT(4*ms), func(t *testing.T, s *carried) {
		requirePasses(t, s.near, s.far, "before")
		s.wire.Abort()
		for _, c := range []net.Conn{s.near, s.far} {
			_, err := io.ReadAll(c)
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}
		near, far := s.connect()
		requirePasses(t, near, far, "new")
	})
}

func TestPauseOnEveryCarrier(t *testing.T) {
	for _, link := range []linkdelay.Link{{}, linkdelay.RTT(4 * ms)} {
		eachCarrier(t, link, func(t *testing.T, s *carried) {
			requirePasses(t, s.near, s.far, "before")
			s.wire.Pause(linkdelay.Up)
			s.near.Write([]byte("held"))
			requirePasses(t, s.far, s.near, "passes")
			requireNothingComes(t, s.far)
			s.wire.Resume(linkdelay.Up)
			requireRead(t, s.far, "held")
		})
	}
}

// toxiproxy#159, #210: changes hung. None does, and no byte is lost by one.
func TestLinkChangesUnderTraffic(t *testing.T) {
	eachCarrier(t, linkdelay.Link{}, func(t *testing.T, s *carried) {
		const size = 1 << 20
		var wg sync.WaitGroup
		for _, way := range [][2]net.Conn{{s.near, s.far}, {s.far, s.near}} {
			carry(t, &wg, "link changes", way, noise(size), 4096, 100*us)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			wg.Wait()
		}()
		links := []linkdelay.Link{{}, linkdelay.RTT(2 * ms), {Up: linkdelay.Path{Rate: 1e9}}, linkdelay.RTT(10 * ms), {}}
		for i := 0; ; i++ {
			select {
			case <-done:
				require.Zero(t, s.wire.Stats().Up.Streams.Missing())
				return
			case <-time.After(5 * ms):
			}
			s.wire.SetLink(links[i%len(links)])
			if i%7 == 3 {
				s.wire.Pause(linkdelay.Down)
				s.wire.Resume(linkdelay.Down)
			}
		}
	})
}

func TestStatsOfSocketsAddUp(t *testing.T) {
	eachCarrier(t, linkdelay.RTT(4*ms), func(t *testing.T, s *carried) {
		requirePasses(t, s.near, s.far, "hello")
		requirePasses(t, s.far, s.near, "hello, too")
		stats := s.wire.Stats()
		require.Equal(t, 1, stats.Open("tcp"))
		require.Equal(t, linkdelay.Count{Bytes: 5}, stats.Up.Streams.Delivered)
		require.Equal(t, linkdelay.Count{Bytes: 10}, stats.Down.Streams.Delivered)
		require.Zero(t, stats.Up.Streams.Missing())
		s.near.Close()
		s.far.Close()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, s.wire.WaitFor(ctx, func(s linkdelay.Stats) bool { return s.Open("tcp") == 0 }))
	})
}

func TestUDPOnSocketsIsBlockedAndCounted(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	relay := linkdelay.NewUDP(t, target.LocalAddr().String(), linkdelay.RTT(4*ms))
	client := relayedSocket(t, relay)
	say(t, client, target, "before")
	relay.BlockUDP()
	client.Write([]byte("lost"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, relay.WaitFor(ctx, linkdelay.Dropped(linkdelay.DroppedByBlock, 1)))
	relay.Heal()
	say(t, client, target, "after")

	narrow := linkdelay.RTT(4 * ms)
	narrow.Up.MaxDatagram = 1200
	relay.SetLink(narrow)
	client.Write(make([]byte, 1350))
	require.NoError(t, relay.WaitFor(ctx, linkdelay.DroppedOver(1300)))
	say(t, client, target, "small ones pass")

	relay.Forget()
	client.Write([]byte("stranded"))
	say(t, relayedSocket(t, relay), target, "from a new socket")
	stats := relay.Stats()
	require.Zero(t, stats.Up.Datagrams.Missing())
	require.EqualValues(t, 4, stats.Up.Datagrams.Delivered.Datagrams)
	require.EqualValues(t, 1, stats.Up.Datagrams.Dropped[linkdelay.DroppedForgotten].Datagrams)
}
