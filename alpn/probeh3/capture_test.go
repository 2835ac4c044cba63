package probeh3_test

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what quic-go sends to the testdata of package alpn anew")

// TestInitialReaderReadsQUICGo is here because package alpn does without
// quic-go, in its tests too; those read what this one has written.
func TestInitialReaderReadsQUICGo(t *testing.T) {
	for _, version := range []quic.Version{quic.Version1, quic.Version2} {
		datagrams := firstDatagrams(t, version)
		var swapped alpn.InitialReader
		hello, err := swapped.Datagram(datagrams[1])
		require.NoError(t, err)
		require.Nil(t, hello)
		hello, err = swapped.Datagram(datagrams[0])
		require.NoError(t, err)
		require.NotNil(t, hello, "missing %s", swapped.Missing())
		assert.Equal(t, uint32(version), hello.QUICVersion)
		assert.Equal(t, "tool.test", hello.ServerName)
		assert.Equal(t, []string{alpn.H3}, hello.ALPN)
		for i, datagram := range datagrams {
			if *update && version == quic.Version1 {
				name := filepath.Join("..", "testdata", fmt.Sprintf("initial-quicgo-%d.bin", i+1))
				require.NoError(t, os.WriteFile(name, datagram, 0o644))
			}
		}
	}
}

// firstDatagrams are the two that a hello with a post-quantum key takes. Nobody
// answers.
func firstDatagrams(t *testing.T, version quic.Version) (datagrams [][]byte) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	var dialling sync.WaitGroup // waited for before return
	dialling.Go(func() {
		cfg := &tls.Config{ServerName: "tool.test", NextProtos: []string{alpn.H3}}
		quic.DialAddr(ctx, conn.LocalAddr().String(), cfg, &quic.Config{Versions: []quic.Version{version}})
	})
	conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	buf := make([]byte, 1<<16)
	for range 2 {
		n, _, err := conn.ReadFrom(buf)
		require.NoError(t, err)
		datagrams = append(datagrams, append([]byte(nil), buf[:n]...))
	}
	cancel()
	dialling.Wait()
	return datagrams
}
