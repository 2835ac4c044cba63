package wire

import (
	"net/http"

	"golang.org/x/net/http2"
)

// GoAway refuses the request by GOAWAY NO_ERROR, whose last stream is the client's
// one before it; the connection carries no more requests and closes when those that
// came before have ended (RFC 9113, section 6.8). On HTTP/1.1, where nothing
// like it can be said, the connection closes without an answer.
func GoAway(w http.ResponseWriter, r *http.Request, next http.Handler) {
	GoAwayWith(http2.ErrCodeNo, "")(w, r, next)
}

// GoAwayWith is GoAway with a code and debug data.
func GoAwayWith(code http2.ErrCode, debug string) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if s := StreamOf(r); s != nil && s.id != 0 {
			s.Control().GoAway(max(0, s.ID()-2), code, debug)
		}
		if f := foreignOf(r); f != nil {
			f.Reset(http2.ErrCodeRefusedStream)
		}
		panic(http.ErrAbortHandler)
	}
}

// LastOne serves the request as the last one of its connection: by GOAWAY
// NO_ERROR that names its stream, or by Connection: close on HTTP/1.1.
func LastOne(w http.ResponseWriter, r *http.Request, next http.Handler) {
	LastOneWith(http2.ErrCodeNo, "")(w, r, next)
}

// LastOneWith is LastOne with a code and debug data.
func LastOneWith(code http2.ErrCode, debug string) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if s := StreamOf(r); s != nil && s.id != 0 {
			s.Control().GoAway(s.ID(), code, debug)
		} else if foreignOf(r) == nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	}
}

// Refuse resets the request's stream with REFUSED_STREAM, which says that it
// was not processed and may be sent again (RFC 9113, section 8.7). On HTTP/1.1
// the connection closes without an answer.
func Refuse(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ResetWith(http2.ErrCodeRefusedStream)(w, r, next)
}

// Reset resets the request's stream with INTERNAL_ERROR. On HTTP/1.1 the
// connection is reset, where what is below it can be.
func Reset(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if s := StreamOf(r); s != nil && s.id == 0 {
		s.Control().Abort()
	}
	ResetWith(http2.ErrCodeInternal)(w, r, next)
}

// ResetWith resets the request's stream with a code. On HTTP/1.1 the connection
// closes without an answer.
func ResetWith(code http2.ErrCode) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if s := StreamOf(r); s != nil && s.id != 0 {
			s.ResetAs(code)
		}
		if f := foreignOf(r); f != nil {
			f.Reset(code)
		}
		panic(http.ErrAbortHandler)
	}
}

// ResetAfter serves the request and resets its stream, or on HTTP/1.1 the
// connection, behind the first n bytes of the answer's body. An answer that is
// no longer passes whole.
func ResetAfter(n int64, code http2.ErrCode) Action {
	return cutAfter(n, func(s *Stream, r *http.Request) {
		if s.id == 0 {
			s.Control().Abort()
		}
		s.ResetAs(code)
	}, func(f *Foreign) { f.Reset(code) })
}

// CloseAfter serves the request and closes its connection behind the first n
// bytes of the answer's body. An answer that is no longer passes whole.
func CloseAfter(n int64) Action {
	return cutAfter(n, func(s *Stream, r *http.Request) {
		s.Flushed(r.Context())
		s.Control().Close()
	}, func(f *Foreign) { f.Close() })
}

// AbortAfter is CloseAfter by a reset of the connection, by which some of the
// bytes may be lost.
func AbortAfter(n int64) Action {
	return cutAfter(n, func(s *Stream, r *http.Request) {
		s.Flushed(r.Context())
		s.Control().Abort()
	}, func(f *Foreign) { f.Close() })
}

func cutAfter(n int64, cut func(*Stream, *http.Request), foreign func(*Foreign)) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		s, f := StreamOf(r), foreignOf(r)
		if s == nil && f == nil {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(&cutWriter{ResponseWriter: w, left: n, cut: func() {
			if f != nil {
				foreign(f)
				return
			}
			cut(s, r)
		}}, r)
	}
}

// cutWriter ends an answer.
type cutWriter struct {
	http.ResponseWriter
	left int64
	cut  func()
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if int64(len(p)) <= w.left {
		w.left -= int64(len(p))
		return w.ResponseWriter.Write(p)
	}
	w.ResponseWriter.Write(p[:w.left])
	http.NewResponseController(w.ResponseWriter).Flush()
	w.cut()
	panic(http.ErrAbortHandler)
}

// Unwrap is for http.ResponseController.
func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// CloseBehind serves the request and closes its connection right behind the
// answer, of which the answer says nothing.
func CloseBehind(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if s := StreamOf(r); s != nil {
		s.CloseBehind()
	}
	next.ServeHTTP(w, r)
}

// NoContinue serves the request without ever sending 100 (RFC 9110, section
// 10.1.1): a handler that reads the body waits for a client that has one.
func NoContinue(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if s := StreamOf(r); s != nil {
		s.NoContinue()
	}
	next.ServeHTTP(w, r)
}

// Hang answers nothing until the client gives up or the Server closes.
func Hang(w http.ResponseWriter, r *http.Request, next http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}
