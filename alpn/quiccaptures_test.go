package alpn_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/chrome"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInitialReaderReadsLiveChromium(t *testing.T) {
	browser(t)
	datagrams := firstDatagrams(t, func(ctx context.Context, port string) {
		chrome.Run(ctx, "https://tool.test:"+port+"/", &chrome.Config{
			HostRules: []string{"MAP tool.test 127.0.0.1"}, ForceQUIC: []string{"tool.test:" + port},
		})
	})
	requireChromium(t, datagrams)
	if *update {
		for i, datagram := range datagrams {
			require.NoError(t, os.WriteFile(filepath.Join("testdata", fmt.Sprintf("initial-chromium-%d.bin", i+1)), datagram, 0o644))
		}
	}
}

// firstDatagrams are those with which a client opens its connection, up to the
// end of its hello. Nobody answers.
func firstDatagrams(t *testing.T, run func(ctx context.Context, port string)) (datagrams [][]byte) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	conn.SetDeadline(time.Now().Add(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup // waited for before return
	reading.Go(func() {
		defer cancel() // the client has said what is wanted of it
		buf := make([]byte, 1<<16)
		for reader := new(alpn.InitialReader); ; {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				datagrams = nil
				return
			}
			datagrams = append(datagrams, append([]byte(nil), buf[:n]...))
			if hello, _ := reader.Datagram(buf[:n]); hello != nil {
				return
			}
		}
	})
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	run(ctx, port)
	cancel()
	conn.SetDeadline(time.Unix(1, 0))
	reading.Wait()
	conn.Close()
	require.NotEmpty(t, datagrams, "no whole hello came")
	return datagrams
}

// requireChromium reads them in order, backwards and each twice.
func requireChromium(t *testing.T, datagrams [][]byte) {
	t.Helper()
	hello := requireAnyOrder(t, datagrams)
	assert.Equal(t, alpn.QUICv1, hello.QUICVersion)
	assert.Equal(t, "tool.test", hello.ServerName)
	assert.Equal(t, []string{alpn.H3}, hello.ALPN)
	assert.Equal(t, "q13d0", hello.JA4()[:5])
	assert.NotNil(t, hello.ECH)
	assert.Contains(t, hello.String(), "X25519MLKEM768 (1216 bytes)") // and no GREASE, which over QUIC it does not send
	requireListed(t, hello)
}

// requireAnyOrder needs every datagram, and none at its place.
func requireAnyOrder(t *testing.T, datagrams [][]byte) *alpn.ClientHello {
	t.Helper()
	require.Greater(t, len(datagrams), 1, "one datagram only")
	var want *alpn.ClientHello
	for first := range datagrams {
		var reader alpn.InitialReader
		for i := range datagrams {
			hello, err := reader.Datagram(datagrams[(first+i)%len(datagrams)])
			require.NoError(t, err)
			last := i == len(datagrams)-1
			require.Equal(t, last, hello != nil, "after %d of %d datagrams, from the %dth on: missing %s", i+1, len(datagrams), first+1, reader.Missing())
			if want == nil {
				want = hello
			} else if last {
				require.Equal(t, want, hello)
			}
		}
	}
	return want
}

// captured are the datagrams of testdata, by their name.
func captured(t *testing.T, name string) (datagrams [][]byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "initial-"+name+"-*.bin"))
	require.NoError(t, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		datagrams = append(datagrams, b)
	}
	return datagrams
}

func TestInitialReaderReadsCaptures(t *testing.T) {
	requireChromium(t, captured(t, "chromium"))
	hello := requireAnyOrder(t, captured(t, "quicgo"))
	assert.Equal(t, "tool.test", hello.ServerName)
	assert.Equal(t, []string{alpn.H3}, hello.ALPN)
	assert.Contains(t, hello.String(), "X25519MLKEM768 (1216 bytes)")
}

func BenchmarkInitialReader(b *testing.B) {
	datagram := []byte(unhex(b, read(b, "rfc9001-a2.hex")))
	b.ReportAllocs()
	for b.Loop() {
		var reader alpn.InitialReader
		if hello, err := reader.Datagram(datagram); hello == nil {
			b.Fatal(err)
		}
	}
}
