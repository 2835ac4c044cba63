package linkdelay

import (
	"net"
	"syscall"
	"unsafe"
)

// available is how many bytes can be read from a socket without waiting: 0 if
// that is not known.
func available(c *net.TCPConn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	var n int32
	raw.Control(func(fd uintptr) {
		// FIONREAD of tcp(7) has the number of TIOCINQ.
		syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	})
	return int(n)
}
