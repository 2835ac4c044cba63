package pageload

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// HTTP3Conn is an open HTTP/3 connection. It is an alias, so that what opens
// one need not know of this package; h3.Browser of netlog/h3 does.
type HTTP3Conn = interface {
	// RoundTrip sends a request that has no body. started is told of its record
	// when it is about to be sent.
	RoundTrip(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error)
	// Handshaken is closed when the handshake is over; with 0-RTT that is after
	// the connection could be used.
	Handshaken() <-chan struct{}
	// Done is closed when the connection is over.
	Done() <-chan struct{}
	Close() error
}

// sessions are the HTTP/3 connections of one load: one for each origin.
type sessions struct {
	plan    *plan
	ctx     context.Context // of dials; ends with close
	cancel  context.CancelFunc
	running sync.WaitGroup // dials

	mu     sync.Mutex
	byHost map[string]*session // what requests go by; guarded by mu
	all    []*session          // guarded by mu
	told   map[string]bool     // what was noted once; guarded by mu
}

// session is a connection, or the attempt at one.
type session struct {
	host, where string
	conn        HTTP3Conn // written before over is set
	failed      bool      // the handshake did, and where is broken

	over    bool            // dialling is; guarded by sessions.mu
	waiting []chan struct{} // closed in order when over; guarded by sessions.mu
}

func newSessions(p *plan) *sessions {
	s := &sessions{plan: p, byHost: make(map[string]*session), told: make(map[string]bool)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// get is the connection for what is at the URL; nil is to go by TCP. It waits
// for a handshake, the plan's head start long at the most.
func (s *sessions) get(ctx context.Context, at *url.URL, proxied bool) (*session, error) {
	host := hostPort(at)
	if s.plan.http3 == nil || at.Scheme != "https" {
		return nil, nil
	}
	where, whyNot := s.plan.alternatives.choose(host)
	if where != "" && proxied {
		where, whyNot = "", "the requests go through a proxy"
	}
	if where == "" {
		if whyNot != "" {
			s.once(host, "", "passed over", whyNot)
		}
		return nil, nil
	}
	one, ready := s.join(host, where)
	if err := s.await(ctx, ready); err != nil {
		return nil, err
	}
	select {
	case <-ready:
	default:
		s.once(host, where, "passed over", fmt.Sprintf("no handshake within %v", s.plan.headStart))
		return nil, nil
	}
	if one.failed {
		return nil, nil
	}
	return one, nil
}

func (s *sessions) await(ctx context.Context, ready chan struct{}) error {
	var late <-chan time.Time
	if s.plan.headStart > 0 {
		timer := time.NewTimer(s.plan.headStart)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-ready:
	case <-late:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// join is a place in the queue for the session of a host, which is dialled if
// there is none, or none that lives.
func (s *sessions) join(host, where string) (*session, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byHost[host]
	if one == nil || one.gone(where) {
		one = &session{host: host, where: where}
		s.byHost[host] = one
		s.all = append(s.all, one)
		s.running.Go(func() { s.dial(one) })
	}
	ready := make(chan struct{})
	if one.over {
		close(ready)
	} else {
		one.waiting = append(one.waiting, ready)
	}
	return one, ready
}

// gone needs sessions.mu.
func (one *session) gone(where string) bool {
	if !one.over {
		return false
	}
	if one.failed || one.where != where {
		return true
	}
	select {
	case <-one.conn.Done():
		return true
	default:
		return false
	}
}

// dial runs once for a session. Who waits goes on in the order of asking, one
// nanosecond of virtual time apart, as loadBatch has it.
func (s *sessions) dial(one *session) {
	s.note(one.host, one.where, "tried", "it is advertised, and not known to be broken")
	rec := s.plan.log.Open(netlog.Connection{Network: "udp", Host: one.host, Remote: one.where, OpenReason: "Alt-Svc"})
	conn, err := s.plan.http3(s.ctx, one.host, one.where, rec)
	switch {
	case err == nil:
		one.conn = conn
		s.connected(one)
	case s.ctx.Err() != nil:
		one.failed = true
		s.note(one.host, one.where, "given up", "the load is over")
	default:
		one.failed = true
		s.broken(one, err)
	}
	for {
		s.mu.Lock()
		if len(one.waiting) == 0 {
			one.over = true
			s.mu.Unlock()
			return
		}
		next := one.waiting[0]
		one.waiting = one.waiting[1:]
		s.mu.Unlock()
		close(next)
		time.Sleep(time.Nanosecond)
	}
}

func (s *sessions) connected(one *session) {
	select {
	case <-one.conn.Handshaken():
		s.plan.alternatives.confirmed(one.where)
		s.note(one.host, one.where, "connected", "the handshake succeeded")
	default:
		s.note(one.host, one.where, "connected", "0-RTT, before the handshake has ended")
	}
}

// broken marks the alternative, as browsers do when a handshake has failed and for
// no other reason.
func (s *sessions) broken(one *session, err error) {
	period := s.plan.alternatives.broken(one.where, err.Error())
	s.note(one.host, one.where, "broken", fmt.Sprintf("for %v: %v", period, err))
}

// failedEarly tells whether a request over the session failed because the
// handshake did, which 0-RTT does not wait for. Then the session counts as one
// that was never there.
func (s *sessions) failedEarly(one *session, err error) bool {
	select {
	case <-one.conn.Handshaken():
		return false
	default:
	}
	select {
	case <-one.conn.Done():
	default:
		return false
	}
	if s.drop(one) {
		s.broken(one, err)
	}
	return true
}

// drop has the next request dial; false is that another has done so.
func (s *sessions) drop(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byHost[one.host] != one {
		return false
	}
	delete(s.byHost, one.host)
	return true
}

// AlternativeNote is the type of the netlog.Notes that tell what a load decided
// about HTTP/3. Their Params are strings: "host", "alternative", "decision" and
// "reason". Decisions are "remembered", "forgotten", "tried", "connected",
// "broken", "passed over" (noted once for a host), "not retried" and "given up".
const AlternativeNote = "pageload.alternative"

// note records a decision.
func (s *sessions) note(host, where, decision, reason string) {
	s.plan.log.Note(netlog.Note{Type: AlternativeNote, Params: map[string]any{
		"host": host, "alternative": where, "decision": decision, "reason": reason,
	}})
}

// once is note, the first time.
func (s *sessions) once(host, where, decision, reason string) {
	key := host + " " + where + " " + decision
	s.mu.Lock()
	told := s.told[key]
	s.told[key] = true
	s.mu.Unlock()
	if !told {
		s.note(host, where, decision, reason)
	}
}

func (s *sessions) close() {
	s.cancel()
	s.running.Wait()
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	for _, one := range all {
		if one.conn != nil {
			one.conn.Close()
		}
	}
}

// overHTTP3 sends the request over the session. What was sent is not sent again, for
// a browser does not know what the server has made of it, unless the server says that
// it has rejected it (RFC 9114, section 4.1.1).
func (f *fetch) overHTTP3(ctx context.Context, one *session, at *url.URL, asked time.Time) (*document, *url.URL, error) {
	sent := false
	resp, err := one.conn.RoundTrip(f.bare(ctx, at), func(q *netlog.RequestRecord) {
		sent, f.sent = true, true
		q.Update(func(q *netlog.Request) { q.Start, q.Wait = asked, time.Since(asked) })
	})
	if err != nil && !sent && ctx.Err() == nil {
		f.pools.sessions.drop(one)
		return nil, nil, &lostError{err} // the connection ended, or said GOAWAY, while nobody used it
	}
	f.plan.alternatives.used(one.host)
	if wire.IsRefused(err) {
		return nil, nil, &lostError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	f.plan.alternatives.confirmed(one.where) // with 0-RTT nothing else has
	f.learn(at, resp)
	doc, err := f.read(at, resp)
	return doc, redirect(at, resp), err
}

// learn takes what the answer says of alternatives. A 421 says that it is of no
// authority (RFC 9110, section 15.5.20), and one without TLS that it has no proof
// of any.
func (f *fetch) learn(at *url.URL, resp *http.Response) {
	if f.plan.http3 == nil || at.Scheme != "https" || resp.StatusCode == http.StatusMisdirectedRequest {
		return
	}
	host := hostPort(at)
	if change, reason, where := f.plan.alternatives.learn(host, resp.Header.Values("Alt-Svc")); change != "" {
		f.pools.sessions.note(host, where, change, reason)
	}
}
