package origin

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog/wire"
)

// Fault is something that goes wrong on purpose with one request, or with all
// that match: Config.Faults. It has three fields:
//
//	Request int                       // the nth that arrives, from 1; with Match, of those that match; 0 is each
//	Match   func(*http.Request) bool  // nil is all; Chance is one
//	Do      Action                    // what happens, such as Refuse, ResetAfter(100, http2.ErrCodeCancel)
//
// A request that a client sends again counts again. Where the same is wanted by
// path, an Action also is a handler: see Action.
type Fault = wire.Fault

// Action is what a Fault does with a request instead of next, or before it:
//
//	func(w http.ResponseWriter, r *http.Request, next http.Handler)
//
// Those here can be called from any handler of an origin, too:
//
//	mux.HandleFunc("/goaway", func(w http.ResponseWriter, r *http.Request) { origin.GoAway(w, r, nil) })
//
// Those that serve call next, which may not be nil.
//
// Over HTTP/3 they do what quic-go permits:
//
//	Refuse, Reset, ResetWith  by HTTP/3's code of the same meaning: H3_REQUEST_REJECTED for
//	                          REFUSED_STREAM, H3_EXCESSIVE_LOAD for ENHANCE_YOUR_CALM, …
//	ResetAfter                the same; the n bytes arrive for sure only at a client with
//	                          quic.Config.EnableStreamResetPartialDelivery
//	CloseAfter, AbortAfter    close the connection by H3_NO_ERROR, by which bytes may be lost
//	GoAway, GoAwayWith        refuse the request as Refuse does; the connection goes on
//	Hang                      never answers
//
// GoAwayAt, LastOne, LastOneWith, CloseBehind, Settings, Pings and NoContinue serve
// the request and do nothing else: quic-go has no say for a handler in GOAWAY,
// SETTINGS, PING or the end of a stream, and never sends 100 unless the handler does.
type Action = wire.Action

// GoAway refuses the request by GOAWAY NO_ERROR with a last stream before its
// own: it may be sent again on another connection (RFC 9113, section 6.8). What
// came before is answered, and then the connection closes. On HTTP/1.1, which
// can say nothing like it, it closes at once and without an answer.
func GoAway(w http.ResponseWriter, r *http.Request, next http.Handler) { wire.GoAway(w, r, next) }

// GoAwayWith is GoAway with a code and debug data: ENHANCE_YOUR_CALM and
// "too_many_pings", say.
func GoAwayWith(code http2.ErrCode, debug string) Action {
	check("GoAwayWith", validDebug(debug))
	return wire.GoAwayWith(code, debug)
}

// GoAwayAt says GOAWAY with a last stream of one's choice, which is the highest
// that is served, whatever the request's own is: 0 refuses all, also what other
// handlers are at, and 1<<31-1 only announces the end. (Clients' streams have odd
// numbers; to some clients an even one is a protocol error.) A request up to it
// is served, one above it is refused. After an earlier GOAWAY the last stream
// cannot go up; then the request is reset. On HTTP/1.1 it is LastOne.
func GoAwayAt(last int64, code http2.ErrCode, debug string) Action {
	check("GoAwayAt", validLast(last), validDebug(debug))
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		s := wire.StreamOf(r)
		if s == nil || s.ID() == 0 {
			LastOne(w, r, next)
			return
		}
		if s.Control().GoAway(last, code, debug) != nil {
			Reset(w, r, next)
		}
		if s.ID() > last {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	}
}

// LastOne serves the request as the connection's last: by GOAWAY NO_ERROR that
// names its stream, or by Connection: close on HTTP/1.1.
func LastOne(w http.ResponseWriter, r *http.Request, next http.Handler) { wire.LastOne(w, r, next) }

// LastOneWith is LastOne with a code and debug data.
func LastOneWith(code http2.ErrCode, debug string) Action {
	check("LastOneWith", validDebug(debug))
	return wire.LastOneWith(code, debug)
}

// Refuse resets the request's stream with REFUSED_STREAM: it was not processed,
// and may be sent again on the same connection (RFC 9113, section 8.7). On
// HTTP/1.1 the connection closes without an answer.
func Refuse(w http.ResponseWriter, r *http.Request, next http.Handler) { wire.Refuse(w, r, next) }

// Reset resets the request's stream with INTERNAL_ERROR. On HTTP/1.1 it resets
// the connection.
func Reset(w http.ResponseWriter, r *http.Request, next http.Handler) { wire.Reset(w, r, next) }

// ResetWith resets the request's stream with a code. On HTTP/1.1 the connection
// closes without an answer.
func ResetWith(code http2.ErrCode) Action { return wire.ResetWith(code) }

// Hang never answers; the client gives up, or the origin closes.
func Hang(w http.ResponseWriter, r *http.Request, next http.Handler) { wire.Hang(w, r, next) }

// Settings changes settings in flight by a further SETTINGS frame, and then
// serves the request. What of them can be changed is told at
// wire.Control.SendSettings; what cannot resets the stream. On HTTP/1.1 it
// changes nothing.
func Settings(settings ...http2.Setting) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if c := wire.ControlOf(r); c != nil && c.Protocol() == "h2" && c.SendSettings(settings...) != nil {
			Reset(w, r, next)
		}
		next.ServeHTTP(w, r)
	}
}

// Pings floods the client with n PING frames, each of which it is to answer, and
// then serves the request. On HTTP/1.1 there are none.
func Pings(n int) Action {
	check("Pings", notNegative("n", n))
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if c := wire.ControlOf(r); c != nil {
			for i := 0; i < n && r.Context().Err() == nil; i++ {
				if c.Ping([8]byte{'f', 'l', 'o', 'o', 'd', byte(i >> 16), byte(i >> 8), byte(i)}) != nil {
					break
				}
			}
		}
		next.ServeHTTP(w, r)
	}
}

// ResetAfter serves the request and resets its stream, or on HTTP/1.1 the
// connection, behind the first n bytes of the answer's body. An answer that is no
// longer passes whole.
func ResetAfter(n int64, code http2.ErrCode) Action {
	check("ResetAfter", notNegative("n", n))
	return wire.ResetAfter(n, code)
}

// CloseAfter serves the request and closes its connection, other streams or
// not, behind the first n bytes of the answer's body. An answer that is no longer
// passes whole.
func CloseAfter(n int64) Action {
	check("CloseAfter", notNegative("n", n))
	return wire.CloseAfter(n)
}

// AbortAfter is CloseAfter by a reset of the connection, by which some of the bytes
// may be lost.
func AbortAfter(n int64) Action {
	check("AbortAfter", notNegative("n", n))
	return wire.AbortAfter(n)
}

// CloseBehind serves the request and closes its connection right behind the
// answer, which does not say so: a client that reuses it meets a closed one.
func CloseBehind(w http.ResponseWriter, r *http.Request, next http.Handler) {
	wire.CloseBehind(w, r, next)
}

// NoContinue serves the request and never sends 100 (RFC 9110, section 10.1.1).
func NoContinue(w http.ResponseWriter, r *http.Request, next http.Handler) {
	wire.NoContinue(w, r, next)
}

// Chance matches a share p of all URLs, 0 to 1, by the seed: the same URL always
// or never, whatever the order of requests. It is for Fault.Match.
func Chance(p float64, seed uint64) func(*http.Request) bool {
	check("Chance", validShare(p))
	return func(r *http.Request) bool {
		hash := fnv.New64a()
		io.WriteString(hash, r.URL.RequestURI())
		return rand.New(rand.NewPCG(seed, hash.Sum64())).Float64() < p
	}
}
