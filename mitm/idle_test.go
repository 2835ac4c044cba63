package mitm_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
)

// An idle connection of a client, with the one to the origin that belongs to it,
// costs the proxy about what net/http's own client and server take for one: its
// buffers, those of TLS, the certificate shown, and the stacks of four or five
// goroutines, which the runtime makes larger or smaller as it likes.
func TestIdleConnectionsAreSmall(t *testing.T) {
	if raceDetector {
		t.Skip("-race has memory of its own")
	}
	for proto, most := range map[string]int{alpn.HTTP11: 48, alpn.H2: 60} {
		t.Run(strings.ReplaceAll(proto, "/", ""), func(t *testing.T) {
			const n = 60
			direct := idleMemory(t, n, proto, false)
			got := idleMemory(t, n, proto, true).less(direct)
			t.Logf("KiB for both legs: %+v; for a client and an origin: %+v", got.of(n), direct.of(n))
			assert.LessOrEqual(t, got.of(n).heap, most)
			assert.LessOrEqual(t, got.of(n).heap+got.of(n).stacks, most+60)
		})
	}
}

// idleMemory is what n connections take, with those of clients and origin, each
// to a name of its own and so with an upstream connection of its own. net/http
// lets go of some that are closed after five seconds: where that has happened
// meanwhile, it says nothing.
func idleMemory(t *testing.T, n int, proto string, proxied bool) (used memory) {
	t.Helper()
	authority := ca.New(t, nil)
	site := served(t, authority, proto, hello)
	for {
		goroutines, before := runtime.NumGoroutine(), inUse()
		closeAll := connectEach(t, n, authority, site, proto, proxied)
		used = inUse().less(before)
		closeAll()
		synctestSettle(t, func() bool { return runtime.NumGoroutine() <= goroutines })
		if after := inUse(); after.heap > before.heap-n {
			return used
		}
	}
}

func connectEach(t *testing.T, n int, authority *ca.Authority, site, proto string, proxied bool) (closeAll func()) {
	t.Helper()
	proxy, err := mitm.Start(&mitm.Config{
		CA: authority, RootCAs: authority.Pool(),
		Downstream: mitm.Leg{ALPN: alpn.Only(proto)}, Upstream: mitm.Leg{ALPN: alpn.Only(proto)},
	})
	require.NoError(t, err)
	transports := make([]*http.Transport, n)
	var wg sync.WaitGroup
	for i := range n {
		tr := transportTo(authority, proto)
		tr.TLSClientConfig.ServerName = fmt.Sprintf("host%d.test", i)
		if proxied {
			tr.Proxy = proxy.ProxyURL
		}
		transports[i] = tr
		wg.Go(func() {
			resp, err := (&http.Client{Transport: tr}).Get(site)
			if assert.NoError(t, err) {
				text(t, resp)
			}
		})
	}
	wg.Wait()
	return func() {
		for _, tr := range transports {
			tr.CloseIdleConnections()
		}
		assert.NoError(t, proxy.Close())
	}
}

// memory is in KiB.
type memory struct{ heap, stacks int }

func (m memory) less(other memory) memory {
	return memory{m.heap - other.heap, m.stacks - other.stacks}
}
func (m memory) of(n int) memory { return memory{m.heap / n, m.stacks / n} }

func inUse() memory {
	var stats runtime.MemStats
	for range 5 { // what pools hold goes with the second collection, and stacks shrink by half with each
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return memory{int(stats.HeapAlloc >> 10), int(stats.StackInuse >> 10)}
}
