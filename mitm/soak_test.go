package mitm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// Requests that are cancelled, reset, refused and cut off at random, in all four
// pairs, while the limits of streams change: each arrives whole or fails visibly, and nothing is left behind.
// WIRETEST_SOAK is how many there are; the default is a few hundred, a third of
// them under -race.
func TestSoak(t *testing.T) {
	n := 400
	if raceDetector {
		n = 132
	}
	if v := os.Getenv("WIRETEST_SOAK"); v != "" {
		var err error
		n, err = strconv.Atoi(v)
		require.NoError(t, err, "WIRETEST_SOAK")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(pairName(down, up), func(t *testing.T) { soak(t, down, up, n/4, seed) })
		}
	}
	if left := leftovers(); left != "" {
		t.Errorf("goroutines left:\n%s", left)
	}
}

type soaker struct {
	*stage
	rand  *rand.Rand // guarded by mu
	mu    sync.Mutex
	whole atomic.Int64
	ended atomic.Int64 // otherwise
}

func soak(t *testing.T, down, up string, n int, seed uint64) {
	refused := new(sync.Map)
	s := setting{down: down, up: up, origin: origin.Config{Handler: handler(func(w http.ResponseWriter, r *http.Request) { shaky(w, r, refused) })}}
	s.proxy.Rules = []mitm.Rule{{Host: "*"}}
	k := &soaker{stage: setUp(t, linkdelay.NewLoopback(t, linkdelay.Link{}), s), rand: rand.New(rand.NewPCG(seed, 0))}
	var wg, changing sync.WaitGroup
	over := make(chan struct{})
	changing.Go(func() { k.changeLimits(t, over) })
	gate := make(chan struct{}, 24)
	for i := range n {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			k.one(t, i)
		})
	}
	wg.Wait()
	close(over)
	changing.Wait()
	assert.NotZero(t, k.whole.Load()) // how many is chance; one tells of each that fails without a cause
	t.Logf("%d of %d whole, %d upstream connections", k.whole.Load(), n, len(k.proxy.Log().Connections(mitm.Upstream)))
	k.tr.CloseIdleConnections()
	require.NoError(t, k.proxy.Close())
	for _, c := range k.proxy.Log().Connections() {
		if c.Closed.IsZero() {
			t.Errorf("connection %d on the %s leg is not closed", c.ID, c.Leg)
		}
	}
	for _, q := range k.proxy.Log().Requests() {
		if q.End.IsZero() {
			t.Errorf("request %d on the %s leg has not ended", q.ID, q.Leg)
		}
	}
	k.agree(t)
}

// changeLimits changes the policy while it is in use.
func (k *soaker) changeLimits(t *testing.T, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(5 * time.Millisecond):
		}
		assert.NoError(t, k.proxy.SetMaxConcurrentStreams(mitm.Upstream, "*", 1+k.roll(24)))
		assert.NoError(t, k.proxy.SetMaxConcurrentStreams(mitm.Downstream, "*", 8+k.roll(100)))
	}
}

// agree wants pairs that say the same of both legs.
func (k *soaker) agree(t *testing.T) {
	t.Helper()
	for _, p := range k.proxy.Log().Pairs() {
		if p.Client.Err == "" && p.Origin.Err == "" && p.Client.Status == p.Origin.Status && p.Client.BodyBytesDown != p.Origin.BodyBytesDown {
			t.Errorf("client got %d bytes, origin sent %d:\n%v", p.Client.BodyBytesDown, p.Origin.BodyBytesDown, netlog.Pairs{p})
		}
	}
}

// shaky answers what was sent, or does what the query asks for. It refuses a
// request once: clients of h2 try again by themselves.
func shaky(w http.ResponseWriter, r *http.Request, refused *sync.Map) {
	rc := http.NewResponseController(w)
	rc.EnableFullDuplex()
	switch r.URL.Query().Get("do") {
	case "reset":
		if s := wire.StreamOf(r); s != nil && s.ID() != 0 {
			s.ResetAs(http2.ErrCodeEnhanceYourCalm)
		}
		panic(http.ErrAbortHandler)
	case "refuse":
		if _, again := refused.LoadOrStore(r.URL.RawQuery, true); again {
			break
		}
		if s := wire.StreamOf(r); s != nil && s.ID() != 0 {
			s.ResetAs(http2.ErrCodeRefusedStream)
		}
		panic(http.ErrAbortHandler)
	case "goaway":
		if s := wire.StreamOf(r); s != nil && s.ID() != 0 {
			s.Control().GoAway(s.ID(), http2.ErrCodeNo, "soak")
		} else {
			w.Header().Set("Connection", "close")
		}
	case "half":
		w.Header().Set("Content-Length", "1000000")
		w.Write(make([]byte, 50_000))
		rc.Flush()
		panic(http.ErrAbortHandler)
	case "hang":
		io.WriteString(w, "begun")
		rc.Flush()
		<-r.Context().Done()
		return
	case "early":
		io.WriteString(w, "early")
		return
	}
	w.Header().Set("Trailer", "X-Sum")
	hash := sha256.New()
	io.Copy(io.MultiWriter(w, hash), r.Body)
	w.Header().Set("X-Sum", fmt.Sprintf("%x", hash.Sum(nil)))
}

func (k *soaker) roll(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rand.IntN(n)
}

// one asks for something, and may leave before it has it.
func (k *soaker) one(t *testing.T, i int) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	do := ""
	if faults := []string{"reset", "refuse", "half", "hang", "early"}; k.roll(2) == 0 {
		do = faults[k.roll(len(faults))]
	}
	if k.roll(50) == 0 { // each costs those that are in flight
		do = "goaway"
	}
	if do == "hang" || k.roll(4) == 0 {
		defer time.AfterFunc(time.Duration(k.roll(20_000))*time.Microsecond, cancel).Stop()
	}
	if k.roll(50) == 0 {
		k.tr.CloseIdleConnections()
	}
	body := make([]byte, k.roll(1<<(4+k.roll(14))))
	for j := range body {
		body[j] = byte(i + j)
	}
	err := k.ask(ctx, i, do, body)
	switch {
	case err == nil:
		k.whole.Add(1)
	case errors.Is(err, errNotWhole):
		t.Errorf("request %d, %q with %d bytes: %v", i, do, len(body), err)
	default:
		k.ended.Add(1)
	}
	if do == "" && err != nil && ctx.Err() == nil && len(body) <= 64<<10 && !k.begunBeforeGoAway(i) { // more is not kept for a second attempt
		t.Errorf("request %d with %d bytes failed for no reason of its own: %v", i, len(body), err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("request %d, %q with %d bytes hangs", i, do, len(body))
	}
}

// begunBeforeGoAway reports whether the origin left a request out of its GOAWAY
// whose answer had begun: what a client has of that cannot be taken back.
func (k *soaker) begunBeforeGoAway(i int) bool {
	for _, q := range k.proxy.Log().Requests(mitm.Upstream) {
		if strings.HasSuffix(q.URL, fmt.Sprint("n=", i)) && q.Status != 0 && strings.Contains(q.Err, "GOAWAY") {
			return true
		}
	}
	return false
}

var errNotWhole = errors.New("not what was sent, and no error")

// ask puts body and wants it back.
func (k *soaker) ask(ctx context.Context, i int, do string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("%s/?do=%s&n=%d", k.site.URL, do, i), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusBadGateway:
		return errors.New(string(got))
	case do == "early" && string(got) == "early":
		return nil
	case !bytes.Equal(got, body):
		return fmt.Errorf("%w: status %d, %d bytes", errNotWhole, resp.StatusCode, len(got))
	case resp.Trailer.Get("X-Sum") != fmt.Sprintf("%x", sha256.Sum256(body)):
		return fmt.Errorf("%w: trailer %v", errNotWhole, resp.Trailer)
	}
	return nil
}
