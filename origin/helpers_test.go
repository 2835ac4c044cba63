package origin_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// hello answers everything with "hello".
var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

// get returns the body of url, and the answer without it.
func get(t *testing.T, client *http.Client, url string) (string, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body), resp
}

// recorded is a client that keeps a record of its connections.
func recorded(t *testing.T, tr *http.Transport) (*http.Client, *netlog.Log) {
	log := netlog.New(t)
	client := &http.Client{Transport: netlog.NewTransport(tr, log)}
	t.Cleanup(client.CloseIdleConnections)
	return client, log
}

// requireAtOnce wants a client to have used n connections at one time, and all that it
// used to be in the origin's ledger. One after the other net/http may use more: see
// netlog.Connections.MostOpen.
func requireAtOnce(t *testing.T, n int, proto string, client *netlog.Log, s *origin.Server) {
	t.Helper()
	used := client.Connections(netlog.Used())
	require.Equal(t, n, used.MostOpen(), "connections that were open at one time\n%v", client)
	netlog.RequireConnections(t, s.Log(), len(used), proto, netlog.Used())
}

// leavesNothing fails t if, when all its other cleanups are done, a goroutine
// of the fixture or of a client's connection, or a socket, is left. Call it
// first. Inside a bubble there is nothing to do: synctest itself is stricter.
func leavesNothing(t *testing.T) {
	before := sockets()
	t.Cleanup(func() {
		var left string
		for range 500 {
			if left = leftStacks(); left == "" && sockets() <= before {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Errorf("left after close: %d sockets (%d before), and goroutines:\n%s", sockets(), before, left)
	})
}

// leftStacks are the goroutines that run code of an origin, or of a connection of
// net/http or quic-go.
func leftStacks() string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for _, stack := range strings.Split(string(buf), "\n\n") {
		for _, of := range []string{"wiretest/origin.(", "wiretest/netlog/wire.", "wiretest/netlog/h3.", "quic-go/quic-go", "http.(*persistConn)", "http2clientConn", "http2ClientConn", "http2.(*ClientConn)"} {
			if strings.Contains(stack, of) && !strings.Contains(stack, "leftStacks") {
				left = append(left, stack)
				break
			}
		}
	}
	return strings.Join(left, "\n\n")
}

// sockets is how many descriptors of this process are sockets; 0 where nobody
// tells.
func sockets() int {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	n := 0
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// recorder is a testing.TB that remembers failures instead of failing.
type recorder struct {
	testing.TB
	errors   bytes.Buffer
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Failed() bool     { return r.errors.Len() > 0 }
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any) {
	r.errors.WriteString(strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
}
func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Fatal(fmt.Sprintf(format, args...))
}
func (r *recorder) Logf(format string, args ...any) {
	r.errors.WriteString("\nlog: " + fmt.Sprintf(format, args...))
}

// finish runs the cleanups as a test does that has ended.
func (r *recorder) finish() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	r.cleanups = nil
}

// smallPage is a page of seven requests that does not wait.
func smallPage() *origin.Page { return &origin.Page{Scripts: 2, Images: 2, API: 2} }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// sole is a dialer that knows one connection.
func sole(conn net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return conn, nil }
}
