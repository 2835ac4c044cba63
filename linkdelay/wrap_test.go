package linkdelay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"example.com/wiretest/linkdelay"
)

// wrappers make both ends of a connection, one of them wrapped.
var wrapped = map[string]func(w *linkdelay.Wrapper) (near, far net.Conn, err error){
	"a pipe": func(w *linkdelay.Wrapper) (near, far net.Conn, err error) {
		near, far = net.Pipe()
		return w.Conn(near), far, nil
	},
	"a dialled connection": func(w *linkdelay.Wrapper) (near, far net.Conn, err error) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		defer ln.Close()
		near, err = w.DialContext(nil)(context.Background(), "tcp", ln.Addr().String())
		if err != nil {
			return nil, nil, err
		}
		far, err = ln.Accept()
		return near, far, err
	},
	"an accepted connection": func(w *linkdelay.Wrapper) (near, far net.Conn, err error) {
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		ln := w.Listener(inner)
		defer ln.Close()
		far, err = net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return nil, nil, err
		}
		near, err = ln.Accept()
		return near, far, err
	},
}

func TestWrappedConnsConform(t *testing.T) {
	checkLeaks(t)
	for _, c := range []struct {
		name string
		link linkdelay.Link
	}{
		{"a pipe", linkdelay.Link{}},
		{"a pipe", linkdelay.RTT(2 * ms)},
		{"a dialled connection", linkdelay.Link{}},
		{"an accepted connection", linkdelay.RTT(2 * ms)},
	} {
		t.Run(fmt.Sprintf("%s with %v", c.name, c.link.Up.Delay), func(t *testing.T) {
			t.Parallel() // they mostly wait
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				w, err := linkdelay.StartWrapper(c.link)
				if err != nil {
					return nil, nil, nil, err
				}
				near, far, err := wrapped[c.name](w)
				return near, far, func() { far.Close(); near.Close(); w.Close() }, err
			})
		})
	}
}

// A pipe knows no half-close, and has nothing in between: time is exact.
func TestWrappedPipeIsExactInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := linkdelay.NewWrapper(t, lopsided(30*ms, 70*ms))
		inner, far := net.Pipe()
		near := w.Conn(inner)
		start := time.Now()
		near.Write([]byte("ping"))
		_, err := io.ReadFull(far, make([]byte, 4))
		require.NoError(t, err)
		require.Equal(t, 30*ms, time.Since(start))
		far.Write([]byte("pong"))
		_, err = io.ReadFull(near, make([]byte, 4))
		require.NoError(t, err)
		require.Equal(t, 100*ms, time.Since(start))
		require.ErrorIs(t, near.(halfCloser).CloseWrite(), syscall.EOPNOTSUPP)

		start = time.Now()
		near.Write([]byte("bye"))
		near.Close()
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "bye", string(got))
		require.Equal(t, 30*ms, time.Since(start))
	})
}

func TestWrappedListenerTurnsTheLinkRound(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, lopsided(30*ms, 70*ms))
		ln := w.Listener(listen(t, network.Host("origin.test"), ":443"))
		client := dial(t, network.Host("pc.test"), "origin.test:443")
		server := accept(t, ln)
		requireOneWay(t, client, server, 30*ms)
		requireOneWay(t, server, client, 70*ms)
		require.Equal(t, "origin.test:443", server.LocalAddr().String())
		require.Equal(t, client.LocalAddr().String(), server.RemoteAddr().String())
	})
}

func TestWrappedDialCostsARoundTrip(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, linkdelay.RTT(100*ms))
		dial := w.DialContext(network.Host("pc.test").DialContext)
		network.Host("origin.test")
		start := time.Now()
		_, err := dial(t.Context(), "tcp", "origin.test:443")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		require.Equal(t, 100*ms, time.Since(start))

		ln := listen(t, network.Host("origin.test"), ":443")
		start = time.Now()
		near, err := dial(t.Context(), "tcp", "origin.test:443")
		require.NoError(t, err)
		require.Equal(t, 100*ms, time.Since(start))
		far := accept(t, ln)
		far.Write([]byte("greeting")) // accepted early, but heard no earlier than on the link
		_, err = io.ReadFull(near, make([]byte, 8))
		require.NoError(t, err)
		require.Equal(t, 200*ms, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), 75*ms)
		defer cancel()
		start = time.Now()
		_, err = dial(ctx, "tcp", "origin.test:443")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 75*ms, time.Since(start))
		_, err = io.ReadAll(accept(t, ln))
		require.ErrorIs(t, err, syscall.ECONNRESET, "what was dialled for nothing is reset")
	})
}

func TestWrappedConnsPassResetsAndHalfCloses(t *testing.T) {
	checkLeaks(t)
	for name, pair := range wrapped {
		if name == "a pipe" {
			continue // it has neither
		}
		w := linkdelay.NewWrapper(t, linkdelay.RTT(4*ms))
		near, far, err := pair(w)
		require.NoError(t, err)
		near.Write([]byte("question"))
		require.NoError(t, near.(halfCloser).CloseWrite())
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "question", string(got))
		far.Write([]byte("answer"))
		require.NoError(t, far.(halfCloser).CloseWrite())
		got, err = io.ReadAll(near)
		require.NoError(t, err)
		require.Equal(t, "answer", string(got))

		for _, turned := range []bool{false, true} {
			near, far, err := pair(w)
			require.NoError(t, err)
			if turned {
				near, far = far, near
			}
			near.(lingerer).SetLinger(0)
			near.Close()
			_, err = io.ReadAll(far)
			require.ErrorIs(t, err, syscall.ECONNRESET, "%s, turned %t", name, turned)
			far.Close()
		}
	}
}

// What is refused after FIN is a reset, though nothing more is sent that could be
// answered by one.
func TestWrappedConnPassesARefusalAfterFIN(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, linkdelay.RTT(60*ms))
		ln := w.Listener(listen(t, network.Host("origin.test"), ":443"))
		client := dial(t, network.Host("pc.test"), "origin.test:443")
		server := accept(t, ln)
		start := time.Now()
		require.NoError(t, server.Close())
		time.Sleep(5 * ms)
		client.Write([]byte("x")) // arrives after 35 ms, and is refused
		_, err := client.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		require.Equal(t, 30*ms, time.Since(start))
		time.Sleep(35 * ms)
		synctest.Wait()
		_, err = client.Write([]byte("y"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

// The socket inside is closed when its user closes the outside, even if its
// peer says nothing more.
func TestWrappedConnClosesItsSocket(t *testing.T) {
	checkLeaks(t)
	w := linkdelay.NewWrapper(t, linkdelay.RTT(4*ms))
	for name, pair := range wrapped {
		near, far, err := pair(w)
		require.NoError(t, err)
		require.NoError(t, near.Close())
		_, err = io.ReadAll(far)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return w.Running() == 0 }, patience, ms, name)
		far.Close()
	}
}

func TestWrappedTransportServesHTTP(t *testing.T) {
	ln := listenReal(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") })}
	go server.Serve(ln)
	defer server.Close()
	wrapper := linkdelay.NewWrapper(t, linkdelay.RTT(20*ms))
	tr := &http.Transport{DialContext: wrapper.DialContext(nil)}
	defer tr.CloseIdleConnections()
	start := time.Now()
	res, err := (&http.Client{Transport: tr}).Get("http://" + ln.Addr().String())
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "hello", string(body))
	require.GreaterOrEqual(t, time.Since(start), 40*ms, "a round trip to connect, one to ask")
}

func TestWrappedSocketsAreExactInVirtualTime(t *testing.T) {
	virtual(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		w := linkdelay.NewWrapper(t, lopsided(30*ms, 70*ms))
		near, far := socketsIn(t, network)
		near = w.PacketConn(near)
		start := time.Now()
		for i := range 10 {
			near.WriteTo(fmt.Append(nil, i), far.LocalAddr())
		}
		var from net.Addr
		for i := range 10 {
			from = requireDatagram(t, far, fmt.Sprint(i))
			require.Equal(t, 30*ms, time.Since(start))
		}
		sendText(t, far, from, "back")
		require.Equal(t, far.LocalAddr().String(), requireDatagram(t, near, "back").String())
		require.Equal(t, 100*ms, time.Since(start))

		near.SetReadDeadline(time.Now().Add(ms))
		_, _, err := near.ReadFrom(make([]byte, 1))
		assertTimeout(t, err)
		near.SetWriteDeadline(time.Now())
		_, err = near.WriteTo([]byte("x"), far.LocalAddr())
		assertTimeout(t, err)
		near.SetDeadline(time.Time{})

		start = time.Now()
		sendText(t, near, far.LocalAddr(), "last")
		require.NoError(t, near.Close())
		require.ErrorIs(t, near.Close(), net.ErrClosed)
		_, _, err = near.ReadFrom(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = near.WriteTo([]byte("x"), far.LocalAddr())
		require.ErrorIs(t, err, net.ErrClosed)
		requireDatagram(t, far, "last")
		require.Equal(t, 30*ms, time.Since(start))
		stats := w.Stats()
		require.Zero(t, stats.Up.Datagrams.Missing())
		require.EqualValues(t, 11, stats.Up.Datagrams.Delivered.Datagrams)
	})
}

// A connection of datagrams keeps their boundaries.
func TestWrappedConnOfDatagrams(t *testing.T) {
	checkLeaks(t)
	target := socketReal(t)
	w := linkdelay.NewWrapper(t, linkdelay.RTT(4*ms))
	conn, err := w.DialContext(nil)(t.Context(), "udp", target.LocalAddr().String())
	require.NoError(t, err)
	for _, text := range []string{"one", "two"} {
		from := say(t, conn, target, text)
		target.WriteTo([]byte(text+" back"), from)
	}
	requireHears(t, conn, "one back")
	requireHears(t, conn, "two back")
	require.NoError(t, conn.Close())
}

func TestWrapperCloseEndsEverything(t *testing.T) {
	checkLeaks(t)
	w := linkdelay.NewWrapper(t, linkdelay.RTT(100*ms))
	near, far, err := wrapped["a dialled connection"](w)
	require.NoError(t, err)
	pc := w.PacketConn(socketReal(t))
	pc.WriteTo([]byte("in flight"), far.LocalAddr())
	near.Write(noise(1 << 20))
	var wg sync.WaitGroup
	for _, read := range []func() error{
		func() error { _, err := near.Read(make([]byte, 1)); return err },
		func() error { _, err := io.Copy(io.Discard, far); return err },
		func() error { _, _, err := pc.ReadFrom(make([]byte, 1)); return err },
	} {
		wg.Go(func() {
			err := read()
			assert.True(t, errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET), "%v", err)
		})
	}
	require.NoError(t, w.Close())
	wg.Wait()
	require.Zero(t, w.Running())
	_, err = w.DialContext(nil)(t.Context(), "tcp", far.LocalAddr().String())
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestMistakenWrappersAreRefused(t *testing.T) {
	_, err := linkdelay.StartWrapper(lopsided(-ms, 0))
	require.EqualError(t, err, "linkdelay: Link.Up.Delay: -1ms is negative")
	tb := &fakeTB{TB: t}
	require.True(t, tb.fails(func() { linkdelay.NewWrapper(tb, lopsided(-ms, 0)) }))
}

// deafConn does not end its Read when it is closed.
type deafConn struct {
	net.Conn
	hang chan struct{}
}

func (c deafConn) Read([]byte) (int, error) {
	<-c.hang
	return 0, io.EOF
}

func TestCloseNamesWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := linkdelay.StartWrapper(linkdelay.RTT(100 * ms))
		require.NoError(t, err)
		inner, _ := net.Pipe()
		hang := make(chan struct{})
		w.Conn(deafConn{inner, hang})
		synctest.Wait() // it reads
		for range 2 {
			require.EqualError(t, w.Close(), "linkdelay: Wrapper: Close: after 10s still running: copying from a socket to its link (1)")
		}
		close(hang)
		synctest.Wait()
		require.NoError(t, w.Close())
	})
}
