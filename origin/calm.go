package origin

import (
	"net/http"
	"sync"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog/wire"
)

// Calm serves n requests of each connection, and refuses the next by GOAWAY
// ENHANCE_YOUR_CALM (RFC 9113, section 7), which ends the connection; on HTTP/1.1 it
// closes without an answer. What is refused may be sent again.
func Calm(n int, next http.Handler) http.Handler {
	check("Calm", notNegative("n", n), notNil(next))
	var budgets sync.Map // by connection: *budget
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of, _ := budgets.LoadOrStore(ByConnection(r), &budget{left: n})
		if b := of.(*budget); !b.spend(r) {
			b.refuse(w, r)
		}
		next.ServeHTTP(w, r)
	})
}

// budget is what Calm still serves of one connection.
type budget struct {
	mu      sync.Mutex
	left    int   // guarded by mu
	highest int64 // of the HTTP/2 streams that were served; guarded by mu
	said    bool  // GOAWAY was; guarded by mu
}

// spend reports whether r is served.
func (b *budget) spend(r *http.Request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return false
	}
	b.left--
	if s := wire.StreamOf(r); s != nil {
		b.highest = max(b.highest, s.ID())
	}
	return true
}

// refuse ends the handler. Handlers begin in any order, so that the stream of a
// request which is too many may be below one that is served: then it is reset, for
// GOAWAY has to spare it.
func (b *budget) refuse(w http.ResponseWriter, r *http.Request) {
	s := wire.StreamOf(r)
	if s == nil || s.ID() == 0 {
		GoAwayWith(http2.ErrCodeEnhanceYourCalm, "")(w, r, nil)
	}
	b.mu.Lock()
	last, first := b.highest, !b.said
	b.said = true
	b.mu.Unlock()
	if first {
		s.Control().GoAway(last, http2.ErrCodeEnhanceYourCalm, "")
	}
	Refuse(w, r, nil)
}
