package netlog

import (
	"fmt"
	"slices"
	"time"
)

// Filter selects connections, requests and stalls. Several are joined by
// "and"; a nil Filter selects everything.
//
// A stall is asked about the request that waited. If that request is not in the
// Log, its protocol, its status and whether a connection carried it are not
// known, and a Filter that asks for one of them does not select the stall.
type Filter interface {
	matches(f *facts) bool
	words() string // completes "connections …" in a message
}

// facts are what filters look at: the same of a connection, a request or a
// stall, so that each filter is one comparison.
type facts struct {
	leg      Leg
	host     string // host:port, or the URL of a request
	protocol string
	used     bool
	statuses []int
	from, to time.Time // zero is no bound
}

func selects(filters []Filter, f *facts) bool {
	for _, one := range filters {
		if one != nil && !one.matches(f) {
			return false
		}
	}
	return true
}

func factsOfConnection(c *Connection, statuses []int) *facts {
	return &facts{
		leg: c.Leg, host: c.Host, protocol: c.Protocol, used: c.Used(), statuses: statuses,
		from: c.Opened, to: c.Closed,
	}
}

func factsOfRequest(q *Request) *facts {
	f := &facts{leg: q.Leg, host: q.host(), protocol: q.Protocol, from: q.Start, to: q.End}
	f.used = q.Connection != nil || !q.Sent.IsZero() // a NetLog may not say by which
	if q.Status != 0 {
		f.statuses = []int{q.Status}
	}
	return f
}

// factsOfStall takes the request that waited; nil if it is not in the Log.
func factsOfStall(s *Stall, q *Request) *facts {
	f := new(facts)
	if q != nil {
		f = factsOfRequest(q)
	}
	f.leg, f.from, f.to = s.Leg, s.Start, s.Start.Add(s.Duration)
	if f.host = s.Host; s.Host == "" {
		f.host = s.URL
	}
	return f
}

// Leg names a side of a fixture that has several, as mitm.Downstream does. As
// a Filter it selects what was recorded on that side; Leg("") selects what was
// recorded by fixtures that have one side only.
type Leg string

func (l Leg) matches(f *facts) bool { return f.leg == l }
func (l Leg) words() string {
	if l == "" {
		return "of no leg"
	}
	return "on leg " + string(l)
}

// Host selects what went to host h. "example.com" stands for any port,
// "example.com:443" for that one; a URL stands for its host and port. Names are
// compared without case and without a trailing dot, IP addresses by value, with
// or without brackets.
//
// A connection is judged by its own Host, a request by its URL: over HTTP/2 the
// two may differ (connection coalescing, RFC 9113, section 9.1.1).
func Host(h string) Filter { return hostFilter{parseAuthority(h), h} }

type hostFilter struct {
	want    authority
	written string
}

func (h hostFilter) matches(f *facts) bool { return h.want.covers(parseAuthority(f.host)) }
func (h hostFilter) words() string         { return "to host " + h.written }

// Protocol selects what was spoken: connections and requests by their Protocol,
// which may be Unknown, stalls by that of the request that waited. A connection
// that negotiated p by ALPN and carried nothing has not spoken it.
func Protocol(p string) Filter { return protocolFilter(p) }

type protocolFilter string

func (p protocolFilter) matches(f *facts) bool { return f.protocol == string(p) }
func (p protocolFilter) words() string         { return over(string(p)) }

// Used selects connections that carried at least one request, requests that a
// connection carried, and stalls of such requests.
//
// A client may dial for a request and then send it on a connection that came free
// meanwhile, as net/http does also for HTTP/2: the one it dialled carries none.
func Used() Filter { return usedFilter{} }

type usedFilter struct{}

func (usedFilter) matches(f *facts) bool { return f.used }
func (usedFilter) words() string         { return "that carried a request" }

// Status selects requests whose final answer had this status, connections that
// carried at least one of those, and stalls of those.
func Status(code int) Filter { return statusFilter(code) }

type statusFilter int

func (s statusFilter) matches(f *facts) bool { return slices.Contains(f.statuses, int(s)) }
func (s statusFilter) words() string         { return fmt.Sprintf("with an answer of status %d", int(s)) }

// Between selects what overlaps the time from t0 to t1, both included:
// connections from Opened to Closed, requests from Start to End, stalls for
// their Duration. What has not ended yet lasts for ever, and a zero t0 or t1 is
// no bound.
func Between(t0, t1 time.Time) Filter { return betweenFilter{t0, t1} }

type betweenFilter struct{ t0, t1 time.Time }

func (b betweenFilter) matches(f *facts) bool {
	return notAfter(f.from, b.t1) && notAfter(b.t0, f.to)
}

func (b betweenFilter) words() string {
	const layout = "15:04:05.000000"
	switch {
	case b.t0.IsZero() && b.t1.IsZero():
		return "at any time"
	case b.t1.IsZero():
		return "after " + b.t0.Format(layout)
	case b.t0.IsZero():
		return "before " + b.t1.Format(layout)
	}
	return "between " + b.t0.Format(layout) + " and " + b.t1.Format(layout)
}

// notAfter takes a zero time for one without bound, on whichever side it is.
func notAfter(a, b time.Time) bool { return a.IsZero() || b.IsZero() || !a.After(b) }
