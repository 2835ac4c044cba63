//go:build unix

package linkdelay_test

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestIdleRelayUsesNoCPU(t *testing.T) {
	ln, target := pairReal(t)
	relay := linkdelay.NewRelay(t, ln.Addr().String(), linkdelay.RTT(4*ms))
	for range 100 {
		near, far := connectThrough(t, relay, ln)
		near.Write([]byte("x"))
		_, err := io.ReadFull(far, make([]byte, 1))
		require.NoError(t, err)
		say(t, relayedSocket(t, relay), target, "y")
	}
	runtime.GC() // what other tests left
	before := cpuTime(t)
	time.Sleep(500 * ms)
	require.Less(t, cpuTime(t)-before, 100*ms, "of 500 ms, with 100 connections and 100 bindings")
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestNothingKeepsADescriptor(t *testing.T) {
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("this system does not list descriptors in /proc/self/fd")
		}
		return len(all)
	}
	use := func() {
		ln, target := pairReal(t)
		defer ln.Close()
		defer target.Close()
		relay, err := linkdelay.StartRelay(ln.Addr().String(), linkdelay.RTT(2*ms))
		require.NoError(t, err)
		near, far := connectThrough(t, relay, ln)
		near.Write([]byte("x"))
		io.ReadFull(far, make([]byte, 1))
		client := relayedSocket(t, relay)
		say(t, client, target, "y")
		client.Close()
		near.Close()
		far.Close()
		require.NoError(t, relay.Close())
	}
	use() // what the runtime keeps for good
	before := descriptors()
	for range 20 {
		use()
	}
	require.Eventually(t, func() bool { return descriptors() <= before }, patience, 10*ms)
}
