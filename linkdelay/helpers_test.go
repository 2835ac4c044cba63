package linkdelay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// patience is how long tests on sockets wait for what has to come: long, as the
// machine may be busy with other things, and no test waits for its end.
const patience = time.Minute

func listen(t testing.TB, host *linkdelay.Host, address string) net.Listener {
	t.Helper()
	ln, err := host.Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	return ln
}

func dial(t testing.TB, from *linkdelay.Host, address string) net.Conn {
	t.Helper()
	conn, err := from.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	return conn
}

func accept(t testing.TB, ln net.Listener) net.Conn {
	t.Helper()
	conn, err := ln.Accept()
	require.NoError(t, err)
	return conn
}

// serveEchoes sends each client back what it sends, until ln is closed.
func serveEchoes(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			io.Copy(conn, conn)
		}()
	}
}

// connectPair connects pc.test to origin.test.
func connectPair(network *linkdelay.Network) (near, far net.Conn, err error) {
	ctx := context.Background()
	ln, err := network.Host("origin.test").Listen(ctx, "tcp", ":0")
	if err != nil {
		return nil, nil, err
	}
	defer ln.Close()
	near, err = network.Host("pc.test").DialContext(ctx, "tcp", ln.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	far, err = ln.Accept()
	return near, far, err
}

func pairIn(t testing.TB, network *linkdelay.Network) (near, far net.Conn) {
	t.Helper()
	near, far, err := connectPair(network)
	require.NoError(t, err)
	return near, far
}

// TestMain fails if anything of linkdelay runs on when all tests have ended.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leaks(); left != "" {
		fmt.Println("after all tests: " + left)
		code = 1
	}
	os.Exit(code)
}

// checkLeaks fails the test if, after it and all of its cleanups, a goroutine
// still runs code of this package.
func checkLeaks(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if left := leaks(); left != "" {
			t.Error(left)
		}
	})
}

// leaks gives goroutines that were told to end some time to do so.
func leaks() string {
	deadline := time.Now().Add(patience)
	left := ownStacks()
	for len(left) > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		left = ownStacks()
	}
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("%d goroutines of linkdelay remain:\n\n%s", len(left), strings.Join(left, "\n\n"))
}

// ownStacks are the goroutines inside of methods and functions of linkdelay;
// those of its tests are of another package.
func ownStacks() (own []string) {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "wiretest/linkdelay.") {
			own = append(own, stack)
		}
	}
	return own
}

func socket(t testing.TB, host *linkdelay.Host, address string) net.PacketConn {
	t.Helper()
	pc, err := host.ListenPacket(t.Context(), "udp", address)
	require.NoError(t, err)
	return pc
}

// socketsIn opens a socket on pc.test and one on origin.test.
func socketsIn(t testing.TB, network *linkdelay.Network) (near, far net.PacketConn) {
	t.Helper()
	return socket(t, network.Host("pc.test"), ":0"), socket(t, network.Host("origin.test"), ":443")
}

func quoted(s string) string { return strconv.Quote(s) }

// fakeTB is a test that may fail without failing its parent.
type fakeTB struct {
	testing.TB
	said string
}

func (f *fakeTB) Fatal(args ...any) {
	f.said = fmt.Sprint(args...)
	runtime.Goexit()
}

// fails reports whether do ended in Fatal.
func (f *fakeTB) fails(do func()) bool {
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- !returned }()
		do()
		returned = true
	}()
	return <-ended
}

func noise(n int) []byte {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(p)
	return p
}

// carry has the first of a pair write p, a chunk at a time with a gap behind each, and
// then its end, and checks that the other reads just that. wg waits for it.
func carry(t *testing.T, wg *sync.WaitGroup, what string, pair [2]net.Conn, p []byte, chunk int, gap time.Duration) {
	wg.Go(func() {
		for c := range slices.Chunk(p, chunk) {
			pair[0].Write(c)
			time.Sleep(gap)
		}
		pair[0].(halfCloser).CloseWrite()
	})
	wg.Go(func() {
		got, err := io.ReadAll(pair[1])
		assert.NoError(t, err, what)
		assert.True(t, bytes.Equal(p, got), "%s: %d of %d bytes, or others", what, len(got), len(p))
	})
}

func assertTimeout(t *testing.T, err error) {
	t.Helper()
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	var netErr net.Error
	if assert.ErrorAs(t, err, &netErr) {
		assert.True(t, netErr.Timeout(), "%v is a timeout", err)
	}
}

func assertReadEnds(t *testing.T, c net.Conn, after time.Duration, want error) {
	t.Helper()
	start := time.Now()
	n, err := c.Read(make([]byte, 1))
	assert.Zero(t, n)
	assert.ErrorIs(t, err, want)
	assert.Equal(t, after, time.Since(start))
}

func echoed(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	buf := make([]byte, len(text))
	_, err = io.ReadFull(c, buf)
	require.NoError(t, err)
	return string(buf)
}
