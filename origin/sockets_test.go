package origin_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

func onLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc/net/tcp")
	}
}

// asked is a connection over which one answer has come, and which stays open, as one of
// net/http need not.
func asked(t *testing.T, s *origin.Server, addr string) {
	t.Helper()
	cfg := s.CA().ClientTLS()
	cfg.NextProtos = []string{alpn.HTTP11}
	conn := must(tls.Dial("tcp", addr, cfg))
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	bodies(t, conn, 1)
}

// Connections of this process, over IPv4 and IPv6.
func TestSocketsAgreeWithTheLedger(t *testing.T) {
	onLinux(t)
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Handler: hello, ALPN: alpn.Only(alpn.HTTP11)})
	other := origin.New(t, &origin.Config{Handler: hello})
	get(t, other.Client(), other.URL)
	for range 3 {
		asked(t, s, s.Addr)
	}
	n, err := s.SocketsTo(0)
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	if probe, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		probe.Close()
		asked(t, s, strings.Replace(s.Addr, "127.0.0.1", "[::1]", 1))
	}
	n, err = s.SocketsTo(0)
	require.NoError(t, err)
	netlog.RequireConnections(t, s.Log(), n, alpn.HTTP11)
}

// A program that knows nothing of being counted, while its requests hang.
func TestSocketsOfAnotherProcess(t *testing.T) {
	onLinux(t)
	curl := tool(t, "curl", "curl")
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Faults: []origin.Fault{{Do: origin.Hang}}, ALPN: alpn.Only(alpn.HTTP11)})
	args := []string{"-sSk", "-Z", "--parallel-max", "4", "--noproxy", "*"}
	for i := range 4 {
		args = append(args, fmt.Sprintf("%s/%d", s.URL, i))
	}
	cmd := exec.Command(curl, args...)
	cmd.Stdout = io.Discard
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for len(s.Log().Requests()) < 4 {
		select {
		case <-t.Context().Done():
			t.Fatal("curl did not ask")
		case <-time.After(5 * time.Millisecond):
		}
	}
	n, err := s.SocketsTo(cmd.Process.Pid)
	require.NoError(t, err)
	netlog.RequireConnections(t, s.Log(), n, alpn.HTTP11, netlog.Used())
	assert.Equal(t, 4, n)
	n, err = s.SocketsTo(0)
	require.NoError(t, err)
	assert.Zero(t, n, "this process's own")
	_, err = s.SocketsTo(1 << 30)
	assert.ErrorContains(t, err, "origin: SocketsByRemote: open /proc/1073741824/fd")
}
