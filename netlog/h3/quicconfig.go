package h3

import (
	"fmt"
	"net"
	"syscall"

	"github.com/quic-go/quic-go"
)

// largestSafe is quic-go's own packet size. In memory there is no path MTU
// discovery to lower a larger one, and where a path then swallows everything
// quic-go's loop spins without time passing.
const largestSafe = 1280

// checkPacketSize is of cfg, nil or not, on a socket of the system or in memory.
func checkPacketSize(pc net.PacketConn, cfg *quic.Config) error {
	if _, real := pc.(syscall.Conn); real || cfg == nil || cfg.InitialPacketSize <= largestSafe {
		return nil
	}
	return fmt.Errorf("InitialPacketSize %d: in memory no more than %d, quic-go's default, can be told when a path has a hole", cfg.InitialPacketSize, largestSafe)
}

// setWindows has a peer wait for leave behind so many bytes, from the beginning to
// the end; 0 leaves it to QUIC.
func setWindows(q *quic.Config, stream, conn int) {
	if n := uint64(stream); n > 0 {
		q.InitialStreamReceiveWindow, q.MaxStreamReceiveWindow = n, n
	}
	if n := uint64(conn); n > 0 {
		q.InitialConnectionReceiveWindow, q.MaxConnectionReceiveWindow = n, n
	}
}
