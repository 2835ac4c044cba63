package netlog

import (
	"cmp"
	"slices"
	"time"
)

// attempted writes down the requests.
func (e *conclusion) attempted() {
	slices.SortStableFunc(e.chrome.attempts, func(a, b *attempt) int { return a.start.Compare(b.start) })
	for _, a := range e.chrome.attempts {
		if e.leavesOut(a) {
			continue
		}
		r := e.log.Request(e.request(a))
		if a.carrier != nil {
			r.conn = e.records[a.carrier]
		}
		e.requests[a] = r
	}
}

// leavesOut is for the browser's own requests, and for tries that came to
// nothing and were followed by another.
func (e *conclusion) leavesOut(a *attempt) bool {
	return a.from.own && e.pages && !e.opt.Background || a.replaced && a.sent.IsZero()
}

func (e *conclusion) request(a *attempt) Request {
	q := Request{
		Stream: a.stream, Method: a.method, URL: e.known(a.url), Protocol: cmp.Or(a.proto, Unknown), Status: a.status,
		Start: a.start, Sent: later(a.sent, a.start), HeaderBytesUp: -1, HeaderBytesDown: -1, BodyBytesUp: -1,
		BodyBytesDown: a.bodyBytes(), Err: e.errorOf(a),
	}
	q.FirstByte = later(a.firstByte, q.Sent, q.Start)
	q.End = later(a.end, q.FirstByte, q.Sent, q.Start)
	if a.carrier != nil && a.carrier.quic {
		q.Protocol = quicProtocol(a.carrier.version)
	}
	switch {
	case !q.Sent.IsZero():
		q.Wait = q.Sent.Sub(q.Start)
	case !q.End.IsZero():
		q.Wait = q.End.Sub(q.Start) // for nothing
	}
	return q
}

// bodyBytes are those before decoding, which Chromium counts apart only if there
// was something to decode. A 304 brings none: what is read is the cache's.
func (a *attempt) bodyBytes() int64 {
	const notModified = 304
	switch {
	case a.status == notModified:
		return 0
	case a.raw > 0:
		return a.raw
	}
	return a.filtered
}

// webSocket is net::ERR_WS_UPGRADE, by which the request of a WebSocket ends when
// the connection is its own.
const webSocket = -173

func (e *conclusion) errorOf(a *attempt) string {
	switch {
	case a.reset != "":
		return a.reset
	case a.failed == webSocket:
		return ""
	case a.failed != 0:
		return e.constants.NetError(a.failed)
	case a.replaced && a.status == 0:
		return "not answered, and sent once more"
	}
	return ""
}

// stalled writes down the waits.
func (e *conclusion) stalled() {
	for _, s := range e.chrome.stalls {
		if s.waiter == nil {
			s.waiter = e.waiterOf(s.job)
		}
		record := e.requests[s.waiter]
		if s.waiter != nil && record == nil {
			continue // the browser's own
		}
		stall := Stall{Kind: s.kind, Host: e.hostOfStall(s), Start: s.start, Duration: e.lasted(s)}
		if record != nil {
			stall.URL, stall.Request = record.q.URL, record.q.ID
		}
		e.log.Stall(stall)
		facts := stallFacts{ref: s.ref, times: s.times}
		if session := e.sessions[s.session]; session != nil {
			facts.carrier = e.records[e.carriers[cmp.Or(session.socket, session.id)]]
		}
		e.log.origin.stalls = append(e.log.origin.stalls, facts)
	}
}

// lasted is the time of the stall; where the log ends before, as long as it is
// known to have lasted.
func (e *conclusion) lasted(s *chromeStall) time.Duration {
	end := s.end
	if end.IsZero() {
		end = e.last
	}
	return later(end, s.start).Sub(s.start)
}

// waiterOf is the request for which a job works: its own, or its controller's.
func (e *conclusion) waiterOf(job int64) *attempt {
	n := e.peek(job)
	request := e.chrome.requests[cmp.Or(n.request, e.peek(n.controller).request)]
	if request == nil {
		return nil
	}
	return e.attemptOf(request, job, n.controller)
}

// attemptOf is the one of the request that the job was for.
func (e *conclusion) attemptOf(r *chromeRequest, job, controller int64) *attempt {
	for _, a := range r.all {
		if a.job == job || a.job == 0 && a.controller != 0 && a.controller == controller {
			return a
		}
	}
	return r.at
}

func (e *conclusion) hostOfStall(s *chromeStall) string {
	n := e.peek(s.job)
	host := cmp.Or(n.host, e.peek(n.controller).host)
	if s.waiter != nil {
		host = cmp.Or(authorityOf(s.waiter.url), host)
	}
	if session := e.sessions[s.session]; session != nil {
		host = cmp.Or(host, session.host)
	}
	return e.known(host)
}

// alternatives writes down what became of them.
func (e *conclusion) alternatives() {
	refs := e.log.origin.quicRefs
	for _, f := range e.alts.failed {
		n, why := e.peek(f.job), e.constants.NetError(f.code)
		refs[n.host] = append(refs[n.host], witness{f.ref, "QUIC was not connected: " + why})
		if n.alternate {
			e.whyBroken(n.host, why)
		}
	}
	spoken := make(map[[2]string]int)
	for _, a := range e.chrome.attempts {
		spoken[[2]string{a.proto, authorityOf(a.url)}]++
	}
	for _, one := range e.alts.met {
		one.Requests = spoken[[2]string{one.Protocol, one.Host}]
		e.log.origin.alts = append(e.log.origin.alts, one.AltService)
		refs[one.Host] = append(refs[one.Host], one.refs...)
		if len(refs[one.Host]) == 0 {
			delete(refs, one.Host)
		}
	}
}

// whyBroken tells it of the alternatives of a host that were met: a job does not
// say which one it tries.
func (e *conclusion) whyBroken(host, why string) {
	for _, one := range e.alts.met {
		if one.Host == host {
			one.Broken, one.Why = true, cmp.Or(one.Why, why)
		}
	}
}
