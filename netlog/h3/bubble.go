package h3

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/netlog"
)

// hangs is after how much real time a bubble is taken to hang. What works takes
// a thousandth of it.
const hangs = 2 * time.Minute

// Bubble is synctest.Test for a test that speaks HTTP/3, with a watchdog outside
// of the bubble: where quic-go spins while virtual time stands still, which is
// known of packets above 1,280 bytes on a path that swallows them all, a test
// would hang without a word. After two minutes of real time the watchdog prints
// log, if it is not nil, and the stacks of all goroutines, and ends the test
// binary.
func Bubble(t *testing.T, log *netlog.Log, f func(*testing.T)) {
	t.Helper()
	bubble(t, log, hangs, f)
}

func bubble(t *testing.T, log *netlog.Log, patience time.Duration, f func(*testing.T)) {
	t.Helper()
	watchdog := time.AfterFunc(patience, func() { bark(t.Name(), log, patience) })
	defer watchdog.Stop()
	synctest.Test(t, f)
}

func bark(test string, log *netlog.Log, patience time.Duration) {
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Fprintf(os.Stderr, "h3: %s: the bubble hangs: no end after %v of real time\n", test, patience)
	if log != nil {
		fmt.Fprintf(os.Stderr, "%s\n", log)
	}
	fmt.Fprintf(os.Stderr, "%s\n", stacks)
	panic("h3: " + test + ": the bubble hangs")
}
