package wire

import "syscall"

var errReset = syscall.ECONNRESET
