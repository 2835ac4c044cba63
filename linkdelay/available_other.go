//go:build !linux

package linkdelay

import "net"

// available is not known here, where the kernel does not splice sockets either.
func available(*net.TCPConn) int { return 0 }
