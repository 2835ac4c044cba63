package origin_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

var lives = flag.Int("lives", 40, "how many lives of an origin FuzzLives runs, by the seeds from 0")

// Whatever an origin is told to do, and whatever its clients and its link do to it,
// in whatever order all of it is closed: nothing hangs or is left behind, what
// arrives whole is what was served, and the ledgers of both sides agree. A seed is a
// life. A failure prints it; one that ends the test binary names its seed, and -v
// prints each life before it begins:
//
//	go test -race -run FuzzLives ./origin -lives 10000
//	go test -race -run 'FuzzLives/seed#17$' ./origin -v
func FuzzLives(f *testing.F) {
	for seed := range *lives {
		f.Add(uint64(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		t.Log(newLife(seed))
		h3.Bubble(t, nil, func(t *testing.T) { newLife(seed).run(t) })
	})
}

// life is what happens to an origin. Everything in it that is chance is drawn
// before it begins.
type life struct {
	seed  uint64
	cfg   origin.Config // without what belongs to the bubble
	plain []string      // the settings in words
	goods []good        // what Config.Handler serves; nil where the page does
	link  linkdelay.Link
	pools pools
	steps []step
}

// step is something that happens in a life, beside the others.
type step struct {
	at   time.Duration
	what string
	do   func(*stage)
}

func (l *life) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "life of seed %d: %s\n", l.seed, strings.Join(l.plain, ", "))
	for _, g := range l.goods {
		fmt.Fprintf(&b, "  serves %s: %s\n", g.path, g.what)
	}
	for _, s := range l.steps {
		fmt.Fprintf(&b, "  %v: %s\n", s.at, s.what)
	}
	return b.String()
}

// stage is where a life happens.
type stage struct {
	*life
	t       *testing.T
	network *linkdelay.Network
	pc      *linkdelay.Host
	site    *origin.Server
	told    *netlog.Log // by clients
	pool    map[string]http.RoundTripper
	base    *http.Transport // the one that is shared

	mu       sync.Mutex
	controls []*wire.Control // guarded by mu
	answers  []answer        // guarded by mu
}

func (l *life) run(t *testing.T) {
	s := l.setUp(t)
	var all sync.WaitGroup
	for _, step := range l.steps {
		all.Go(func() {
			time.Sleep(step.at)
			step.do(s)
		})
	}
	begun := time.Now()
	all.Wait()
	assert.Less(t, time.Since(begun), longest, "a life takes too long")
	s.tearDown()
	s.check()
}

func (l *life) setUp(t *testing.T) *stage {
	network := linkdelay.NewNetwork(t, l.link)
	s := &stage{life: l, t: t, network: network, pc: network.Host("pc.test"), told: netlog.New(t)}
	cfg := l.cfg
	cfg.Net, cfg.Log = network.Host("origin.test"), netlog.New(t)
	if l.goods != nil {
		cfg.Handler = serving(l.goods)
	}
	prepare := cfg.Prepare
	cfg.Prepare = func(c *wire.Control) {
		s.mu.Lock()
		s.controls = append(s.controls, c)
		s.mu.Unlock()
		if prepare != nil {
			prepare(c)
		}
	}
	var err error
	s.site, err = origin.Start(&cfg)
	require.NoError(t, err)
	s.openPools()
	return s
}

// close closes the origin, which takes no more time than it says.
func (s *stage) close() {
	begun := time.Now()
	if !assert.NoError(s.t, s.site.Close()) {
		s.t.Log(leftStacks()) // of what it has waited for
	}
	assert.LessOrEqual(s.t, time.Since(begun), time.Second, "Close of the origin")
}

// tearDown closes what no step has. The clients leave by themselves, for the origin
// does not know of a Transport that is wrapped.
func (s *stage) tearDown() {
	s.close()
	s.leave()
	s.settle("of the origin")
	require.NoError(s.t, s.network.Close())
	s.settle("of the network")
}

// patient is a context that ends with the client's patience.
func (s *stage) patient(patience time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.t.Context(), patience)
}
