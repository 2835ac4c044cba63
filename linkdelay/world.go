package linkdelay

import (
	"testing"
	"testing/synctest"
)

// EachWorld runs body twice, as subtests: "memory" is in a synctest bubble,
// where time is virtual, and "loopback" is on real sockets. Both have a
// Network whose hosts are joined by link. In the bubble body must not call
// t.Run, t.Parallel or t.Deadline.
func EachWorld(t *testing.T, link Link, body func(t *testing.T, network *Network)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { body(t, NewNetwork(t, link)) })
	})
	t.Run("loopback", func(t *testing.T) { body(t, NewLoopback(t, link)) })
}
