package linkdelay_test

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
)

// thinking answers /i with 16 kB after a time that is its own: no two answers
// begin in one instant.
func thinking(w http.ResponseWriter, r *http.Request) {
	h := fnv.New32()
	io.WriteString(h, r.URL.Path)
	i, _ := strconv.Atoi(r.URL.Path[1:])
	time.Sleep(time.Duration(h.Sum32()%100)*ms + time.Duration(i)*us)
	w.Header().Set("Content-Length", "16384")
	w.Write(make([]byte, 16384))
}

// pageTime is how long 50 answers take over TLS: by HTTP/1.1 on six
// connections, or by HTTP/2 on one that is open, asked for 1 ns apart.
func pageTime(t *testing.T, proto string, link linkdelay.Link) (took time.Duration) {
	t.Helper()
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		authority := ca.New(t, nil)
		serveTLSWith(t, network, authority, proto, http.HandlerFunc(thinking))
		tr := transport(t, network, authority, proto)
		tr.DisableCompression = true
		fetch := func(i int) {
			resp, err := tr.RoundTrip(request(t, fmt.Sprintf("https://origin.test/%d", i)))
			if !assert.NoError(t, err) {
				return
			}
			n, err := io.Copy(io.Discard, resp.Body)
			assert.NoError(t, err)
			assert.EqualValues(t, 16384, n)
			resp.Body.Close()
		}
		workers := 6
		if proto == "h2" {
			workers = 50
			fetch(0)
		}
		var next sync.Mutex
		asked := 0
		start := time.Now()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for {
					next.Lock() // nothing blocks under it
					asked++
					i := asked
					next.Unlock()
					if i > 50 {
						return
					}
					fetch(i)
				}
			})
			time.Sleep(1)
		}
		wg.Wait()
		took = time.Since(start)
	})
	return took
}

// requireOneFigure takes the time of a page again and again.
func requireOneFigure(t *testing.T, proto string, link linkdelay.Link) {
	t.Helper()
	first := pageTime(t, proto, link)
	for range 2 {
		require.Equal(t, first, pageTime(t, proto, link), "seed %d", link.Seed)
	}
}

// One seed is one figure: what differs from run to run is how goroutines cut
// what they write, and nothing is keyed by that. A run of many:
//
//	go test -run OneSeed -count 20
func TestOneSeedIsOneFigure(t *testing.T) {
	for _, proto := range []string{"http/1.1", "h2"} {
		for seed, loss := range []float64{0.01, 0.05} {
			t.Run(fmt.Sprintf("%s at %v %%", proto, 100*loss), func(t *testing.T) {
				link := both(linkdelay.Path{Delay: 50 * ms, Loss: loss})
				link.Seed = uint64(seed)
				requireOneFigure(t, proto, link)
			})
		}
	}
}

func TestOneSeedIsOneFigureOnOneProcessor(t *testing.T) {
	link := both(linkdelay.Path{Delay: 50 * ms, Loss: 0.05})
	want := pageTime(t, "h2", link)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 3 {
		require.Equal(t, want, pageTime(t, "h2", link))
	}
}

func TestOneSeedIsOneFigureWithARate(t *testing.T) {
	for name, path := range map[string]linkdelay.Path{
		"rate":                  {Delay: 50 * ms, Rate: 10e6},
		"rate and window":       {Delay: 50 * ms, Rate: 10e6, Congestion: linkdelay.Cubic},
		"rate and loss":         {Delay: 50 * ms, Rate: 10e6, Loss: 0.01},
		"rate, loss and jitter": {Delay: 50 * ms, Rate: 10e6, Loss: 0.01, Jitter: 5 * ms},
	} {
		for _, proto := range []string{"http/1.1", "h2"} {
			t.Run(name+" "+proto, func(t *testing.T) { requireOneFigure(t, proto, both(path)) })
		}
	}
}
