package wire_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/wire"
)

// All sockets have one port, and a port that is taken for UDP alone is not one.
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

func TestListenSaysWhatIsTaken(t *testing.T) {
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer udp.Close()
	port := udp.LocalAddr().(*net.UDPAddr).Port
	_, err = wire.Listen(nil, port, true)
	assert.ErrorContains(t, err, "udp beside 127.0.0.1:")
	open, err := wire.Listen(nil, port, false)
	require.NoError(t, err, "what was taken in vain is free again")
	open.Close()
}
