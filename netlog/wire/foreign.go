package wire

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// Foreign is a request that came by a protocol which a Server does not speak
// by itself, such as HTTP/3.
type Foreign struct {
	Connection *netlog.ConnectionRecord
	Request    *netlog.RequestRecord
	// Reset ends the request's stream with what the protocol has for the code.
	// Neither it nor Close may wait for the peer, or for the handler.
	Reset func(http2.ErrCode)
	// Close ends the connection.
	Close func()
	// PeerReset is what the protocol's code, by which the peer has reset the stream, is
	// in HTTP/2; false is that it has not, and nil that it cannot be known.
	PeerReset func() (http2.ErrCode, bool)
}

// ForeignReset is PeerReset of a Foreign request that a handler serves; false for any
// other request.
func ForeignReset(r *http.Request) (http2.ErrCode, bool) {
	if f := foreignOf(r); f != nil && f.PeerReset != nil {
		return f.PeerReset()
	}
	return 0, false
}

// ServeForeign answers a request as the Server does its own: by its Handler,
// with its Faults, RequestOf and ConnectionOf known to the handler, and waited
// for by Close, which ends r's context in no other way than by the connection's.
// StreamOf and ControlOf are nil, so that an Action which would say GOAWAY only
// aborts the request. A handler that panics is logged, and ServeForeign panics
// with http.ErrAbortHandler.
func (s *Server) ServeForeign(f *Foreign, w http.ResponseWriter, r *http.Request) {
	call := &running{method: r.Method, path: r.RequestURI, since: time.Now()}
	if !s.beginForeign(call) {
		panic(http.ErrAbortHandler)
	}
	defer s.finishForeign(call)
	defer s.calm(call)
	s.handlerFor(s.faults.count(), r).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), foreignKey, f)))
}

func (s *Server) beginForeign(call *running) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running[call] = struct{}{}
	return true
}

func (s *Server) finishForeign(call *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, call)
	s.checkIdle()
}

// foreignOf is nil where the request is the Server's own.
func foreignOf(r *http.Request) *Foreign {
	f, _ := r.Context().Value(foreignKey).(*Foreign)
	return f
}
