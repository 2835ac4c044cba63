//go:build !linux

package origin

import (
	"errors"
	"fmt"
	"runtime"
)

func establishedSockets(int) ([]socket, error) {
	return nil, fmt.Errorf("%s has no /proc/net/tcp, which only Linux has: %w", runtime.GOOS, errors.ErrUnsupported)
}
