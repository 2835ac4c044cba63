package netlog

import "sync"

// group is what net/http limits by MaxConnsPerHost. It is spelled as net/http
// tells its pools apart.
type group struct {
	proxy, scheme, host string
	h1                  bool // a WebSocket's handshake, which never goes over HTTP/2
}

// slots follows how many connections each group has, from outside. It answers
// whether a request that waited was queued, for which the time alone is no
// proof: a goroutine that starts late waits as well.
type slots struct {
	max int // 0 is no limit

	mu     sync.Mutex
	groups map[group]*usage
}

type usage struct {
	taken  int // connections, and dials that run
	asking int // requests that have neither a connection nor a dial
	freed  int // how many slots were given back so far
}

func (s *slots) of(g group) *usage {
	u := s.groups[g]
	if u == nil {
		u = new(usage)
		s.groups[g] = u
	}
	return u
}

// ask counts a request that asks for a connection. full is whether all slots
// may be taken; freed is to be compared later.
func (s *slots) ask(g group) (full bool, freed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of(g)
	full = s.max > 0 && u.taken+u.asking >= s.max
	u.asking++
	return full, u.freed
}

// settle takes back one ask.
func (s *slots) settle(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(g).asking--
}

func (s *slots) take(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(g).taken++
}

func (s *slots) free(g group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of(g)
	u.taken--
	u.freed++
}

func (s *slots) freed(g group) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(g).freed
}
