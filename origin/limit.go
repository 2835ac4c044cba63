package origin

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// PerConnection lets n requests of each connection, 1 at least, be in next at a
// time. The others of that connection wait, in the order in which they came. It is
// what makes HTTP/2, on its one connection, slower than HTTP/1.1 on several.
func PerConnection(n int, next http.Handler) http.Handler {
	check("PerConnection", atLeast("n", n, 1), notNil(next))
	return Limit{Key: ByConnection, Concurrent: n}.Handler(next)
}

// PerClient serves n requests, 1 at least, of a client, which is an address, in
// each per, and n at once at first. What is above that is answered 429 with a
// Retry-After. It does not care for how many connections a client has.
func PerClient(n int, per time.Duration, next http.Handler) http.Handler {
	check("PerClient", atLeast("n", n, 1), atLeast("per", per, time.Duration(n)), notNil(next))
	return Limit{Key: ByAddress, Rate: n, Per: per, Refuse: true}.Handler(next)
}

// Work has every request take d, any number at a time, before next answers it.
func Work(d time.Duration, next http.Handler) http.Handler {
	check("Work", notNegative("d", d), notNil(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pace(r, d)
		next.ServeHTTP(w, r)
	})
}

// Workers is Work by n workers, 1 at least, whoever asks: a request that finds all
// of them at work waits for one.
func Workers(n int, d time.Duration, next http.Handler) http.Handler {
	check("Workers", atLeast("n", n, 1), notNegative("d", d), notNil(next))
	return Limit{Concurrent: n}.Handler(Work(d, next))
}

// Limit says how many requests a handler gets. The zero value limits nothing,
// and counts: it is a gauge.
type Limit struct {
	// Key says whose requests are counted together. nil is everybody's.
	Key Key

	// Concurrent is how many may be served at a time. 0 is any number.
	Concurrent int

	// Rate is how many may begin in each Per: a token bucket that holds Burst
	// tokens, is full at first, and gets one back each Per/Rate. 0 is any number.
	Rate int
	Per  time.Duration
	// Burst is how many may begin at once. 0 is Rate.
	Burst int

	// Refuse answers 429 Too Many Requests (RFC 6585, section 4) to what is
	// above the limit. Otherwise that waits for its turn: first come, first
	// served, and a request whose client leaves has spent its token.
	Refuse bool
	// RetryAfter is what 429 says, in full seconds (RFC 9110, section 10.2.3).
	// 0 is when there will be a token, rounded up, and 1 s where Concurrent
	// refused. Less than 0 says nothing.
	RetryAfter time.Duration
}

func (l Limit) validate() error {
	if err := cmp.Or(
		notNegative("Concurrent", l.Concurrent),
		notNegative("Rate", l.Rate),
		notNegative("Burst", l.Burst),
	); err != nil {
		return err
	}
	switch {
	case l.Rate == 0 && (l.Per != 0 || l.Burst != 0):
		return errors.New("Per or Burst without Rate: they limit nothing")
	case l.Rate > 0 && l.Per/time.Duration(l.Rate) <= 0:
		return fmt.Errorf("Rate %d in each Per %v: want at least 1 ns for each", l.Rate, l.Per)
	case !l.Refuse && l.RetryAfter != 0:
		return errors.New("RetryAfter without Refuse: nothing would say it")
	}
	return nil
}

// Handler is next under the limit, with counts of its own. It panics if the
// Limit is mistaken. It works behind any server.
func (l Limit) Handler(next http.Handler) *Limiter {
	check("Limit", l.validate(), notNil(next))
	if l.Key == nil {
		l.Key = func(*http.Request) string { return "" }
	}
	if l.Burst == 0 {
		l.Burst = l.Rate
	}
	return &Limiter{limit: l, next: next, shares: make(map[string]*share), peaks: make(map[string]int)}
}

// ServeHTTP serves r when it is its turn.
func (l *Limiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, refused, err := l.enter(r)
	switch {
	case err != nil:
		panic(http.ErrAbortHandler) // the client has left
	case refused != nil:
		l.limit.refuse(w, *refused)
		return
	}
	defer l.leave(s)
	l.next.ServeHTTP(w, r)
}

// refuse answers 429. ready is when a token will be there; 0 is unknown.
func (l Limit) refuse(w http.ResponseWriter, ready time.Duration) {
	after := l.RetryAfter
	if after == 0 {
		after = max(ready, time.Second)
	}
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	http.Error(w, "origin: limit: too many requests", http.StatusTooManyRequests)
}
