package alpn_test

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/chrome"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the clients that are installed send to testdata anew")

// liveClient is a program that opens a connection to tool.test at addr.
type liveClient struct {
	run  func(t *testing.T, ctx context.Context, addr string)
	want seen
}

// seen is what its hello must show, whatever its version.
type seen struct {
	alpn        []string
	grease, ech bool
	postQuantum bool // sends a key for it
}

func liveClients() map[string]liveClient {
	return map[string]liveClient{
		"go": {func(t *testing.T, ctx context.Context, addr string) {
			cfg := &tls.Config{ServerName: "tool.test", NextProtos: []string{alpn.H2, alpn.HTTP11}}
			(&tls.Dialer{Config: cfg}).DialContext(ctx, "tcp", addr)
		}, seen{alpn: []string{alpn.H2, alpn.HTTP11}, postQuantum: true}},
		"curl": {func(t *testing.T, ctx context.Context, addr string) {
			host, port, _ := net.SplitHostPort(addr)
			exec.CommandContext(ctx, tool(t, "curl", "curl"), "-sk", "--noproxy", "*",
				"--connect-to", "tool.test:443:"+host+":"+port, "https://tool.test/").Run()
		}, seen{alpn: []string{alpn.H2, alpn.HTTP11}}},
		"openssl": {func(t *testing.T, ctx context.Context, addr string) {
			exec.CommandContext(ctx, tool(t, "openssl", "openssl"), "s_client", "-connect", addr,
				"-servername", "tool.test", "-alpn", "h2,http/1.1").Run()
		}, seen{alpn: []string{alpn.H2, alpn.HTTP11}}},
		"node": {func(t *testing.T, ctx context.Context, addr string) {
			_, port, _ := net.SplitHostPort(addr)
			exec.CommandContext(ctx, tool(t, "node", "nodejs"), "-e",
				"require('tls').connect({host: '127.0.0.1', port: "+port+", servername: 'tool.test', ALPNProtocols: ['h2', 'http/1.1'], rejectUnauthorized: false}).on('error', () => {})").Run()
		}, seen{alpn: []string{alpn.H2, alpn.HTTP11}}},
		"chromium": {func(t *testing.T, ctx context.Context, addr string) {
			browser(t)
			_, port, _ := net.SplitHostPort(addr)
			chrome.Run(ctx, "https://tool.test:"+port+"/", &chrome.Config{HostRules: []string{"MAP tool.test 127.0.0.1"}})
		}, seen{alpn: []string{alpn.H2, alpn.HTTP11}, grease: true, ech: true, postQuantum: true}},
	}
}

// browser skips the test where there is none, as tool does.
func browser(t *testing.T) {
	t.Helper()
	if _, err := chrome.Find(); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestPeekReadsLiveClients(t *testing.T) {
	for name, client := range liveClients() {
		t.Run(name, func(t *testing.T) {
			stream := firstFlight(t, client)
			requireSeen(t, stream, client.want)
			if *update {
				require.NoError(t, os.WriteFile(capturePath(name), stream, 0o644))
			}
		})
	}
}

func capturePath(client string) string { return filepath.Join("testdata", "hello-"+client+".bin") }

// firstFlight is the hello that a client sends, in its records.
func firstFlight(t *testing.T, client liveClient) (stream []byte) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var serving sync.WaitGroup // waited for before return
	serving.Go(func() {
		defer cancel() // the client has said what is wanted of it
		for stream == nil {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			stream = helloFor(conn, "tool.test")
			conn.Close()
		}
	})
	client.run(t, ctx, ln.Addr().String())
	if t.Skipped() || t.Failed() {
		return nil
	}
	<-ctx.Done()
	ln.Close()
	serving.Wait()
	require.NotNil(t, stream, "the client sent no hello for tool.test")
	return stream
}

// helloFor is the first flight of conn if it is a hello for host.
func helloFor(conn net.Conn, host string) []byte {
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	got := newRecorder(conn)
	hello, _, err := alpn.PeekClientHello(got)
	if err != nil || hello.ServerName != host {
		return nil
	}
	return got.got.Bytes()
}

func requireSeen(t *testing.T, stream []byte, want seen) {
	t.Helper()
	hello, err := peek(t, cut(stream), stream)
	require.NoError(t, err)
	require.Equal(t, "tool.test", hello.ServerName)
	assert.Equal(t, want.alpn, hello.ALPN)
	assert.Contains(t, hello.Versions, uint16(tls.VersionTLS13))
	assert.Equal(t, want.grease, alpn.IsGREASE(hello.CipherSuites[0]), "GREASE in %x", hello.CipherSuites)
	assert.Equal(t, want.grease, strings.Contains(hello.String(), "GREASE (0x"), hello)
	assert.Equal(t, want.ech, hello.ECH != nil && len(hello.ECH.Payload) > 0, "ECH in %v", hello)
	var groups []tls.CurveID
	for _, share := range hello.KeyShares {
		groups = append(groups, share.Group)
	}
	if want.postQuantum { // where not, a newer version of the program may
		assert.Contains(t, groups, tls.X25519MLKEM768)
	}
	requireListed(t, hello)
	requireSame(t, seenByTLS(stream), hello, "")
}

// requireListed asks for each extension by its id.
func requireListed(t *testing.T, hello *alpn.ClientHello) {
	t.Helper()
	for _, id := range hello.Extensions {
		_, sent := hello.Extension(id)
		require.True(t, sent, "extension %d", id)
	}
	_, sent := hello.Extension(0xeeee)
	require.False(t, sent)
	_, asked := hello.Extension(35)
	require.Equal(t, asked, hello.SessionTicket != nil)
}

// captures are what the clients of liveClients sent, in the versions that
// testdata/README.md lists.
func captures(tb testing.TB) map[string][]byte {
	tb.Helper()
	all := map[string][]byte{}
	for name := range liveClients() {
		stream, err := os.ReadFile(capturePath(name))
		require.NoError(tb, err)
		all[name] = stream
	}
	return all
}

func TestPeekReadsCapturesAtEverySplit(t *testing.T) {
	for name, stream := range captures(t) {
		requireSeen(t, stream, liveClients()[name].want)
		requireOneHello(t, name, stream)
		for n := 1; n < len(stream); n++ {
			_, err := peek(t, cut(stream[:n]), stream[:n])
			var failure *alpn.HelloError
			require.True(t, errors.As(err, &failure) && failure.Offset == n, "%s: ended at byte %d: %v", name, n, err)
		}
	}
}

// Node's is published with h1 for its h2, which depends on the program, the
// others of curl 7.88 and of Chromium since 150 as they stand.
func TestFingerprintsOfCaptures(t *testing.T) {
	for name, want := range map[string]string{
		"go":       "t13d1312h2_f57a46bbacb6_ab7e3b40a677",
		"curl":     "t13d3112h2_e8f1e7e78f70_b26ce05bbdd6",
		"openssl":  "t13d3111h2_e8f1e7e78f70_1f22a2ca17c4",
		"node":     "t13d5911h2_a33745022dd6_1f22a2ca17c4",
		"chromium": "t13d1516h2_8daaf6152771_806a8c22fdea",
	} {
		stream := captures(t)[name]
		hello, err := peek(t, cut(stream), stream)
		require.NoError(t, err)
		assert.Equal(t, want, hello.JA4(), name)
	}
}
