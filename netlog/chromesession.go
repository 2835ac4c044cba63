package netlog

import (
	"fmt"
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// session is an HTTP2_SESSION: what is spoken on one socket.
type session struct {
	id      int64
	socket  int64
	seen    time.Time
	host    string
	proxy   string
	limit   int
	goAway  string
	closing string
	failed  int64 // net error
	streams map[int64]*attempt
	tunnels int // CONNECTs over it
}

func (c *chrome) session(e *event) *session {
	s := c.sessions[e.Source.ID]
	if s == nil {
		s = &session{id: e.Source.ID, seen: e.Time, streams: make(map[int64]*attempt)}
		c.sessions[s.id] = s
	}
	return s
}

func (c *chrome) onSessions() {
	of := func(name string, do func(s *session, e *event)) {
		c.on(name, func(e *event) { do(c.session(e), e) })
	}
	of(chromefile.H2Session, func(s *session, e *event) {
		if e.Phase == chromefile.Begin {
			s.host, s.proxy = e.Params.Str("host"), proxiesOf(e.Params.Str("proxy"))
		}
	})
	of(chromefile.H2Initialized, func(s *session, e *event) { s.socket, _ = e.Params.Dependency() })
	of(chromefile.H2RecvSetting, c.setting)
	of(chromefile.H2SendHeaders, c.sendHeaders)
	of(chromefile.H2RecvRST, c.recvReset)
	of(chromefile.H2RecvGoAway, c.recvGoAway)
	of(chromefile.H2Close, c.sessionClose)
	c.on(chromefile.StreamUpdateRecv, func(e *event) {
		if r := c.request(e); r != nil && r.at != nil && r.at.stream == 0 {
			r.at.stream, _ = e.Params.Int("stream_id")
		}
	})
}

// setting reads {"id":"3 (SETTINGS_MAX_CONCURRENT_STREAMS)","value":100}.
func (c *chrome) setting(s *session, e *event) {
	const maxConcurrentStreams = "3" // RFC 9113, section 6.5.2
	number, _, _ := strings.Cut(e.Params.Str("id"), " ")
	if n, ok := e.Params.Int("id"); ok {
		number = fmt.Sprint(n)
	}
	if value, ok := e.Params.Int("value"); ok && number == maxConcurrentStreams {
		s.limit = int(value)
	}
}

// sendHeaders ties a stream to the request for which it was made.
func (c *chrome) sendHeaders(s *session, e *event) {
	id, ok := e.Params.Int("stream_id")
	if !ok {
		return
	}
	for _, line := range e.Params.Strings("headers") {
		if line == ":method: CONNECT" {
			s.tunnels++
			return
		}
	}
	of, _ := e.Params.Dependency()
	if a := c.sent[of]; a != nil && a.stream == 0 {
		a.stream = id
		s.streams[id] = a
	}
}

func (c *chrome) recvReset(s *session, e *event) {
	id, _ := e.Params.Int("stream_id")
	if a := s.streams[id]; a != nil && a.alive {
		a.reset = "reset by the server: " + errorCode(e.Params)
	}
}

func (c *chrome) recvGoAway(s *session, e *event) {
	last, _ := e.Params.Int("last_accepted_stream_id")
	s.goAway = fmt.Sprintf("GOAWAY %s last stream %d, received", errorCode(e.Params), last)
}

// errorCode is "REFUSED_STREAM" of "7 (REFUSED_STREAM)".
func errorCode(p chromefile.Params) string {
	for _, key := range []string{"error_code", "status", "quic_error"} {
		text := p.Str(key)
		if _, name, ok := strings.Cut(strings.TrimSuffix(text, ")"), "("); ok {
			return name
		}
		if text != "" {
			return text
		}
		if n, ok := p.Int(key); ok {
			return fmt.Sprint(n)
		}
	}
	return "of unknown code"
}

func (c *chrome) sessionClose(s *session, e *event) {
	s.closing = strings.TrimSuffix(e.Params.Str("description"), ".")
	s.failed, _ = e.Params.Int("net_error")
}
