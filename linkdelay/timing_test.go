package linkdelay_test

import (
	"context"
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

func TestDialTakesOneRoundTripAndAcceptHalfMore(t *testing.T) {
	virtual(t, lopsided(30*ms, 70*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := ln.Accept()
			assert.NoError(t, err)
			assert.Equal(t, 130*ms, time.Since(start), "accepted")
		})
		dial(t, network.Host("pc.test"), "origin.test:443")
		require.Equal(t, 100*ms, time.Since(start), "dialled")
		wg.Wait()
	})
}

func TestRequestAndAnswerTakeOneRoundTrip(t *testing.T) {
	virtual(t, lopsided(30*ms, 70*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		go io.Copy(far, far)
		for range 3 {
			start := time.Now()
			echoed(t, near, "ping")
			require.Equal(t, 100*ms, time.Since(start))
		}
	})
}

// toxiproxy#67: latency capped bandwidth, because each chunk waited its turn.
func TestBulkTakesOneDelay(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		start := time.Now()
		for range 1000 {
			near.Write(make([]byte, 16<<10))
		}
		near.Close()
		n, err := io.Copy(io.Discard, far)
		require.NoError(t, err)
		require.EqualValues(t, 1000*16<<10, n)
		require.Equal(t, 50*ms, time.Since(start))
	})
}

// Messages 20 ms apart arrived after 200, 180, 160 … ms over two toxiproxies.
func TestMessagesArriveOneDelayLaterEach(t *testing.T) {
	virtual(t, linkdelay.RTT(200*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		requirePace(t, near, far, 100*ms)
	})
}

func TestTwoHopsTakeTwoDelays(t *testing.T) {
	virtual(t, linkdelay.RTT(200*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		middle := listen(t, network.Host("proxy.test"), ":80")
		go forward(t, middle, network.Host("proxy.test"), "origin.test:443")
		near := dial(t, network.Host("pc.test"), "proxy.test:80")
		requirePace(t, near, accept(t, ln), 200*ms)
	})
}

// forward copies the first connection of ln to an address.
func forward(t *testing.T, ln net.Listener, from *linkdelay.Host, to string) {
	in, err := ln.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	out, err := from.DialContext(context.Background(), "tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	io.Copy(out, in)
	out.Close()
}

// requirePace sends messages 20 ms apart: each takes its delay, no more, no
// less, and so does the end.
func requirePace(t *testing.T, near, far net.Conn, delay time.Duration) {
	t.Helper()
	start := time.Now()
	go func() {
		for i := range 20 {
			fmt.Fprintf(near, "%04d", i)
			time.Sleep(20 * ms)
		}
		near.Close()
	}()
	buf := make([]byte, 64)
	for i := range 20 {
		n, err := far.Read(buf)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%04d", i), string(buf[:n]), "message %d", i)
		require.Equal(t, delay+time.Duration(i)*20*ms, time.Since(start), "message %d", i)
	}
	_, err := far.Read(buf)
	require.Equal(t, io.EOF, err)
	require.Equal(t, delay+400*ms, time.Since(start), "the end")
}

func TestWritesOfOneInstantKeepTheirOrder(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		start := time.Now()
		var mu sync.Mutex
		var wg sync.WaitGroup
		next := 0
		for range 1000 {
			wg.Go(func() {
				mu.Lock() // nothing blocks under it
				defer mu.Unlock()
				fmt.Fprintf(near, "%04d", next)
				next++
			})
		}
		wg.Wait()
		buf := make([]byte, 4)
		for i := range 1000 {
			_, err := io.ReadFull(far, buf)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%04d", i), string(buf))
		}
		require.Equal(t, 50*ms, time.Since(start))
	})
}

func TestConcurrentWritesAreNotMixed(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		for i := range 1000 {
			go fmt.Fprintf(near, "%04d%04d", i, i)
		}
		seen := make(map[string]bool)
		buf := make([]byte, 8)
		for range 1000 {
			_, err := io.ReadFull(far, buf)
			require.NoError(t, err)
			require.Equal(t, string(buf[:4]), string(buf[4:]))
			seen[string(buf)] = true
		}
		require.Len(t, seen, 1000)
	})
}

func TestAHostTalksToItselfAtOnce(t *testing.T) {
	for _, self := range []string{"origin.test", "localhost", "127.0.0.1", "127.1.2.3", "[::1]", "", "0.0.0.0"} {
		linkdelay.EachWorld(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
			host := network.Host("origin.test")
			ln := listen(t, host, ":443")
			start := time.Now()
			near := dial(t, host, self+":443")
			far := accept(t, ln)
			go io.Copy(far, far)
			require.Equal(t, "hello", echoed(t, near, "hello"), self)
			if isVirtual() {
				require.Zero(t, time.Since(start), self)
				require.Equal(t, "origin.test:443", near.RemoteAddr().String(), self)
			}
		})
	}
}

func TestThousandConnectionsLeaveNothing(t *testing.T) {
	checkLeaks(t)
	virtual(t, linkdelay.RTT(20*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		go serveEchoes(ln)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				conn, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
				if !assert.NoError(t, err) {
					return
				}
				conn.Write([]byte("hello"))
				_, err = io.ReadFull(conn, make([]byte, 5))
				assert.NoError(t, err)
				assert.NoError(t, conn.Close())
			})
		}
		wg.Wait()
		time.Sleep(10 * ms) // the last FIN
		synctest.Wait()
		require.Equal(t, 1, network.Open(), "only the listener is open")
	})
}

func TestConnectionsWorkInRealTime(t *testing.T) {
	checkLeaks(t)
	network, err := linkdelay.StartNetwork(linkdelay.RTT(10 * ms))
	require.NoError(t, err)
	start := time.Now()
	near, far := pairIn(t, network)
	go io.Copy(far, far)
	require.Equal(t, "hello", echoed(t, near, "hello"))
	require.GreaterOrEqual(t, time.Since(start), 20*ms)
	require.NoError(t, network.Close())
}
