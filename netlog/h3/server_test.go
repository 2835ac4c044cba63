package h3

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// Serve owns its socket also when it comes too late, as where a fixture is closed
// while another goroutine still adds an address to it.
func TestServeAfterCloseClosesItsSocket(t *testing.T) {
	server := NewServer(ServerConfig{Wire: wire.NewServer(wire.ServerConfig{}), TLS: &tls.Config{}, Open: func(local, remote net.Addr) *netlog.ConnectionRecord {
		return new(netlog.Log).Open(netlog.Connection{})
	}})
	require.NoError(t, server.Close(context.Background()))
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	assert.EqualError(t, server.Serve(pc), "h3: the Server is closed")
	_, err = pc.WriteTo([]byte("x"), pc.LocalAddr())
	assert.ErrorIs(t, err, net.ErrClosed, "the socket is still open")
}

// A first packet may come while a Server closes. Its connection is refused, and no
// record stays open.
func TestConnectionThatComesWithCloseIsRecordedWhole(t *testing.T) {
	var log netlog.Log
	server := NewServer(ServerConfig{Wire: wire.NewServer(wire.ServerConfig{}), TLS: &tls.Config{}, Open: func(local, remote net.Addr) *netlog.ConnectionRecord {
		return log.Open(netlog.Connection{})
	}})
	require.NoError(t, server.Close(context.Background()))
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer pc.Close()
	_, err = server.accepting(pc)(context.Background(), &quic.ClientInfo{RemoteAddr: pc.LocalAddr()})
	assert.ErrorIs(t, err, net.ErrClosed)
	require.Len(t, log.Connections(), 1)
	assert.Equal(t, "QUIC handshake: closed by server", log.Connections()[0].CloseReason)
	assert.False(t, log.Connections()[0].Closed.IsZero())
}
