package linkdelay_test

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestSetLinkNamesItsSides(t *testing.T) {
	for _, turned := range []bool{false, true} {
		virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			if turned {
				network.SetLink("origin.test", "pc.test", lopsided(70*ms, 30*ms))
			} else {
				network.SetLink("pc.test", "origin.test", lopsided(30*ms, 70*ms))
			}
			near, far := pairIn(t, network)
			requireOneWay(t, near, far, 30*ms)
			requireOneWay(t, far, near, 70*ms)
		})
	}
}

func TestDefaultLinkLeadsUpFromWhoDialsFirst(t *testing.T) {
	for _, names := range [][2]string{{"a.test", "b.test"}, {"b.test", "a.test"}} {
		virtual(t, lopsided(30*ms, 70*ms), func(t *testing.T, network *linkdelay.Network) {
			ln := listen(t, network.Host(names[1]), ":443")
			near := dial(t, network.Host(names[0]), names[1]+":443")
			far := accept(t, ln)
			requireOneWay(t, near, far, 30*ms)
			requireOneWay(t, far, near, 70*ms)
		})
	}
}

func TestEachPairHasItsOwnLink(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		network.SetLink("PC.test.", "proxy.test", linkdelay.RTT(10*ms))
		ln := listen(t, network.Host("proxy.test"), ":443")
		start := time.Now()
		dial(t, network.Host("pc.test"), ln.Addr().String())
		require.Equal(t, 10*ms, time.Since(start))
		dial(t, network.Host("origin.test"), ln.Addr().String())
		require.Equal(t, 110*ms, time.Since(start))
	})
}

func requireOneWay(t *testing.T, from io.Writer, to io.Reader, delay time.Duration) {
	t.Helper()
	start := time.Now()
	from.Write([]byte("x"))
	_, err := to.Read(make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, delay, time.Since(start))
}

// What is under way keeps its time; what follows does not overtake it.
func TestSetLinkKeepsWhatIsInFlight(t *testing.T) {
	virtual(t, linkdelay.RTT(200*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		start := time.Now()
		fmt.Fprint(near, "1")
		network.SetLink("pc.test", "origin.test", linkdelay.RTT(20*ms))
		fmt.Fprint(near, "2") // would arrive after 10 ms
		time.Sleep(95 * ms)
		fmt.Fprint(near, "3")
		network.SetLink("pc.test", "origin.test", linkdelay.RTT(600*ms))
		fmt.Fprint(near, "4")
		for _, want := range []struct {
			text string
			at   time.Duration
		}{{"12", 100 * ms}, {"3", 105 * ms}, {"4", 395 * ms}} {
			buf := make([]byte, 10)
			n, err := far.Read(buf)
			require.NoError(t, err)
			require.Equal(t, want.text, string(buf[:n]))
			require.Equal(t, want.at, time.Since(start), want.text)
		}
	})
}

func TestEndNeverOvertakesDataWhenTheLinkGetsShorter(t *testing.T) {
	virtual(t, linkdelay.RTT(200*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		start := time.Now()
		fmt.Fprint(near, "data")
		network.SetLink("pc.test", "origin.test", linkdelay.Link{})
		near.Close()
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "data", string(got))
		require.Equal(t, 100*ms, time.Since(start))
	})
}

func TestSetLinkUnderTrafficLosesNothing(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		want := noise(1 << 20)
		go func() {
			for p := want; len(p) > 0; p = p[1024:] {
				near.Write(p[:1024])
				time.Sleep(ms)
			}
			near.Close()
		}()
		go func() {
			for i := range 100 {
				network.SetLink("pc.test", "origin.test", linkdelay.RTT(time.Duration(i*37%100)*ms))
				time.Sleep(10 * ms)
			}
		}()
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// TestSetLinkBesideADial is for the race detector: the answer to a SYN is on its way
// when the link changes, and then takes what it took before.
func TestSetLinkBesideADial(t *testing.T) {
	virtual(t, linkdelay.RTT(20*ms), func(t *testing.T, network *linkdelay.Network) {
		_, err := network.Host("origin.test").Listen(t.Context(), "tcp", ":80")
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			began := time.Now()
			_, err := network.Host("pc.test").DialContext(t.Context(), "tcp", "origin.test:80")
			assert.NoError(t, err)
			assert.Equal(t, 20*ms, time.Since(began))
		})
		time.Sleep(15 * ms)
		wireOf(network).SetLink(linkdelay.RTT(200 * ms))
		wg.Wait()
	})
}
