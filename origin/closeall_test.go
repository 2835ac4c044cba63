package origin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/origin"
)

// busy serves, by path, all that can be in flight when an origin closes.
func busy(stubborn <-chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/events", origin.Events(0, 10*time.Millisecond))
	mux.Handle("/stalled", origin.Body{Size: 1 << 20, Stall: origin.At(1000)})
	mux.Handle("/drip", origin.Body{Size: 1 << 20, Chunk: 1, Every: time.Second})
	mux.Handle("/queue", origin.Workers(1, time.Hour, hello))
	mux.Handle("/limit", origin.PerConnection(1, origin.Work(time.Hour, hello)))
	mux.Handle("/hints", origin.EarlyHints(time.Hour, hello, "</a>", "</b>"))
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { origin.Hang(w, r, nil) })
	mux.HandleFunc("/flood", func(w http.ResponseWriter, r *http.Request) { origin.Pings(1<<30)(w, r, hello) })
	mux.HandleFunc("/upload", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/download", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, origin.Content(1<<40)) })
	mux.HandleFunc("/goaway", func(w http.ResponseWriter, r *http.Request) {
		origin.GoAwayAt(1<<31-1, 0, "")(w, r, origin.Work(time.Hour, hello))
	})
	mux.HandleFunc("/stubborn", func(http.ResponseWriter, *http.Request) { <-stubborn })
	return mux
}

// visitors are clients that are in the middle of things.
type visitors struct {
	s    *origin.Server
	from origin.Net
	all  sync.WaitGroup
	raw  []net.Conn
	over chan struct{} // closed when they are to leave
}

// come has each path asked for, each by a client of its own, twice where there is
// a queue; and some come that say less.
func (v *visitors) come(paths ...string) {
	for _, path := range paths {
		client := &http.Client{Transport: v.s.Transport(v.from)}
		v.all.Go(func() { v.ask(client, path) })
		v.all.Go(func() { v.ask(client, path) })
	}
	for _, said := range []string{"", "\x16\x03\x01\x02\x00\x01\x00", "GET / HTTP/1.1\r\n"} {
		conn := must(v.dial())
		must(io.WriteString(conn, said))
		v.raw = append(v.raw, conn)
	}
}

func (v *visitors) dial() (net.Conn, error) {
	if v.from == nil {
		return net.Dial("tcp", v.s.Addr)
	}
	return v.from.DialContext(context.Background(), "tcp", v.s.Addr)
}

// ask gets a path, and reads of the answer only where that is short.
func (v *visitors) ask(client *http.Client, path string) {
	method, body := "GET", io.Reader(nil)
	if path == "/upload" {
		method, body = "POST", until(v.over)
	}
	resp, err := client.Do(must(http.NewRequest(method, v.s.URL+path, body)))
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if path == "/download" {
		io.ReadFull(resp.Body, make([]byte, 1000))
		<-v.over // a client that has stopped reading
		return
	}
	io.Copy(io.Discard, resp.Body)
}

func (v *visitors) arrived() int { return len(v.s.Log().Requests()) }

// until is a body that never comes.
type until chan struct{}

func (u until) Read([]byte) (int, error) {
	<-u
	return 0, io.ErrUnexpectedEOF
}

func (v *visitors) leave() {
	close(v.over)
	v.all.Wait()
	for _, conn := range v.raw {
		conn.Close()
	}
}

var obedient = []string{"/events", "/stalled", "/drip", "/queue", "/limit", "/hints", "/hang", "/flood", "/upload", "/download", "/goaway"}

// Close with everything in flight at once, on sockets: event streams, stalled
// bodies, queues, half handshakes, floods, connections that meet faults.
func TestCloseEndsEverythingAtOnce(t *testing.T) {
	leavesNothing(t)
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		s, err := origin.Start(&origin.Config{
			ALPN: alpn.Only(proto), Handler: busy(nil), IdleTimeout: time.Hour,
			ConnectionFaults: []origin.ConnectionFault{{Connection: 2, Do: origin.NeverRead}, {Connection: 4, Do: origin.NeverShakeHands}},
		})
		require.NoError(t, err)
		v := &visitors{s: s, over: make(chan struct{})}
		v.come(obedient...)
		for v.arrived() < 2*len(obedient)-4 { // two connections meet faults: what is on them never arrives
			<-time.After(time.Millisecond)
		}
		assert.NoError(t, s.Close(), proto)
		v.leave()
		for _, c := range s.Log().Connections() {
			assert.NotZero(t, c.Closed, "%s: connection %d is open in the ledger", proto, c.ID)
		}
		for _, q := range s.Log().Requests() {
			assert.False(t, q.End.IsZero(), "%s: %s is open in the ledger", proto, q.URL)
		}
	}
}

// The same with a handler that does not care for its context, in virtual time:
// Close gives up after five seconds to the instant, and names it and nothing else.
func TestCloseNamesWhatHungAmongEverything(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			free := make(chan struct{})
			s, err := origin.Start(&origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: busy(free), IdleTimeout: time.Hour,
			})
			require.NoError(t, err)
			v := &visitors{s: s, from: network.Host("pc.test"), over: make(chan struct{})}
			v.come("/events", "/stalled", "/drip", "/queue", "/limit", "/hints", "/hang", "/upload", "/goaway", "/stubborn")
			time.Sleep(time.Second)
			start := time.Now()
			err = s.Close()
			assert.Equal(t, 5*time.Second, time.Since(start), proto)
			assert.EqualError(t, err, "origin: close: still running: GET /stubborn (6.0s), GET /stubborn (6.0s)", proto)
			close(free)
			v.leave()
		})
	}
}
