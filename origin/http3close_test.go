package origin_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

func TestCloseEndsHTTP3WithStreamsOpen(t *testing.T) {
	eachWorld(t, linkdelay.RTT(2*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		entered := make(chan struct{}, 1)
		mux := http.NewServeMux()
		mux.HandleFunc("/events", events)
		mux.HandleFunc("/stalled", func(w http.ResponseWriter, r *http.Request) {
			entered <- struct{}{}
			<-r.Context().Done()
		})
		s, err := origin.Start(&origin.Config{Net: network.Host("origin.test"), Handler: mux, HTTP3: &origin.HTTP3{}})
		require.NoError(t, err)
		client := &http.Client{Transport: s.HTTP3Transport(network.Host("pc.test"))}
		stream, err := client.Get(s.URL + "/events")
		require.NoError(t, err)
		var stalled sync.WaitGroup
		stalled.Go(func() {
			_, err := client.Get(s.URL + "/stalled")
			assert.Error(t, err, "answer of a stalled handler")
		})
		<-entered
		require.NoError(t, s.Close())
		stalled.Wait()
		_, err = io.ReadAll(stream.Body)
		assert.Error(t, err, "end of an event stream that was cut")
		c := s.Log().Connections()[0]
		assert.False(t, c.Closed.IsZero())
		assert.Equal(t, 2, c.MaxStreams)
		for _, q := range s.Log().Requests() {
			assert.Contains(t, q.Err, "connection closed before the answer ended: closed by", q.URL)
		}
		_, err = client.Get(s.URL)
		assert.Error(t, err, "a client of a closed origin")
	})
}

// A network that is closed under an origin takes its sockets away.
func TestNetworkThatIsClosedUnderHTTP3(t *testing.T) {
	eachWorld(t, linkdelay.RTT(2*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		entered := make(chan struct{})
		s, err := origin.Start(&origin.Config{Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(entered)
			<-r.Context().Done()
		})})
		require.NoError(t, err)
		var asked sync.WaitGroup
		asked.Go(func() {
			_, err := (&http.Client{Transport: s.HTTP3Transport(network.Host("pc.test"))}).Get(s.URL)
			assert.Error(t, err)
		})
		<-entered
		require.NoError(t, network.Close())
		asked.Wait()
		require.NoError(t, s.Close())
		assert.False(t, s.Log().Connections()[0].Closed.IsZero())
	})
}

func TestCloseNamesTheHandlersOfHTTP3ThatHang(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(time.Millisecond))
		release, entered := make(chan struct{}), make(chan struct{})
		s, err := origin.Start(&origin.Config{Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{}, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(entered)
			<-release
		})})
		require.NoError(t, err)
		go (&http.Client{Transport: s.HTTP3Transport(network.Host("pc.test"))}).Get(s.URL + "/stubborn")
		<-entered
		defer close(release)
		assert.ErrorContains(t, s.Close(), "origin: close: still running: GET /stubborn (5.0s)")
	})
}

func TestIdleTimeoutOverHTTP3(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, HTTP3: &origin.HTTP3{}, IdleTimeout: 3 * time.Second})
		get(t, &http.Client{Transport: s.HTTP3Transport(network.Host("pc.test"))}, s.URL)
		time.Sleep(5 * time.Second)
		c := s.Log().Connections()[0]
		assert.Equal(t, "closed by server: H3_NO_ERROR (0x100): idle timeout", c.CloseReason)
		assert.InDelta(t, 3.0, c.Closed.Sub(c.FirstUsed).Seconds(), 0.1)
	})
}
