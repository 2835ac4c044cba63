//go:build !linux

package linkdelay

import "errors"

// newPreciseTimer has nothing better than Go's own timers here.
func newPreciseTimer() (preciseTimer, error) { return nil, errors.ErrUnsupported }
