package linkdelay

import (
	"encoding/binary"
	"net"
	"syscall"
)

// isDead reports whether a connection is over in both directions: if neither
// side has closed it, because it was reset. The kernel tells a reset to one call
// only, and every read after it ends like one at a FIN.
func isDead(socket net.Conn) bool {
	tcp, ok := socket.(*net.TCPConn)
	if !ok {
		return false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return false
	}
	const stateClose = 7 // TCP_CLOSE of <netinet/tcp.h>
	state := byte(0)
	raw.Control(func(fd uintptr) {
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err == nil {
			state = binary.NativeEndian.AppendUint32(nil, uint32(info))[0] // tcpi_state comes first
		}
	})
	return state == stateClose
}
