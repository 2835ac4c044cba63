// Package reset knows an error that says the peer reset a connection.
package reset

import (
	"errors"
	"syscall"
)

// wsaeconnreset is Windows' own number for it (Winsock error codes, 10054), which
// syscall.ECONNRESET is not there. Elsewhere no error has it.
const wsaeconnreset = syscall.Errno(10054)

// Is reports whether err is, or wraps, the reset of a connection.
func Is(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, wsaeconnreset)
}
