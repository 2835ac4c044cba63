package reset

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIs(t *testing.T) {
	for _, reset := range []error{syscall.ECONNRESET, wsaeconnreset} {
		assert.True(t, Is(reset), "%v", reset)
		wrapped := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("wsarecv", reset)}
		assert.True(t, Is(wrapped), "as the net package returns it: %v", wrapped)
	}
	for _, other := range []error{nil, io.EOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNREFUSED} {
		assert.False(t, Is(other), "%v", other)
	}
}
