package wire_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/wire"
)

// All sockets have one port.
func TestListenTakesOnePort(t *testing.T) {
	for range 20 {
		open, err := wire.Listen(nil, 0, true)
		require.NoError(t, err)
		defer open.Close()
		port := open.TCP[0].Addr().(*net.TCPAddr).Port
		require.Len(t, open.UDP, len(open.TCP))
		for i := range open.TCP {
			assert.Equal(t, port, open.TCP[i].Addr().(*net.TCPAddr).Port)
			assert.Equal(t, port, open.UDP[i].LocalAddr().(*net.UDPAddr).Port)
		}
	}
}

// taken is a network in which UDP is, at the first ports that are asked for.
type taken struct {
	net.Dialer
	times int
	open  int
}

func (n *taken) Listen(context.Context, string, string) (net.Listener, error) {
	n.open++
	return &counted{n}, nil
}

func (n *taken) ListenPacket(context.Context, string, string) (net.PacketConn, error) {
	if n.times--; n.times >= 0 {
		return nil, errors.New("in use")
	}
	return nil, nil
}

type counted struct{ in *taken }

func (*counted) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (*counted) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443} }
func (l *counted) Close() error            { l.in.open--; return nil }

// A port that is taken for UDP alone is given up, and another tried.
func TestListenTriesAnotherPort(t *testing.T) {
	n := &taken{times: 2}
	_, err := wire.Listen(n, 0, true)
	require.NoError(t, err)
	assert.Equal(t, 1, n.open, "listeners")
}

func TestListenSaysWhatIsTaken(t *testing.T) {
	n := &taken{times: 1}
	_, err := wire.Listen(n, 443, true)
	assert.EqualError(t, err, "udp beside 192.0.2.1:443: in use")
	assert.Zero(t, n.open, "listeners that were left open")
	n.times = 1000
	_, err = wire.Listen(n, 0, true)
	assert.ErrorContains(t, err, "none free for all")
}
