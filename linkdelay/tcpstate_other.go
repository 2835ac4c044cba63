//go:build !linux

package linkdelay

import "net"

// isDead is not known here: a reset that a write of the relay has still to report
// is passed on as a FIN.
func isDead(net.Conn) bool { return false }
