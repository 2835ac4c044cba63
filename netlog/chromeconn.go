package netlog

import (
	"cmp"
	"slices"
	"time"
)

// usage is what the connection carried.
func (e *conclusion) usage(c *Connection, k *conduit) {
	c.Protocol = Unknown
	c.Requests, c.MaxStreams = len(k.attempts), e.mostAtOnce(k)
	switch {
	case len(k.attempts) > 0:
		c.Protocol = k.attempts[0].proto
		c.FirstUsed = later(k.firstSent(), k.since())
	case k.session != nil:
		c.Protocol = "h2"
	case k.handles > 0: // by the HttpStreamPool, which does not say for whom
		c.Protocol = "http/1.1"
		c.Requests, c.MaxStreams, c.FirstUsed = k.handles, 1, later(k.firstHandle, k.since())
	case k.quic:
		c.Protocol = quicProtocol(k.version)
	}
	if k.quic && c.Protocol == "h3" {
		c.Protocol = quicProtocol(k.version)
	}
}

func (k *conduit) firstSent() time.Time {
	first := k.attempts[0].sent
	for _, a := range k.attempts {
		if a.sent.Before(first) {
			first = a.sent
		}
	}
	return first
}

// mostAtOnce is the most requests in flight at one instant.
func (e *conclusion) mostAtOnce(k *conduit) int {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	now, most := 0, 0
	for _, a := range k.attempts {
		if !a.end.IsZero() && !a.end.After(a.sent) { // in the same millisecond
			most = 1
			continue
		}
		changes = append(changes, change{a.sent, 1})
		if !a.end.IsZero() {
			changes = append(changes, change{a.end, -1})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	for _, one := range changes {
		now += one.by
		most = max(most, now)
	}
	return most
}

// bytes are those of the application, if all of them are in the log.
func (e *conclusion) bytes(c *Connection, k *conduit) {
	switch {
	case !k.complete || k.quic:
		c.BytesUp, c.BytesDown = -1, -1
	case k.tls.begun.IsZero():
		c.BytesUp, c.BytesDown = k.sent, k.arrived
	default:
		c.BytesUp, c.BytesDown = k.inSent, k.inGot
	}
}

func (e *conclusion) closeReason(k *conduit) string {
	reason, code := k.reason, k.failed
	if s := k.session; s != nil && s.closing != "" {
		reason, code = s.closing, s.failed
	}
	if k.tls.failed != 0 && k.tls.done.IsZero() {
		reason, code = "TLS failed", k.tls.failed
	}
	if why := e.peek(k.maker).reason; why != "" && (reason == "" || reason == "cancelled") {
		reason = "cancelled: " + why
	}
	if code != 0 {
		name := e.constants.NetError(code)
		if reason == "" {
			return name
		}
		return reason + " (" + name + ")"
	}
	if reason == "" && !k.closed.IsZero() {
		return "closed"
	}
	return reason
}

func (e *conclusion) openReason(k *conduit) string {
	if e.peek(k.maker).backup {
		return "the first attempt was slow"
	}
	return ""
}

// proxyOf is that of the session, of the tunnel, or of a request without one.
func (e *conclusion) proxyOf(k *conduit) string {
	if k.session != nil && k.session.proxy != "" {
		return k.session.proxy
	}
	for _, id := range []int64{k.user, e.peek(k.maker).user} {
		if proxy := e.peek(e.peek(id).controller).proxy; proxy != "" {
			return proxy
		}
	}
	for _, a := range k.attempts {
		if proxy := e.peek(cmp.Or(e.peek(a.job).controller, a.controller)).proxy; proxy != "" {
			return proxy
		}
	}
	switch {
	case k.tunnel == "":
		return ""
	case k.over != 0 && e.sessions[k.over] != nil:
		return e.sessions[k.over].host
	}
	return k.remote
}

func (e *conclusion) facts(k *conduit) *carrierFacts {
	f := &carrierFacts{source: k.id, selfSigned: k.tls.cert.selfSigned, check: k.tls.check}
	if k.session != nil {
		f.session = k.session.id
	}
	check := e.checks[k.tls.check]
	if id, found := e.byLeaf[k.tls.cert.leaf]; check == nil && found && k.tls.cert.leaf != "" {
		f.check, check = id, e.checks[id] // an earlier one of the same certificate
	}
	if check != nil {
		f.root, f.intercepted = check.root, check.intercepted
		f.selfSigned = f.selfSigned || check.cert.selfSigned
	}
	for _, a := range k.attempts {
		if f.root == rootUnknown {
			f.root = a.root
		}
	}
	return f
}
