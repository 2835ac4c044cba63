package netlog

import (
	"net"
	"slices"
	"time"
)

// Filter selects connections, requests and stalls. Several are joined by "and".
type Filter interface {
	connection(c *Connection, statuses []int) bool
	request(q *Request) bool
	stall(s *Stall) bool
}

// Leg names a side of a fixture that has several, as mitm.Downstream does. As
// a Filter it selects what was recorded on that side.
type Leg string

func (l Leg) connection(c *Connection, _ []int) bool { return c.Leg == l }
func (l Leg) request(q *Request) bool                { return q.Leg == l }
func (l Leg) stall(s *Stall) bool                    { return s.Leg == l }

type filter struct {
	onConnection func(c *Connection, statuses []int) bool
	onRequest    func(q *Request) bool
	onStall      func(s *Stall) bool
}

func (f filter) connection(c *Connection, statuses []int) bool { return f.onConnection(c, statuses) }
func (f filter) request(q *Request) bool                       { return f.onRequest(q) }
func (f filter) stall(s *Stall) bool                           { return f.onStall(s) }

var (
	_ = net.JoinHostPort
	_ = slices.Contains[[]int]
	_ time.Time
)

func matchConnection(filters []Filter, c *Connection, statuses []int) bool {
	for _, f := range filters {
		if !f.connection(c, statuses) {
			return false
		}
	}
	return true
}

func matchRequest(filters []Filter, q *Request) bool {
	for _, f := range filters {
		if !f.request(q) {
			return false
		}
	}
	return true
}

func matchStall(filters []Filter, s *Stall) bool {
	for _, f := range filters {
		if !f.stall(s) {
			return false
		}
	}
	return true
}
