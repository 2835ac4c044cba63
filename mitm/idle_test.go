package mitm_test

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

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
	for proto, most := range map[string]int{alpn.HTTP11: 40, alpn.H2: 55} {
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
// with an upstream connection of its own, beside what the proxy takes for itself.
// net/http lets go of some that are closed after five seconds: where that has
// happened meanwhile, it says nothing.
func idleMemory(t *testing.T, n int, proto string, proxied bool) (used memory) {
	t.Helper()
	authority := ca.New(t, nil)
	site := served(t, authority, proto, hello)
	proxy := mitm.New(t, &mitm.Config{
		CA: authority, RootCAs: authority.Pool(),
		Downstream: mitm.Leg{ALPN: alpn.Only(proto)}, Upstream: mitm.Leg{ALPN: alpn.Only(proto), PerClient: true},
	})
	connect := func(n int) (closeAll func()) {
		transports := make([]*http.Transport, n)
		for i := range transports {
			transports[i] = transportTo(authority, proto)
			if proxied {
				transports[i].Proxy = proxy.ProxyURL
			}
		}
		return connectEach(t, transports, site)
	}
	connect(1)()
	for {
		goroutines, before := runtime.NumGoroutine(), inUse()
		closeAll := connect(n)
		used = inUse().less(before)
		closeAll()
		synctestSettle(t, func() bool { return runtime.NumGoroutine() <= goroutines })
		if after := inUse(); after.heap > before.heap-n {
			return used
		}
	}
}

func connectEach(t *testing.T, transports []*http.Transport, site string) (closeAll func()) {
	t.Helper()
	var wg sync.WaitGroup
	for _, tr := range transports {
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
