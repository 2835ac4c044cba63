package origin_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/origin"
)

// events is a handler of server-sent events that only its context ends.
func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: 1\n\n")
	http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func TestCloseEndsWhatIsGoingOn(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		t.Run(proto, func(t *testing.T) {
			leavesNothing(t)
			entered := make(chan struct{})
			mux := http.NewServeMux()
			mux.HandleFunc("/events", events)
			mux.HandleFunc("/stalled", func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				<-r.Context().Done()
			})
			mux.Handle("/", hello)
			s, err := origin.Start(&origin.Config{Handler: mux, ALPN: alpn.Only(proto)})
			require.NoError(t, err)

			idle := s.Transport(nil)
			get(t, &http.Client{Transport: idle}, s.URL) // its connection is idle now
			silent := must(net.Dial("tcp", s.Addr))      // half a handshake
			defer silent.Close()
			stream := must(s.Client().Get(s.URL + "/events"))
			defer stream.Body.Close()
			var stalled sync.WaitGroup
			stalled.Go(func() {
				_, err := s.Client().Get(s.URL + "/stalled")
				assert.Error(t, err, "answer of a stalled handler")
			})
			<-entered

			require.NoError(t, s.Close())
			stalled.Wait()
			_, err = io.ReadAll(stream.Body)
			assert.Error(t, err, "end of an event stream that was cut")
			_, err = io.ReadAll(silent)
			assert.NotErrorIs(t, err, net.ErrClosed)
			for _, c := range s.Log().Connections() {
				assert.NotZero(t, c.Closed, "connection %d is open in the ledger", c.ID)
				assert.NotEmpty(t, c.CloseReason, "connection %d", c.ID)
			}
			assert.NoError(t, s.Close(), "second Close")
			_, err = net.Dial("tcp", s.Addr)
			assert.Error(t, err, "dialled a closed origin")
		})
	}
}

func TestClosesOfOneServerAtOnce(t *testing.T) {
	leavesNothing(t)
	s, err := origin.Start(nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { assert.NoError(t, s.Close()) })
	}
	all.Wait()
}

func TestCloseEndsAClientThatStopsInTheMiddleOfItsHello(t *testing.T) {
	leavesNothing(t)
	s, err := origin.Start(nil)
	require.NoError(t, err)
	conn := must(net.Dial("tcp", s.Addr))
	defer conn.Close()
	_, err = conn.Write([]byte{22, 3, 1, 2, 0, 1, 0}) // of 512 bytes of ClientHello three
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = io.ReadAll(conn)
	assert.NotErrorIs(t, err, net.ErrClosed)
}

func TestPanicsAreShownWhenTheTestFails(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		r := &recorder{TB: t}
		s := origin.New(r, &origin.Config{ALPN: alpn.Only(proto), Handler: http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) { panic("no such order") },
		)})
		_, err := s.Client().Get(s.URL)
		assert.Error(t, err)
		r.Error("the test failed")
		r.finish()
		assert.Contains(t, r.errors.String(), "HTTP server of "+s.URL)
		assert.Contains(t, r.errors.String(), "no such order")
	}
}

func TestHandshakesAfterCloseFail(t *testing.T) {
	s, err := origin.Start(nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = tls.Dial("tcp", s.Addr, s.CA().ClientTLS())
	assert.Error(t, err)
	assert.Empty(t, s.Log().Connections())
}

// go#38370: Close while handlers of HTTP/2 begin. sse#26, where it waited for an
// event stream, is TestCloseEndsWhatIsGoingOn; go#50027, where goroutines
// remained, is all of those with leavesNothing.
func TestCloseRacesHandlersThatBegin(t *testing.T) {
	leavesNothing(t)
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		for range 10 {
			s, err := origin.Start(&origin.Config{ALPN: alpn.Only(proto), Handler: hello})
			require.NoError(t, err)
			var all sync.WaitGroup
			begun := make(chan struct{}, 4)
			for range cap(begun) {
				client := &http.Client{Transport: s.Transport(nil)}
				all.Go(func() {
					for first := true; ; first = false {
						resp, err := client.Get(s.URL)
						if first {
							begun <- struct{}{}
						}
						if err != nil {
							return
						}
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
						if err != nil {
							return
						}
					}
				})
			}
			for range cap(begun) {
				<-begun
			}
			assert.NoError(t, s.Close())
			all.Wait()
			for _, q := range s.Log().Requests() {
				assert.False(t, q.End.IsZero(), "%s: open in the ledger", proto)
			}
		}
	}
}
