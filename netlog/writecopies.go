package netlog

import (
	"maps"
	"slices"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// copies are all records of a Log at one instant, and the ids that their sources
// have in a file.
type copies struct {
	epoch       time.Time
	client      string
	head        headForm
	connections []*connectionKept
	requests    []requestKept
	stalls      []stallKept
	notes       []Note

	sockets  []source // of connections, in their order
	sessions []source // the same; id 0 is none
	first    int64    // of the ids that are free
	byID     map[int64][]int
}

// copies takes them. Where the Log was read, sources keep their ids, which
// findings name.
func (l *Log) copies() *copies {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.origin
	if o == nil {
		o = &origin{client: "wiretest"}
	}
	c := &copies{epoch: *l.epoch(), client: o.client, head: o.form(), byID: make(map[int64][]int)}
	for _, n := range l.notes {
		n.Params, n.Time = maps.Clone(n.Params), n.Time.UTC()
		c.notes = append(c.notes, n)
	}
	for _, r := range l.connections {
		c.connections = append(c.connections, r.kept(o.conns[r]))
	}
	read := l.reader()
	for _, r := range l.requests {
		one := requestKept{requestForm: requestForm(read.request(r))}
		if r.conn != nil {
			one.Carrier = r.conn.c.ID
		}
		one.inUTC()
		c.requests = append(c.requests, one)
	}
	for i, s := range l.stalls {
		c.byID[s.Request] = append(c.byID[s.Request], i)
		c.stalls = append(c.stalls, s.kept(i, o))
	}
	for _, n := range c.notes {
		if c.epoch.IsZero() || n.Time.Before(c.epoch) {
			c.epoch = n.Time
		}
	}
	c.number()
	return c
}

func (r *ConnectionRecord) kept(f *carrierFacts) *connectionKept {
	one := &connectionKept{connectionForm: connectionForm(r.snapshot(nil)), Statuses: slices.Clone(r.statuses)}
	for _, t := range []*time.Time{&one.Opened, &one.Handshaken, &one.FirstUsed, &one.Closed} {
		*t = t.UTC()
	}
	if f != nil {
		one.Source, one.Session, one.SelfSigned, one.Root, one.Check, one.Intercepted = f.source, f.session, f.selfSigned, f.root, f.check, f.intercepted
	}
	return one
}

func (s Stall) kept(index int, o *origin) stallKept {
	one := stallKept{stallForm: stallForm(s), Index: index}
	one.Start = one.Start.UTC()
	if index >= len(o.stalls) {
		return one
	}
	f := &o.stalls[index]
	one.Event, one.Source, one.Times = f.ref.name, f.ref.source, f.times
	if f.carrier != nil {
		one.Carrier = f.carrier.c.ID
	}
	return one
}

func (q *requestKept) inUTC() {
	for _, t := range []*time.Time{&q.Start, &q.Sent, &q.FirstByte, &q.End} {
		*t = t.UTC()
	}
}

func (o *origin) form() headForm {
	f := headForm{Alts: slices.Clone(o.alts), Background: o.own, Issuers: o.issuers}
	for host, refs := range o.speaks {
		for _, r := range refs {
			f.Speaks = put(f.Speaks, host, refForm{Event: r.name, Source: r.source})
		}
	}
	for host, refs := range o.quicRefs {
		for _, w := range refs {
			f.QUIC = put(f.QUIC, host, refForm{w.name, w.source, w.says})
		}
	}
	return f
}

func put(m map[string][]refForm, host string, r refForm) map[string][]refForm {
	if m == nil {
		m = make(map[string][]refForm)
	}
	m[host] = append(m[host], r)
	return m
}

// number gives ids to the sources that have none.
func (c *copies) number() {
	for _, k := range c.connections {
		c.first = max(c.first, k.Source, k.Session, k.Check)
	}
	for i := range c.stalls {
		c.first = max(c.first, c.stalls[i].Source)
	}
	for _, refs := range []map[string][]refForm{c.head.Speaks, c.head.QUIC} {
		for _, some := range refs {
			for _, r := range some {
				c.first = max(c.first, r.Source)
			}
		}
	}
	c.sockets, c.sessions = make([]source, len(c.connections)), make([]source, len(c.connections))
	for i, k := range c.connections {
		kind := chromefile.SourceSocket
		if k.Network == "udp" {
			kind = chromefile.SourceQUICSession
		}
		c.sockets[i] = source{id: c.orFree(k.Source), kind: kind}
		if k.Protocol == "h2" || k.Session != 0 {
			c.sessions[i] = source{id: c.orFree(k.Session), kind: chromefile.SourceH2Session}
		}
	}
}

func (c *copies) orFree(id int64) int64 {
	if id == 0 {
		c.first++
		id = c.first
	}
	return id
}

// free is a new source.
func (c *copies) free(kind string) *source { return &source{id: c.orFree(0), kind: kind} }

// carrier is the connection of that ID and its sources; nil if there is none.
func (c *copies) carrier(id int64) (k *connectionKept, socket, session *source) {
	if id < 1 || id > int64(len(c.connections)) {
		return nil, nil, nil
	}
	k, socket = c.connections[id-1], &c.sockets[id-1]
	if session = &c.sessions[id-1]; session.id == 0 {
		session = nil
	}
	return k, socket, session
}

// things are all that is to be told, in the order of their beginning.
func (e *emitter) things() []thing {
	c := e.log
	all := []thing{{c.epoch, e.tellHead}}
	for _, k := range c.connections {
		all = append(all, thing{k.Opened, func() []told { return c.tellConnection(k) }})
	}
	for i := range c.requests {
		all = append(all, thing{c.requests[i].Start, func() []told { return c.tellRequest(&c.requests[i]) }})
	}
	for i := range c.stalls {
		all = append(all, thing{c.stalls[i].Start, func() []told { return c.tellStall(&c.stalls[i]) }})
	}
	for _, n := range c.notes {
		all = append(all, thing{n.Time, func() []told { return c.tellNote(n) }})
	}
	slices.SortStableFunc(all[1:], func(a, b thing) int { return a.start.Compare(b.start) })
	return all
}
