package probing

import "crypto/tls"

// First is the first connection to a server that stands: it is the one to resume,
// and all others are to be full handshakes.
type First struct {
	sessions tls.ClientSessionCache
	answer   int // its place among the answers; -1 is none yet
}

// NewFirst is none yet.
func NewFirst() *First { return &First{tls.NewLRUClientSessionCache(1), -1} }

// Cache is for the next connection.
func (f *First) Cache() tls.ClientSessionCache {
	if f.answer < 0 {
		return f.sessions
	}
	return nil
}

// Note is told of each answer: its place, and why the handshake has failed.
func (f *First) Note(answer int, refused error) {
	if refused == nil && f.answer < 0 {
		f.answer = answer
	}
}

// Resume is the place of its answer, and what was kept to resume it by; false is
// that none stood.
func (f *First) Resume() (answer int, sessions tls.ClientSessionCache, ok bool) {
	return f.answer, f.sessions, f.answer >= 0
}
