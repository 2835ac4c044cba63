package linkdelay_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

type halfCloser interface{ CloseWrite() error }

type lingerer interface{ SetLinger(sec int) error }

// On toxiproxy an EOF 20 ms after the data arrived together with it.
func TestFINTravelsLikeData(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		start := time.Now()
		near.Write([]byte("hello"))
		time.Sleep(20 * ms)
		require.NoError(t, near.Close())
		buf := make([]byte, 64)
		n, err := far.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "hello", string(buf[:n]))
		require.Equal(t, 50*ms, time.Since(start), "data")
		for range 2 {
			n, err = far.Read(buf)
			require.Zero(t, n)
			require.Equal(t, io.EOF, err)
			require.Equal(t, 70*ms, time.Since(start), "end")
		}
	})
}

// go#18401, grpc-go#1739: what was written must be readable after Close.
func TestDataIsReadableLongAfterTheWriterClosed(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		near.Write(noise(1 << 20))
		near.Close()
		time.Sleep(time.Hour)
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, noise(1<<20), got)
	})
}

// moby#27539, envoy#2067: a half-close killed the other direction.
func TestHalfCloseEndsOneDirection(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		near.Write([]byte("question"))
		require.NoError(t, near.(halfCloser).CloseWrite())
		_, err := near.Write([]byte("more"))
		require.ErrorIs(t, err, syscall.EPIPE)

		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "question", string(got))
		far.Write([]byte("answer"))
		require.NoError(t, far.Close())

		got, err = io.ReadAll(near)
		require.NoError(t, err)
		require.Equal(t, "answer", string(got))
		require.NoError(t, near.Close())
	})
}

func TestWritesToAClosedPeerBreakOneRoundTripLater(t *testing.T) {
	virtual(t, lopsided(30*ms, 70*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		require.NoError(t, far.Close())
		_, err := near.Write([]byte("into the void")) // nobody knows yet
		require.NoError(t, err)
		time.Sleep(100*ms - 1)
		_, err = near.Write([]byte("x"))
		require.NoError(t, err, "the reset is on its way")
		time.Sleep(1)
		_, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		_, err = near.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err, "FIN came first, and stays")
	})
}

func TestCloseWithUnreadDataBreaksTheWriter(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		near.Write([]byte("unread"))
		time.Sleep(50 * ms)
		far.Write([]byte("answer"))
		far.Close()
		time.Sleep(50*ms - 1)
		_, err := near.Write([]byte("x"))
		require.NoError(t, err)
		time.Sleep(1)
		_, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		got, err := io.ReadAll(near)
		require.NoError(t, err, "what was accepted before a clean close is not lost")
		require.Equal(t, "answer", string(got))
	})
}

// envoy#44148, #45190: a reset must stay one, and take no data with it.
func TestResetArrivesAfterTheDataBeforeIt(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		start := time.Now()
		far.Write([]byte("last words"))
		require.NoError(t, far.(lingerer).SetLinger(0))
		require.NoError(t, far.Close())
		got, err := io.ReadAll(near)
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.Equal(t, "last words", string(got))
		require.Equal(t, 50*ms, time.Since(start))
		_, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.EqualError(t, err, "write tcp pc.test:49152->origin.test:49152: write: connection reset by peer")
		require.NoError(t, near.Close())
	})
}

func TestResetEndsAReadThatWaits(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		time.AfterFunc(time.Second, func() {
			far.(lingerer).SetLinger(0)
			far.Close()
		})
		assertReadEnds(t, near, time.Second+50*ms, syscall.ECONNRESET)
	})
}

func TestResetAfterFINIsSeenByWritesOnly(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		require.NoError(t, far.(halfCloser).CloseWrite())
		time.Sleep(10 * ms)
		far.(lingerer).SetLinger(0)
		far.Close()
		time.Sleep(50 * ms)
		_, err := near.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		_, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

func TestListenerCloseResetsWhoWasNotAccepted(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		near := dial(t, network.Host("pc.test"), "origin.test:443")
		time.Sleep(time.Second)
		start := time.Now()
		require.NoError(t, ln.Close())
		_, err := near.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.Equal(t, 50*ms, time.Since(start))
		require.ErrorIs(t, ln.Close(), net.ErrClosed)
		require.NoError(t, near.Close())
		require.Zero(t, network.Open())
		require.Zero(t, network.Calls())
	})
}

func TestListenerCloseEndsAccept(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		ended := make(chan error, 1)
		go func() {
			_, err := ln.Accept()
			ended <- err
		}()
		require.NoError(t, ln.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
		again := listen(t, network.Host("origin.test"), ":443")
		require.Equal(t, ln.Addr().String(), again.Addr().String(), "the port is free again")
	})
}

func TestListenerCloseDuringTheHandshakeResets(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		time.AfterFunc(75*ms, func() { ln.Close() })
		start := time.Now()
		near := dial(t, network.Host("pc.test"), "origin.test:443")
		_, err := near.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.Equal(t, 200*ms, time.Since(start))
	})
}

// quic-go#5010: cleanup stuck in a read loop.
func TestNetworkCloseEndsEverythingAtOnce(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		near, far := pairIn(t, network)
		pc, _ := socketsIn(t, network)
		far.Write([]byte("in flight"))
		ended := make(chan error, 3)
		for _, wait := range []func() error{
			func() error { _, err := ln.Accept(); return err },
			func() error { _, err := io.ReadAll(far); return err },
			func() error { _, _, err := pc.ReadFrom(make([]byte, 1)); return err },
		} {
			go func() { ended <- wait() }()
		}
		require.NoError(t, network.Close())
		for range 3 {
			err := <-ended
			if !errors.Is(err, syscall.ECONNRESET) { // of the other end, on sockets
				require.ErrorIs(t, err, net.ErrClosed)
			}
		}
		for _, err := range []error{network.Close(), near.Close()} {
			assert.True(t, err == nil || assert.ErrorIs(t, err, net.ErrClosed))
		}
		_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
		require.Error(t, err)
		_, err = network.Host("pc.test").Listen(t.Context(), "tcp", ":0")
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = network.Host("pc.test").ListenPacket(t.Context(), "udp", ":0")
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestNetworkCloseEndsADial(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		listen(t, network.Host("origin.test"), ":443")
		time.AfterFunc(30*ms, func() { network.Close() })
		start := time.Now()
		_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, 30*ms, time.Since(start))
	})
}
