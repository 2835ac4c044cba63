package origin_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// spent is how long n requests at once take, and how each was answered.
func spent(t *testing.T, client *http.Client, url string, n int) (time.Duration, map[int]int) {
	t.Helper()
	start, statuses := time.Now(), make(map[int]int)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			resp, err := client.Get(fmt.Sprintf("%s/%d", url, i))
			if !assert.NoError(t, err) {
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			statuses[resp.StatusCode]++
		})
	}
	all.Wait()
	return time.Since(start), statuses
}

// Thirty requests of 1.5 s each:
//
//	one at a time on each connection  h2: 30 × 1.5 s, http/1.1 on 3: 10 × 1.5 s
//	three workers, whoever asks       30/3 × 1.5 s, on either
//	four a second, eight at once      the last begins after (30−8)/4 s = 5.5 s, and takes 1.5 s
func TestLimitsTakeWhatArithmeticSays(t *testing.T) {
	const work = 1500 * time.Millisecond
	perConnection := func() http.Handler { return origin.PerConnection(1, origin.Work(work, hello)) }
	workers := func() http.Handler { return origin.Workers(3, work, hello) }
	bucket := func() http.Handler {
		return origin.Limit{Rate: 4, Per: time.Second, Burst: 8}.Handler(origin.Work(work, hello))
	}
	for _, c := range []struct {
		name    string
		handler func() http.Handler
		proto   string
		want    time.Duration
	}{
		{"connection", perConnection, alpn.H2, 45 * time.Second},
		{"connection", perConnection, alpn.HTTP11, 15 * time.Second},
		{"workers", workers, alpn.H2, 15 * time.Second},
		{"workers", workers, alpn.HTTP11, 15 * time.Second},
		{"bucket", bucket, alpn.H2, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{Net: network.Host("ct.test"), ALPN: alpn.Only(c.proto), Handler: c.handler()})
			tr := s.Transport(network.Host("pc.test"))
			tr.MaxConnsPerHost = 3
			client := &http.Client{Transport: tr}
			get(t, client, s.URL) // so that h2 has its one connection
			time.Sleep(time.Hour) // and the bucket is full again
			took, statuses := spent(t, client, s.URL, 30)
			assert.Equal(t, c.want, took, "%s over %s", c.name, c.proto)
			assert.Equal(t, map[int]int{200: 30}, statuses)
		})
	}
}

// Three at once, and then one each 2 s: of five requests two are refused. The
// bucket has a token after 2 s, and 1.5 s later it takes another half second,
// which Retry-After can only say as one.
func TestPerClientRefusesByAddress(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{Net: network.Host("ct.test"), ALPN: alpn.Only(proto), Handler: origin.PerClient(3, 6*time.Second, hello)})
			one := &http.Client{Transport: s.Transport(network.Host("one.test"))}
			_, statuses := spent(t, one, s.URL, 5)
			assert.Equal(t, map[int]int{200: 3, 429: 2}, statuses)
			other := &http.Client{Transport: s.Transport(network.Host("other.test"))}
			_, statuses = spent(t, other, s.URL, 3)
			assert.Equal(t, map[int]int{200: 3}, statuses, "another address")

			_, resp := get(t, one, s.URL)
			assert.Equal(t, "2", resp.Header.Get("Retry-After"))
			time.Sleep(1500 * time.Millisecond)
			_, resp = get(t, one, s.URL)
			assert.Equal(t, "1", resp.Header.Get("Retry-After"))
			time.Sleep(500 * time.Millisecond)
			_, resp = get(t, one, s.URL)
			assert.Equal(t, 200, resp.StatusCode)
			assert.Empty(t, resp.Header.Get("Retry-After"))
		})
	}
}

func TestLimitIsAGauge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		outer := origin.Limit{}.Handler(origin.Limit{Concurrent: 2, Refuse: true, RetryAfter: 90 * time.Second, Key: origin.ByPath}.Handler(origin.Work(time.Second, hello)))
		s := origin.New(t, &origin.Config{Net: network.Host("ct.test"), Handler: outer})
		client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, resp := get(t, client, s.URL+"/same"); resp.StatusCode == http.StatusTooManyRequests {
					assert.Equal(t, "90", resp.Header.Get("Retry-After"))
				}
			})
		}
		synctest.Wait()
		assert.Equal(t, 2, outer.Counts().Running)
		all.Wait()
		assert.Equal(t, origin.LimitCounts{Running: 0, Peak: outer.Counts().Peak, Admitted: 5}, outer.Counts())
		assert.GreaterOrEqual(t, outer.Counts().Peak, 2)
		assert.Equal(t, map[string]int{"": outer.Counts().Peak}, outer.Peaks())
		assert.Len(t, s.Log().Requests(netlog.Status(429)), 3)
	})
}

// A client that leaves the queue must not take a place with it.
func TestWhoLeavesTheQueueTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := origin.Limit{Concurrent: 1, Rate: 1000, Per: time.Second, Key: origin.ByHeader("Key")}.Handler(origin.Work(time.Second, hello))
		serve := func(ctx context.Context) (aborted bool) {
			defer func() { aborted = recover() != nil }()
			r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
			limit.ServeHTTP(httptest.NewRecorder(), r)
			return
		}
		var all sync.WaitGroup
		all.Go(func() { assert.False(t, serve(t.Context())) })
		time.Sleep(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		all.Go(func() { assert.True(t, serve(ctx), "left") })
		time.Sleep(1)
		all.Go(func() { assert.False(t, serve(t.Context())) })
		synctest.Wait()
		assert.Equal(t, 2, limit.Counts().Waiting)
		start := time.Now()
		all.Wait()
		assert.Equal(t, 2*time.Second-2, time.Since(start))
		assert.Equal(t, origin.LimitCounts{Peak: 1, MaxWaiting: 2, Admitted: 2}, limit.Counts())
	})
}

// The middleware has no need of an origin.
func TestLimitMountsOnAnyServer(t *testing.T) {
	limit := origin.PerConnection(1, hello).(*origin.Limiter)
	s := httptest.NewServer(limit)
	defer s.Close()
	for n := range 2 {
		conn := must(net.Dial("tcp", s.Listener.Addr().String()))
		defer conn.Close()
		io.WriteString(conn, strings.Repeat("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 2))
		bodies(t, conn, 2)
		assert.Len(t, limit.Peaks(), n+1, "connections")
	}
}
