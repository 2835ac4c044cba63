package linkdelay_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"example.com/wiretest/linkdelay"
)

// listenReal listens on a socket of the kernel, without a Network.
func listenReal(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

// relayedPair connects through a new relay.
func relayedPair(t testing.TB, link linkdelay.Link, options ...linkdelay.RelayOption) (near, far *net.TCPConn, relay *linkdelay.Relay) {
	t.Helper()
	ln := listenReal(t)
	relay = linkdelay.NewTCP(t, ln.Addr().String(), link, options...)
	near, far = connectThrough(t, relay, ln)
	return near, far, relay
}

func connectThrough(t testing.TB, relay *linkdelay.Relay, ln net.Listener) (near, far *net.TCPConn) {
	t.Helper()
	conn, err := relay.DialContext(t.Context(), "tcp", "ignored.test:443")
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	accepted := accept(t, ln)
	t.Cleanup(func() { accepted.Close() })
	return conn.(*net.TCPConn), accepted.(*net.TCPConn)
}

// eachRelay runs body with delay and without.
func eachRelay(t *testing.T, body func(t *testing.T, near, far *net.TCPConn)) {
	for name, link := range map[string]linkdelay.Link{"no delay": {}, "10 ms each way": linkdelay.RTT(20 * ms)} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			near, far, _ := relayedPair(t, link)
			body(t, near, far)
		})
	}
}

func TestRelayedConnsConform(t *testing.T) {
	checkLeaks(t)
	for name, link := range map[string]linkdelay.Link{
		"no delay": {}, "1 ms": linkdelay.RTT(2 * ms),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) { return relayPipe(link) })
		})
	}
}

func relayPipe(link linkdelay.Link) (near, far net.Conn, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, nil, err
	}
	defer ln.Close()
	relay, err := linkdelay.StartTCP(ln.Addr().String(), link)
	if err != nil {
		return nil, nil, nil, err
	}
	if near, err = relay.DialContext(context.Background(), "tcp", ""); err != nil {
		return nil, nil, nil, err
	}
	if far, err = ln.Accept(); err != nil {
		return nil, nil, nil, err
	}
	return near, far, func() { near.Close(); far.Close(); relay.Close() }, nil
}

func TestRelayCarriesBothDirectionsWhole(t *testing.T) {
	eachRelay(t, func(t *testing.T, near, far *net.TCPConn) {
		want := noise(8 << 20)
		var wg sync.WaitGroup
		for _, way := range [][2]*net.TCPConn{{near, far}, {far, near}} {
			wg.Go(func() {
				way[0].Write(want)
				way[0].CloseWrite()
			})
			wg.Go(func() {
				got, err := io.ReadAll(way[1])
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(want, got), "%d bytes are as they were sent", len(got))
			})
		}
		wg.Wait()
	})
}

// Delay holds each byte back from its arrival on, FIN included.
func TestRelayDelaysDataAndFIN(t *testing.T) {
	near, far, _ := relayedPair(t, lopsided(30*ms, 70*ms))
	for _, c := range []struct {
		from, to *net.TCPConn
		delay    time.Duration
	}{{near, far, 30 * ms}, {far, near, 70 * ms}} {
		start := time.Now()
		c.from.Write([]byte("x"))
		_, err := io.ReadFull(c.to, make([]byte, 1))
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), c.delay)

		start = time.Now()
		c.from.CloseWrite()
		_, err = c.to.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		require.GreaterOrEqual(t, time.Since(start), c.delay)
	}
}

// toxiproxy#148: the first connections escaped.
func TestRelayDelaysTheFirstConnection(t *testing.T) {
	ln := listenReal(t)
	relay := linkdelay.NewTCP(t, ln.Addr().String(), linkdelay.RTT(100*ms))
	start := time.Now()
	near, far := connectThrough(t, relay, ln)
	go io.Copy(far, far)
	require.Equal(t, "hello", echoed(t, near, "hello"))
	require.GreaterOrEqual(t, time.Since(start), 100*ms)
}

// A connect that the kernel completes at once is made up for.
func TestRelayWithHandshakesCostsTheirTime(t *testing.T) {
	ln := listenReal(t)
	relay := linkdelay.NewTCP(t, ln.Addr().String(), linkdelay.RTT(60*ms), linkdelay.Handshakes())
	start := time.Now()
	near, far := connectThrough(t, relay, ln)
	far.Write([]byte("greeting")) // of a server that speaks first
	near.Write([]byte("x"))
	_, err := io.ReadFull(far, make([]byte, 1))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 90*ms)
	_, err = io.ReadFull(near, make([]byte, 8))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(start), 120*ms)
}

// moby#27539, envoy#2067.
func TestRelayHalfClosesOneDirection(t *testing.T) {
	eachRelay(t, func(t *testing.T, near, far *net.TCPConn) {
		near.Write([]byte("question"))
		require.NoError(t, near.CloseWrite())
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "question", string(got))
		for range 3 {
			far.Write([]byte("answer"))
			_, err := io.ReadFull(near, make([]byte, 6))
			require.NoError(t, err)
		}
		require.NoError(t, far.CloseWrite())
		_, err = near.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
	})
}

// envoy#44148: a reset became FIN.
func TestRelayPassesResetsBothWays(t *testing.T) {
	eachRelay(t, func(t *testing.T, near, far *net.TCPConn) { requireReset(t, near, far) })
	eachRelay(t, func(t *testing.T, near, far *net.TCPConn) { requireReset(t, far, near) })
}

func requireReset(t *testing.T, from, to *net.TCPConn) {
	t.Helper()
	from.Write([]byte("last words"))
	buf := make([]byte, 10)
	_, err := io.ReadFull(to, buf)
	require.NoError(t, err)
	from.SetLinger(0)
	from.Close()
	_, err = to.Read(buf)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = to.Write(buf)
	require.Error(t, err)
}

// envoy#45190: a reset discarded the answer before it.
func TestRelayDeliversAnAnswerOfASideThatClosesEarly(t *testing.T) {
	eachRelay(t, func(t *testing.T, near, far *net.TCPConn) {
		near.Write(noise(1 << 20)) // an upload that the target does not read
		far.Write([]byte("413 too large"))
		far.Close() // unread bytes make the kernel send a reset
		buf := make([]byte, 13)
		_, err := io.ReadFull(near, buf)
		require.NoError(t, err)
		require.Equal(t, "413 too large", string(buf))
	})
}

// What the side that resets had sent may still wait in the relay's socket.
func TestRelayDeliversWhatCameBeforeAReset(t *testing.T) {
	checkLeaks(t)
	link := linkdelay.RTT(20 * ms)
	link.Down.Buffer = 8 << 10
	near, far, relay := relayedPair(t, link)
	requirePasses(t, near, far, "connected")
	near.Write(noise(64 << 10)) // unread, so that far's close is a reset
	far.Write(noise(48 << 10))
	_, err := io.ReadFull(far, make([]byte, 1))
	require.NoError(t, err)
	far.Close()
	near.Write([]byte("x"))
	got, err := io.ReadAll(near)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.Len(t, got, 48<<10)
	require.Eventually(t, func() bool { return relay.Running() == 1 }, patience, ms)
}

func TestRelayDeliversAllBeforeACleanClose(t *testing.T) {
	eachRelay(t, func(t *testing.T, near, far *net.TCPConn) {
		near.Write(noise(256 << 10))
		near.Close()
		time.Sleep(30 * ms) // both sides are gone but for the bytes
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Len(t, got, 256<<10)
	})
}

func TestRelayOfATargetThatRefusesResets(t *testing.T) {
	checkLeaks(t)
	ln := listenReal(t)
	ln.Close()
	relay := linkdelay.NewTCP(t, ln.Addr().String(), linkdelay.RTT(20*ms))
	start := time.Now()
	conn, err := relay.DialContext(t.Context(), "tcp", "")
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.GreaterOrEqual(t, time.Since(start), 20*ms)
}

// go#33425: the writer is held back, and what is kept does not grow: the 4 MiB
// that may wait, and with a delay what is in flight.
func TestRelayHoldsBackWhoWritesToAReaderThatStopped(t *testing.T) {
	for _, rtt := range []time.Duration{0, 20 * ms} {
		near, far, relay := relayedPair(t, linkdelay.RTT(rtt))
		near.SetWriteDeadline(time.Now().Add(500 * ms))
		n, err := io.Copy(struct{ io.Writer }{near}, endless{})
		assertTimeout(t, err)
		held := relay.Held()
		require.Less(t, held, 100<<20, "of %d bytes that were written", n)
		if rtt == 0 {
			require.LessOrEqual(t, held, 4<<20, "of %d bytes that were written", n)
		}
		near.CloseWrite()
		got, err := io.Copy(io.Discard, far)
		require.NoError(t, err)
		require.Equal(t, n, got, "all of it arrives in the end")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestRelayCloseEndsEverything(t *testing.T) {
	checkLeaks(t)
	near, far, relay := relayedPair(t, linkdelay.RTT(100*ms))
	requirePasses(t, near, far, "connected")
	near.Write(noise(1 << 20))
	require.NoError(t, relay.Close())
	require.NoError(t, relay.Close(), "closing again does nothing")
	for _, c := range []net.Conn{near, far} {
		_, err := io.Copy(io.Discard, c)
		require.ErrorIs(t, err, syscall.ECONNRESET)
	}
	_, err := relay.DialContext(t.Context(), "tcp", "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestRelayLeavesNothingOfThousandConnections(t *testing.T) {
	checkLeaks(t)
	ln := listenReal(t)
	go serveEchoes(ln)
	relay := linkdelay.NewTCP(t, ln.Addr().String(), linkdelay.RTT(10*ms))
	for range 10 {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				conn, err := relay.DialContext(t.Context(), "tcp", "")
				if !assert.NoError(t, err) {
					return
				}
				conn.Write([]byte("hello"))
				_, err = io.ReadFull(conn, make([]byte, 5))
				assert.NoError(t, err)
				conn.Close()
			})
		}
		wg.Wait()
	}
	require.Eventually(t, func() bool { return relay.Running() == 1 }, patience, ms, "only the listener is left")
}

func TestRelayListensWhereItIsTold(t *testing.T) {
	ln := listenReal(t)
	first := linkdelay.NewTCP(t, ln.Addr().String(), linkdelay.Link{})
	host, port, _ := net.SplitHostPort(first.Addr)
	require.Equal(t, "127.0.0.1", host)
	second := linkdelay.NewUDP(t, ln.Addr().String(), linkdelay.Link{}, linkdelay.ListenOn(":"+port))
	require.Equal(t, first.Addr, second.Addr, "one number for TCP and UDP")
	_, err := linkdelay.StartTCP(ln.Addr().String(), linkdelay.Link{}, linkdelay.ListenOn(first.Addr))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}

func TestMistakenRelaysAreRefused(t *testing.T) {
	good := "127.0.0.1:1"
	for _, c := range []struct {
		target string
		link   linkdelay.Link
		option linkdelay.RelayOption
		text   string
	}{
		{good, lopsided(-ms, 0), linkdelay.ListenOn(":0"), "linkdelay: Link.Up.Delay: -1ms is negative"},
		{"nonsense", linkdelay.Link{}, linkdelay.ListenOn(":0"), "linkdelay: TCP relay: target: address nonsense: missing port in address"},
		{"127.0.0.1:0", linkdelay.Link{}, linkdelay.ListenOn(":0"), `linkdelay: TCP relay: target: "127.0.0.1:0": port "0" is not a number from 1 to 65535`},
		{":80", linkdelay.Link{}, linkdelay.ListenOn(":0"), `linkdelay: TCP relay: target: ":80": has no host`},
		{good, linkdelay.Link{}, linkdelay.ListenOn("x"), "linkdelay: TCP relay: ListenOn: address x: missing port in address"},
		{good, linkdelay.Link{}, linkdelay.ListenOn("shop.test:0"), `linkdelay: TCP relay: ListenOn: "shop.test:0": "shop.test" is not an IP address`},
		{good, linkdelay.Link{}, linkdelay.ListenOn("127.0.0.1:http"), `linkdelay: TCP relay: ListenOn: "127.0.0.1:http": port "http" is not a number from 0 to 65535`},
		{good, linkdelay.Link{}, linkdelay.BindingTimeout(0), "linkdelay: TCP relay: BindingTimeout: 0s is not positive"},
	} {
		_, err := linkdelay.StartTCP(c.target, c.link, c.option)
		require.EqualError(t, err, c.text)
	}
	relay := linkdelay.NewTCP(t, good, linkdelay.Link{})
	_, err := relay.DialContext(t.Context(), "udp", "")
	require.ErrorContains(t, err, "carries no UDP")
	tb := &fakeTB{TB: t}
	require.True(t, tb.fails(func() { linkdelay.NewTCP(tb, "nonsense", linkdelay.Link{}) }))
}
