package wire

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
)

// Fault is something that goes wrong on purpose with one request to a Server.
type Fault struct {
	// Request says which one: the nth that arrives, from 1, over all
	// connections of the Server and in the order of their heads on each. A
	// request that a client sends again counts again; one that was refused by
	// an earlier GOAWAY does not count. With Match only those that it matches
	// count, in the order in which their handlers begin. 0 is every one.
	Request int
	// Match, if not nil, says which requests are meant. It may be called from
	// several goroutines at once.
	Match func(*http.Request) bool
	// Do is what happens instead of the handler.
	Do Action
}

// Action does something to a request, perhaps by its StreamOf and ControlOf,
// and may then call the handler, which is next. Several Faults for one request
// are nested in their order.
type Action func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Faults are those of a Server, or of something else, as of a proxy's other side.
type Faults struct {
	all     []*fault
	counted atomic.Int64 // requests
}

// fault is a Fault in use.
type fault struct {
	Fault
	matched atomic.Int64
}

// NewFaults returns nil if there are none.
func NewFaults(all []Fault) *Faults {
	if len(all) == 0 {
		return nil
	}
	f := new(Faults)
	for _, one := range all {
		f.all = append(f.all, &fault{Fault: one})
	}
	return f
}

// Around counts r, in the order of the calls, and returns next within the faults
// that are meant for it; nil if none is.
func (f *Faults) Around(r *http.Request, next http.Handler) http.Handler {
	return f.around(f.count(), r, next)
}

// count says which request this is, from 1; 0 where nobody asks.
func (f *Faults) count() int64 {
	if f == nil {
		return 0
	}
	return f.counted.Add(1)
}

// around is Around for the nth request.
func (f *Faults) around(n int64, r *http.Request, next http.Handler) (within http.Handler) {
	for _, one := range slices.Backward(f.all) {
		if one.means(n, r) {
			within = one.around(next)
			next = within
		}
	}
	return within
}

// handlerFor is the handler with the faults that are meant for r, the nth.
func (s *Server) handlerFor(n int64, r *http.Request) http.Handler {
	if s.faults == nil {
		return s.cfg.Handler
	}
	if within := s.faults.around(n, r, s.cfg.Handler); within != nil {
		return within
	}
	return s.cfg.Handler
}

// WithStream has StreamOf return s for requests with this context.
func WithStream(ctx context.Context, s *Stream) context.Context {
	return context.WithValue(context.WithValue(ctx, foreignKey, (*Foreign)(nil)), requestKey, s)
}

// WithForeign has the actions of faults be about f, for requests with this context.
func WithForeign(ctx context.Context, f *Foreign) context.Context {
	return context.WithValue(context.WithValue(ctx, foreignKey, f), requestKey, (*Stream)(nil))
}

// nth is which of the Server's requests s is; 0 where that is not known.
func (s *Stream) nth() int64 {
	if s == nil {
		return 0
	}
	return s.ordinal
}

func (f *fault) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.Do(w, r, next) })
}

func (f *fault) means(n int64, r *http.Request) bool {
	if f.Match != nil {
		if !f.Match(r) {
			return false
		}
		n = f.matched.Add(1)
	}
	return f.Request == 0 || n == int64(f.Request)
}
