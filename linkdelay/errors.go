package linkdelay

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// syscallError names the call that the kernel would have refused, as package
// net does: "connect: connection refused".
func syscallError(call string, err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return os.NewSyscallError(call, err)
	}
	return err
}

// opError wraps what a read or write came to; io.EOF stays bare.
func opError(op, network string, local, remote net.Addr, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: network, Source: local, Addr: remote, Err: syscallError(op, err)}
}
