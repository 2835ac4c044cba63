package origin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/wiretest/netlog/wire"
)

// Limiter is a handler under a Limit. It is a gauge of what passes it.
type Limiter struct {
	limit Limit
	next  http.Handler

	mu     sync.Mutex // never held while blocking
	counts LimitCounts
	shares map[string]*share
	peaks  map[string]int
}

// LimitCounts are what a Limiter has seen, all keys together.
type LimitCounts struct {
	Running    int // are in the handler now
	Peak       int // most that were at one instant
	Waiting    int // wait for their turn now
	MaxWaiting int // most that waited at one instant
	Admitted   int // have been let in
	Refused    int // were answered 429
}

// Counts are the figures so far.
func (l *Limiter) Counts() LimitCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// Peaks are, by key, the most requests that were in the handler at one instant.
func (l *Limiter) Peaks() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.peaks)
}

// share is what one key has of the limit. Guarded by Limiter.mu.
type share struct {
	key     string
	running int
	asleep  int             // wait for their tokens
	queue   []chan struct{} // wait for others to leave; closed when it is their turn
	full    time.Time       // when the bucket will be full again
}

// maxIdle is how many keys are kept that have nothing but a bucket to fill.
const maxIdle = 1024

// share needs mu.
func (l *Limiter) share(key string, now time.Time) *share {
	if s := l.shares[key]; s != nil {
		return s
	}
	if len(l.shares) >= maxIdle {
		maps.DeleteFunc(l.shares, func(_ string, s *share) bool { return s.isIdle(now) })
	}
	s := &share{key: key}
	l.shares[key] = s
	return s
}

func (s *share) isIdle(now time.Time) bool {
	return s.running == 0 && s.asleep == 0 && len(s.queue) == 0 && !s.full.After(now)
}

// enter waits until r may be served. The second result, if there is one, is how
// long a refused request should wait.
func (l *Limiter) enter(r *http.Request) (*share, *time.Duration, error) {
	key, now := l.limit.Key(r), time.Now()
	l.mu.Lock()
	s := l.share(key, now)
	ready := l.tokenIn(s, now)
	full := l.isFull(s)
	switch {
	case l.limit.Refuse && (ready > 0 || full):
		l.counts.Refused++
		l.mu.Unlock()
		return nil, &ready, nil
	case ready <= 0 && !full:
		l.take(s, now)
		l.admit(s)
		l.mu.Unlock()
		return s, nil, nil
	}
	l.take(s, now)
	l.counts.Waiting++
	l.counts.MaxWaiting = max(l.counts.MaxWaiting, l.counts.Waiting)
	if ready <= 0 {
		turn := s.enqueue()
		l.mu.Unlock()
		return s, nil, l.awaitTurn(r.Context(), s, turn)
	}
	s.asleep++
	l.mu.Unlock()
	return s, nil, l.awaitToken(r.Context(), s, ready)
}

// tokenIn is how long it takes until there is a token. It needs mu.
func (l *Limiter) tokenIn(s *share, now time.Time) time.Duration {
	if l.limit.Rate == 0 || !s.full.After(now) {
		return 0
	}
	return s.full.Sub(now) - time.Duration(l.limit.Burst-1)*l.interval()
}

func (l *Limiter) interval() time.Duration { return l.limit.Per / time.Duration(l.limit.Rate) }

// take takes a token, or the next one that will be there.
func (l *Limiter) take(s *share, now time.Time) {
	if l.limit.Rate == 0 {
		return
	}
	if s.full.Before(now) {
		s.full = now
	}
	s.full = s.full.Add(l.interval())
}

func (l *Limiter) isFull(s *share) bool {
	return l.limit.Concurrent > 0 && s.running >= l.limit.Concurrent
}

// admit counts a request that is let in. It needs mu.
func (l *Limiter) admit(s *share) {
	s.running++
	l.counts.Running++
	l.counts.Admitted++
	l.counts.Peak = max(l.counts.Peak, l.counts.Running)
	l.peaks[s.key] = max(l.peaks[s.key], s.running)
}

// awaitToken waits for a token, and then for the others of the share.
func (l *Limiter) awaitToken(ctx context.Context, s *share, ready time.Duration) error {
	err := wire.Pause(ctx, ready)
	l.mu.Lock()
	s.asleep--
	if err == nil && l.isFull(s) {
		turn := s.enqueue()
		l.mu.Unlock()
		return l.awaitTurn(ctx, s, turn)
	}
	defer l.mu.Unlock()
	l.counts.Waiting--
	if err == nil {
		l.admit(s)
	}
	return err
}

// enqueue needs mu.
func (s *share) enqueue() chan struct{} {
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	return turn
}

// awaitTurn waits until leave has admitted the request.
func (l *Limiter) awaitTurn(ctx context.Context, s *share, turn chan struct{}) error {
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.desert(s, turn)
		return ctx.Err()
	}
}

// desert leaves the queue; a turn that came meanwhile goes to the next.
func (l *Limiter) desert(s *share, turn chan struct{}) {
	l.mu.Lock()
	i := slices.Index(s.queue, turn)
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		l.counts.Waiting--
	}
	l.mu.Unlock()
	if i < 0 {
		l.leave(s)
	}
}

// leave lets the next of the share in.
func (l *Limiter) leave(s *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.running--
	l.counts.Running--
	if len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		l.counts.Waiting--
		l.admit(s)
		close(next)
		return
	}
	if s.isIdle(time.Now()) && l.shares[s.key] == s {
		delete(l.shares, s.key)
	}
}
