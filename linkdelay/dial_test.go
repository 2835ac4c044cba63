package linkdelay_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestPortsAreHandedOutInOrder(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		origin, pc := network.Host("origin.test"), network.Host("pc.test")
		require.Equal(t, "origin.test:49152", listen(t, origin, ":0").Addr().String())
		require.Equal(t, "origin.test:49153", listen(t, origin, "").Addr().String())
		require.Equal(t, "origin.test:443", listen(t, origin, "origin.test:443").Addr().String())
		require.Equal(t, "origin.test:80", listen(t, origin, "127.0.0.1:http").Addr().String())
		require.Equal(t, "pc.test:49152", listen(t, pc, ":0").Addr().String())
		require.Equal(t, "tcp", listen(t, pc, ":0").Addr().Network())
		require.Equal(t, "pc.test:49152", socket(t, pc, ":0").LocalAddr().String(), "UDP ports are others")
		require.Equal(t, "udp", socket(t, pc, ":0").LocalAddr().Network())
		first, second := dial(t, pc, "origin.test:443"), dial(t, pc, "ORIGIN.test.:443")
		require.Equal(t, "pc.test:49154", first.LocalAddr().String())
		require.Equal(t, "pc.test:49155", second.LocalAddr().String())
		require.Equal(t, "origin.test:443", second.RemoteAddr().String())
	})
}

func TestBothEndsAgreeOnTheirAddresses(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		require.Equal(t, near.LocalAddr().String(), far.RemoteAddr().String())
		require.Equal(t, near.RemoteAddr().String(), far.LocalAddr().String())
	})
}

func TestListenRefuses(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		host := network.Host("origin.test")
		listen(t, host, ":443")
		socket(t, host, ":443") // the same number of another protocol
		for _, c := range []struct {
			network, address string
			want             error
			text             string
		}{
			{"tcp", ":443", syscall.EADDRINUSE, "listen tcp :443: bind: address already in use"},
			{"udp", ":443", syscall.EADDRINUSE, "listen udp :443: bind: address already in use"},
			{"tcp", "pc.test:80", syscall.EADDRNOTAVAIL, "listen tcp pc.test:80: bind: cannot assign requested address"},
			{"tcp", "192.0.2.1:80", syscall.EADDRNOTAVAIL, "listen tcp 192.0.2.1:80: bind: cannot assign requested address"},
			{"unix", "/tmp/x", nil, "listen unix /tmp/x: unknown network unix"},
			{"tcp", "nonsense", nil, "listen tcp nonsense: address nonsense: missing port in address"},
			{"tcp", ":70000", nil, "listen tcp :70000: address 70000: invalid port"},
		} {
			err := listenError(t, host, c.network, c.address)
			require.EqualError(t, err, c.text)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
		}
	})
}

func listenError(t *testing.T, host *linkdelay.Host, network, address string) error {
	if network == "udp" {
		_, err := host.ListenPacket(t.Context(), network, address)
		return err
	}
	_, err := host.Listen(t.Context(), network, address)
	return err
}

func TestDialToAnUnknownNameFailsAtOnce(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		network.Host("origin.test")
		for _, name := range []string{"nowhere.test", "sub.origin.test", "test"} {
			_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", name+":443")
			require.EqualError(t, err, "dial tcp "+name+":443: lookup "+name+": no such host; the Network has origin.test, pc.test")
			var op *net.OpError
			var dns *net.DNSError
			require.True(t, errors.As(err, &op) && errors.As(err, &dns))
			require.True(t, dns.IsNotFound)
		}
		_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "192.0.2.1:443")
		require.ErrorIs(t, err, syscall.ENETUNREACH)
		_, err = network.Host("pc.test").DialContext(t.Context(), "unix", "/tmp/x")
		require.EqualError(t, err, "dial unix /tmp/x: unknown network unix")
	})
}

func TestDialToAClosedPortIsRefusedAfterARoundTrip(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		network.Host("origin.test")
		start := time.Now()
		_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.EqualError(t, err, "dial tcp origin.test:443: connect: connection refused")
		require.Equal(t, 100*ms, time.Since(start))
		require.Zero(t, network.Calls())
	})
	network := linkdelay.NewLoopback(t, linkdelay.Link{})
	network.Host("origin.test")
	_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:443")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestListenerIsAskedWhenTheFirstPacketArrives(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		time.AfterFunc(49*ms, func() { listen(t, network.Host("origin.test"), ":443") })
		network.Host("origin.test")
		dial(t, network.Host("pc.test"), "origin.test:443")
	})
}

// toxiproxy#123, #72: connect was instant and could not be cancelled.
func TestDialHonoursItsContext(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		ln := listen(t, network.Host("origin.test"), ":443")
		for _, after := range []time.Duration{-1, 0, 1, 49 * ms, 51 * ms, 100*ms - 1} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			start := time.Now()
			_, err := network.Host("pc.test").DialContext(ctx, "tcp", "origin.test:443")
			require.ErrorIs(t, err, context.DeadlineExceeded, "after %v", after)
			require.Equal(t, max(0, after), time.Since(start))
			var netErr net.Error
			require.True(t, errors.As(err, &netErr) && netErr.Timeout())
			cancel()
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*ms, cancel)
		_, err := network.Host("pc.test").DialContext(ctx, "tcp", "origin.test:443")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1, network.Open(), "the listener only")
		require.Zero(t, network.Calls())

		require.NoError(t, ln.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(time.Hour)))
		_, err = ln.Accept()
		require.Error(t, err, "nobody came")
	})
}

func TestConnectionsAreAcceptedInTheOrderOfArrival(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		network.SetLink("near.test", "origin.test", linkdelay.RTT(10*ms))
		ln := listen(t, network.Host("origin.test"), ":443")
		go network.Host("far.test").DialContext(t.Context(), "tcp", "origin.test:443")
		time.Sleep(ms)
		second := dial(t, network.Host("near.test"), "origin.test:443")
		require.Equal(t, second.LocalAddr().String(), accept(t, ln).RemoteAddr().String())
		require.True(t, strings.HasPrefix(accept(t, ln).RemoteAddr().String(), "far.test:"))
	})
}

func TestNetworkFromOutsideOfTheBubbleRefuses(t *testing.T) {
	outside := linkdelay.NewNetwork(t, linkdelay.Link{})
	synctest.Test(t, func(t *testing.T) {
		_, err := outside.Host("origin.test").Listen(t.Context(), "tcp", ":443")
		require.ErrorContains(t, err, "the other side of a synctest bubble's wall")
		_, err = outside.Host("pc.test").DialContext(t.Context(), "tcp", "pc.test:443")
		require.ErrorContains(t, err, "the other side of a synctest bubble's wall")
	})
}
