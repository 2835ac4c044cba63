package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// running is one call of the handler.
type running struct {
	method, path string
	since        time.Time
}

func (r *running) String() string { return r.method + " " + r.path }

// begin counts a call of the handler; nil means that the connection or the
// server is over, so that nobody may be called anymore. (An http2.Server
// starts its handlers as goroutines that may come to life after it returned.)
func (s *Server) begin(c *servedConn, r *http.Request) *running {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.over {
		return nil
	}
	call := s.spareCall()
	*call = running{method: r.Method, path: r.RequestURI, since: now}
	s.running[call] = struct{}{}
	c.handlers++
	return call
}

// spareCall is a running that nobody needs, of which a few are kept. It is called
// with mu held.
func (s *Server) spareCall() *running {
	n := len(s.spare)
	if n == 0 {
		return new(running)
	}
	call := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return call
}

const mostSpare = 16

func (s *Server) finish(c *servedConn, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, r)
	if len(s.spare) < mostSpare {
		s.spare = append(s.spare, r)
	}
	c.handlers--
	c.checkQuiet()
	s.checkIdle()
}

// maxNamed is how many requests an error names.
const maxNamed = 8

// closeError is what Close of a Server says. A Closer, whose fixture has a name of its
// own, takes what it says and not this package's.
type closeError struct{ what string }

func (e *closeError) Error() string { return "wire: server: close: " + e.what }

// stillRunning is the error of a Close that ran out of time; nil if all ended
// just now.
func (s *Server) stillRunning() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) == 0 && len(s.conns) == 0 {
		return nil
	}
	if len(s.running) == 0 {
		return &closeError{fmt.Sprintf("%d connections not over", len(s.conns))}
	}
	all := make([]*running, 0, len(s.running))
	for r := range s.running {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *running) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.path, b.path))
	})
	return &closeError{"still running: " + list(all)}
}

func list(all []*running) string {
	names := make([]string, 0, maxNamed+1)
	for i, r := range all {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(all)-maxNamed))
			break
		}
		names = append(names, fmt.Sprintf("%s (%.1fs)", r, time.Since(r.since).Seconds()))
	}
	return strings.Join(names, ", ")
}
