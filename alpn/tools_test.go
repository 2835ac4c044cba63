package alpn_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tool is a client that is not of crypto/tls. Without it the test is skipped,
// or fails where WIRETEST_REQUIRE_TOOLS is set.
func tool(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
		t.Fatalf("no %s: install Debian package %s", name, debian)
	}
	t.Skipf("no %s: install Debian package %s", name, debian)
	return ""
}

// serve handshakes with each client and says goodbye, until the test ends.
func serve(t *testing.T, cfg *tls.Config) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup // waited for in Cleanup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.SetDeadline(time.Now().Add(time.Minute))
			served := tls.Server(conn, cfg)
			if served.Handshake() == nil {
				served.Read(make([]byte, 1<<10)) // a request, where the client has one
				served.Write([]byte("HTTP/1.0 204 No Content\r\n\r\n"))
			}
			served.Close()
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	return ln.Addr().String()
}

func run(t *testing.T, path string, args ...string) (output string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin = strings.NewReader("Q\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Run() // a refusal is an exit code; the output tells which
	return out.String()
}

func TestOpenSSLSeesTheChoice(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	for _, c := range []struct {
		policy alpn.Policy
		offer  string
		want   string
	}{
		{alpn.Prefer(alpn.H2, alpn.HTTP11), "http/1.1,h2", "ALPN protocol: h2"},
		{alpn.Prefer(alpn.H2), "http/1.1", "No ALPN negotiated"},
		{alpn.None(), "h2", "No ALPN negotiated"},
		{alpn.Only(alpn.H2), "h2", "ALPN protocol: h2"},
		{alpn.Only(alpn.H2), "http/1.1", "SSL alert number 120"},
		{alpn.Only(alpn.H2), "", "SSL alert number 120"},
		{alpn.Only(alpn.HTTP11), "", "No ALPN negotiated"},
	} {
		addr := serve(t, c.policy.Server(serverTLS()))
		for _, version := range []string{"-tls1_2", "-tls1_3"} {
			args := []string{"s_client", "-connect", addr, version}
			if c.offer != "" {
				args = append(args, "-alpn", c.offer)
			}
			output := run(t, openssl, args...)
			assert.Contains(t, output, c.want, "%v, offered %q, %s", c.policy, c.offer, version)
		}
	}
}

func TestCurlSeesTheChoice(t *testing.T) {
	curl := tool(t, "curl", "curl")
	if !strings.Contains(run(t, curl, "--version"), "OpenSSL/") {
		t.Skip("a curl without OpenSSL words its alerts in another way")
	}
	for _, c := range []struct {
		policy alpn.Policy
		args   string
		want   string
	}{
		{alpn.Only(alpn.HTTP11), "", `ALPN[:,] server accepted (to use )?http/1\.1`},
		{alpn.Only(alpn.H2), "--http1.1", "alert no application protocol"},
		{alpn.Only(alpn.H2), "--no-alpn", "alert no application protocol"},
		{alpn.None(), "--http2", `ALPN[:,] server did not agree (on|to) a protocol`},
	} {
		addr := serve(t, c.policy.Server(serverTLS()))
		args := append([]string{"-vsk", "--noproxy", "*", "https://" + addr}, strings.Fields(c.args)...)
		assert.Regexp(t, c.want, run(t, curl, args...), "%v, curl %s", c.policy, c.args)
	}
}

func TestPeekReadsOpenSSL(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	var hello *alpn.ClientHello
	var peekErr error
	var peeked sync.WaitGroup // waited for below
	peeked.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			peekErr = err
			return
		}
		defer conn.Close()
		hello, _, peekErr = alpn.PeekClientHello(conn)
	})
	run(t, openssl, "s_client", "-connect", ln.Addr().String(), "-servername", "tool.test", "-alpn", "h2,http/1.1")
	ln.Close()
	peeked.Wait()
	require.NoError(t, peekErr)
	assert.Equal(t, "tool.test", hello.ServerName)
	assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, hello.ALPN)
	assert.Contains(t, hello.Versions, uint16(tls.VersionTLS13))
}
