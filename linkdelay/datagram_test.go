package linkdelay_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// text is an address of another package's type.
type text string

func (t text) Network() string { return "udp" }
func (t text) String() string  { return string(t) }

func requireDatagram(t *testing.T, pc net.PacketConn, want string) net.Addr {
	t.Helper()
	buf := make([]byte, 2048)
	n, from, err := pc.ReadFrom(buf)
	require.NoError(t, err)
	require.Equal(t, want, string(buf[:n]))
	return from
}

func sendText(t *testing.T, pc net.PacketConn, to net.Addr, data string) {
	t.Helper()
	n, err := pc.WriteTo([]byte(data), to)
	require.NoError(t, err)
	require.Equal(t, len(data), n)
}

func TestDatagramsAreAnsweredByName(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(20*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		sendText(t, near, text("Origin.test.:443"), "ping")
		from := requireDatagram(t, far, "ping")
		require.Equal(t, near.LocalAddr().String(), from.String())
		sendText(t, far, from, "pong")
		from = requireDatagram(t, near, "pong")
		require.Equal(t, "origin.test:443", from.String())
		require.Equal(t, "udp", from.Network())
		require.Equal(t, "origin.test", from.(*linkdelay.Addr).Host())
		require.Equal(t, 443, from.(*linkdelay.Addr).Port())
	})
}

func TestDatagramsTakeOneDelayEach(t *testing.T) {
	virtual(t, lopsided(30*ms, 70*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		start := time.Now()
		go func() {
			for i := range 10 {
				near.WriteTo(fmt.Append(nil, i), far.LocalAddr())
				time.Sleep(20 * ms)
			}
		}()
		for i := range 10 {
			from := requireDatagram(t, far, fmt.Sprint(i))
			require.Equal(t, 30*ms+time.Duration(i)*20*ms, time.Since(start))
			if i == 9 {
				sendText(t, far, from, "back")
				requireDatagram(t, near, "back")
				require.Equal(t, 280*ms, time.Since(start))
			}
		}
	})
}

// quic-go#2616: constant delay reordered.
func TestDatagramsOfOneInstantKeepTheirOrder(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		for i := range 1000 {
			sendText(t, near, far.LocalAddr(), fmt.Sprint(i))
			if i == 500 {
				network.SetLink("pc.test", "origin.test", linkdelay.RTT(10*ms))
			}
		}
		for i := range 1000 {
			requireDatagram(t, far, fmt.Sprint(i))
		}
	})
}

func TestDatagramsOfTwoSendersComeByTheirTimes(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		network.SetLink("close.test", "origin.test", linkdelay.RTT(20*ms))
		slow, far := socketsIn(t, network)
		quick := socket(t, network.Host("close.test"), ":0")
		start := time.Now()
		go func() {
			synctest.Wait() // until the reader waits
			slow.WriteTo([]byte("slow"), far.LocalAddr())
			synctest.Wait() // until it waits for this one
			quick.WriteTo([]byte("quick"), far.LocalAddr())
		}()
		requireDatagram(t, far, "quick")
		require.Equal(t, 10*ms, time.Since(start))
		requireDatagram(t, far, "slow")
		require.Equal(t, 50*ms, time.Since(start))
	})
}

func TestDatagramsMeetTheSocketThatIsThereWhenTheyArrive(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		origin := network.Host("origin.test")
		near := socket(t, network.Host("pc.test"), ":0")
		sendText(t, near, text("origin.test:443"), "too early")
		time.Sleep(20 * ms)
		sendText(t, near, text("origin.test:443"), "in time")
		time.Sleep(40 * ms)
		first := socket(t, origin, ":443")
		requireDatagram(t, first, "in time")

		sendText(t, near, text("origin.test:443"), "between")
		require.NoError(t, first.Close())
		time.Sleep(60 * ms)
		sendText(t, near, text("origin.test:443"), "restarted")
		second := socket(t, origin, ":443")
		requireDatagram(t, second, "restarted")
		_, _, err := first.ReadFrom(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = first.WriteTo(nil, near.LocalAddr())
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, first.Close(), net.ErrClosed)
		require.Equal(t, uint64(2), linkdelay.DroppedNobody(network, "origin.test", 443))
	})
}

func TestDatagramsDieWithTheSocketThatTheyReached(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		for _, data := range []string{"read", "queued", "queued"} {
			sendText(t, near, far.LocalAddr(), data)
		}
		time.Sleep(50 * ms)
		requireDatagram(t, far, "read")
		sendText(t, near, far.LocalAddr(), "arrived, not looked at")
		time.Sleep(50 * ms)
		require.NoError(t, far.Close())
		require.Equal(t, 1, network.Open(), "the other socket")
		again := socket(t, network.Host("origin.test"), ":443")
		sendText(t, near, far.LocalAddr(), "next")
		requireDatagram(t, again, "next")
		require.Zero(t, linkdelay.DroppedNobody(network, "origin.test", 443), "somebody was there")
	})
}

func TestDatagramsOverflowAQueueThatNobodyReads(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		for i := range 5000 {
			sendText(t, near, far.LocalAddr(), fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		for i := range 4096 {
			requireDatagram(t, far, fmt.Sprint(i))
		}
		sendText(t, near, far.LocalAddr(), "next")
		requireDatagram(t, far, "next")
		require.Equal(t, uint64(904), linkdelay.DroppedOverflow(network, "origin.test", 443))
	})
}

func TestDatagramIsCutToTheBuffer(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		sendText(t, near, far.LocalAddr(), "0123456789")
		sendText(t, near, far.LocalAddr(), "")
		buf := make([]byte, 4)
		n, _, err := far.ReadFrom(buf)
		require.NoError(t, err)
		require.Equal(t, "0123", string(buf[:n]))
		requireDatagram(t, far, "")
	})
}

func TestDatagramDeadlines(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		start := time.Now()
		require.NoError(t, far.SetReadDeadline(time.Now().Add(time.Second)))
		_, _, err := far.ReadFrom(make([]byte, 1))
		assertTimeout(t, err)
		require.Equal(t, time.Second, time.Since(start))

		require.NoError(t, near.SetDeadline(time.Now()))
		_, err = near.WriteTo([]byte("x"), far.LocalAddr())
		assertTimeout(t, err)
		require.NoError(t, near.SetDeadline(time.Time{}))
		require.NoError(t, far.SetDeadline(time.Time{}))
		sendText(t, near, far.LocalAddr(), "kept")
		requireDatagram(t, far, "kept")

		time.AfterFunc(ms, func() { far.SetReadDeadline(time.Now()) })
		_, _, err = far.ReadFrom(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

func TestDatagramCloseEndsReads(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		_, far := socketsIn(t, network)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, _, err := far.ReadFrom(make([]byte, 1))
				assert.ErrorIs(t, err, net.ErrClosed)
			})
		}
		require.NoError(t, far.Close())
		wg.Wait()
		require.Error(t, far.SetDeadline(time.Now()))
	})
}

func TestDatagramsAreRefused(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		near, _ := socketsIn(t, network)
		_, err := near.WriteTo(make([]byte, 65508), text("origin.test:443"))
		require.ErrorIs(t, err, syscall.EMSGSIZE)
		_, err = near.WriteTo(nil, text("nowhere.test:443"))
		require.ErrorContains(t, err, "lookup nowhere.test: no such host; the Network has origin.test, pc.test")
		_, err = near.WriteTo(nil, nil)
		require.ErrorIs(t, err, syscall.EDESTADDRREQ)
		n, err := near.WriteTo([]byte("lost"), text("origin.test:444"))
		require.NoError(t, err, "nobody listens: lost without a word")
		require.Equal(t, 4, n)
	})
}

func TestDialledDatagramsTalkToOneAddress(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(20*ms), func(t *testing.T, network *linkdelay.Network) {
		stranger, far := socketsIn(t, network)
		near, err := network.Host("pc.test").DialContext(context.Background(), "udp", "origin.test:443")
		require.NoError(t, err)
		require.Equal(t, "origin.test:443", near.RemoteAddr().String())
		near.Write([]byte("ping"))
		from := requireDatagram(t, far, "ping")
		sendText(t, stranger, from, "noise")
		sendText(t, far, from, "pong")
		buf := make([]byte, 10)
		n, err := near.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "pong", string(buf[:n]))
		require.NoError(t, near.Close())
	})
}
