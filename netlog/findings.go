package netlog

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/wiretest/netlog/internal/chromefile"
)

// view is what findings are looked for in.
type view struct {
	conns   []seenConn // in order
	stalls  []seenStall
	clients map[Leg]bool // legs to a proxy's clients
	origin  *origin      // never nil
}

type seenConn struct {
	Connection
	facts     carrierFacts
	webSocket bool // it carried nothing else
}

type seenStall struct {
	Stall
	facts stallFacts
	conn  *Connection // that was full; nil if that is unknown
}

func (l *Log) view() *view {
	clients := clientLegs(l.Requests())
	l.mu.Lock()
	defer l.mu.Unlock()
	v := &view{clients: clients, origin: l.origin}
	if v.origin == nil {
		v.origin = new(origin)
	}
	sockets := l.webSockets()
	for _, r := range l.connections {
		one := seenConn{Connection: r.snapshot(nil)}
		one.webSocket = one.Used() && sockets[r] == one.Requests
		if facts := v.origin.conns[r]; facts != nil {
			one.facts = *facts
		}
		v.conns = append(v.conns, one)
	}
	for i, s := range l.stalls {
		one := seenStall{Stall: s}
		if i < len(v.origin.stalls) {
			one.facts = v.origin.stalls[i]
		}
		if r := one.facts.carrier; r != nil {
			c := r.snapshot(nil)
			one.conn = &c
		}
		v.stalls = append(v.stalls, one)
	}
	return v
}

// webSockets is how many requests on each connection were for one. It wants l.mu.
func (l *Log) webSockets() map[*ConnectionRecord]int {
	n := make(map[*ConnectionRecord]int)
	for _, q := range l.requests {
		scheme, _, _ := strings.Cut(q.q.URL, ":")
		if q.conn != nil && (q.q.Status == http.StatusSwitchingProtocols || scheme == "ws" || scheme == "wss") {
			n[q.conn]++
		}
	}
	return n
}

// byHost groups in order of appearance; "" is no host.
func byHost[T any](all []T, host func(*T) string) (order []string, groups map[string][]*T) {
	groups = make(map[string][]*T)
	for i := range all {
		h := host(&all[i])
		if h == "" {
			continue
		}
		if groups[h] == nil {
			order = append(order, h)
		}
		groups[h] = append(groups[h], &all[i])
	}
	return order, groups
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func (v *view) hosts() ([]string, map[string][]*seenConn) {
	return byHost(v.conns, func(c *seenConn) string { return c.Host })
}

// interceptions are found once for each issuer and host.
func (v *view) interceptions() (found []Finding) {
	order, hosts := v.hosts()
	for _, host := range order {
		vouched := withIssuer(hosts[host])
		_, issuers := byHost(vouched, func(c **seenConn) string { return (*c).Issuer })
		for _, issuer := range sortedKeys(issuers) {
			p := new(pile)
			for _, c := range issuers[issuer] {
				v.intercepts(*c, vouched, p)
			}
			if len(p.all) > 0 {
				found = append(found, Finding{FoundInterception, host, "intercepted: issuer " + issuer, p.all})
			}
		}
	}
	return found
}

// withIssuer are the connections of which the issuer is known.
func withIssuer(conns []*seenConn) []*seenConn {
	return slices.DeleteFunc(slices.Clone(conns), func(c *seenConn) bool {
		return c.Issuer == "" || c.Issuer == Unknown || c.Issuer == Redacted
	})
}

// intercepts adds why the connection is intercepted, if it is.
func (v *view) intercepts(c *seenConn, sameHost []*seenConn, p *pile) {
	if slices.Contains(v.origin.issuers, c.Issuer) {
		return
	}
	if other := v.otherIssuer(c, sameHost); other != nil {
		p.add(chromefile.SSLCertificates, fmt.Sprintf("the certificate is by %s, and by %s on leg %s", c.Issuer, other.Issuer, other.Leg), 1, c.facts.source)
		return
	}
	foreign := c.facts.root == rootOther && !c.facts.selfSigned && (c.Proxy != "" || isPublic(c.Host))
	if !foreign && !c.facts.intercepted {
		return
	}
	p.add(chromefile.SSLCertificates, "the certificate is by "+c.Issuer, 1, c.facts.source)
	if c.facts.check != 0 {
		p.add(chromefile.VerifierJob, "it leads to no root that the browser ships", 1, c.facts.check)
	}
}

// otherIssuer is, for a connection on a proxy's leg to its clients, one on the
// leg to the origin whose certificate another authority made.
func (v *view) otherIssuer(c *seenConn, sameHost []*seenConn) *seenConn {
	if !v.clients[c.Leg] {
		return nil
	}
	for _, other := range sameHost {
		if !v.clients[other.Leg] && other.Issuer != c.Issuer {
			return other
		}
	}
	return nil
}

// clientLegs are those on which requests came that caused others.
func clientLegs(requests Requests) map[Leg]bool {
	legs := make(map[Leg]bool)
	for i := range requests {
		if q := &requests[i]; q.Pair > q.ID {
			legs[q.Leg] = true
		}
	}
	return legs
}

// downgrades are found once for each host.
func (v *view) downgrades() (found []Finding) {
	order, hosts := v.hosts()
	for _, host := range order {
		p := new(pile)
		for _, ref := range v.origin.speaks[host] {
			p.add(ref.name, "the browser knows that the host speaks h2", 1, ref.source)
		}
		slow := 0
		for _, c := range hosts[host] {
			switch {
			case c.Protocol == "h2" || c.ALPN == "h2":
				p.add(chromefile.SSLConnect, "next_proto h2"+onLeg(c.Leg), 1, c.facts.source)
			case c.slow() && c.TLSVersion != 0 && !c.Tunnel:
				slow++
			}
		}
		if slow == 0 || len(p.all) == 0 {
			continue
		}
		for _, c := range hosts[host] {
			if c.slow() {
				p.add(chromefile.SSLConnect, "next_proto "+c.ALPN+onLeg(c.Leg), 1, c.facts.source)
			}
		}
		found = append(found, Finding{FoundDowngrade, host, "downgraded: http/1.1 on a host that speaks h2", p.all})
	}
	return found
}

// slow reports whether h2 would have been better. For a WebSocket, browsers offer
// http/1.1 alone unless the host is known to do RFC 8441.
func (c *seenConn) slow() bool { return c.Protocol == "http/1.1" && c.Used() && !c.webSocket }

func onLeg(l Leg) string {
	if l == "" {
		return ""
	}
	return " on leg " + string(l)
}

// connectionLimits are found once for each host.
func (v *view) connectionLimits() (found []Finding) {
	order, hosts := byHost(v.stalls, func(s *seenStall) string { return s.Host })
	for _, host := range order {
		p, waits := new(pile), Stalls(nil)
		for _, s := range hosts[host] {
			if says := connectionLimit(s.Kind); says != "" {
				p.add(eventOf(s), says, max(s.facts.times, 1), s.facts.ref.source)
				waits = append(waits, s.Stall)
			}
		}
		if len(waits) == 0 {
			continue
		}
		text := fmt.Sprintf("%s, %s waited, median %s", count(v.used(host, waits[0].Leg), "connection"), count(waiters(waits), "request"), span(waits.Median()))
		found = append(found, Finding{FoundConnectionLimit, host, text, p.all})
	}
	return found
}

func connectionLimit(kind string) string {
	switch kind {
	case StalledMaxSocketsPerGroup:
		return "the limit of connections to one host"
	case StalledPoolGroup:
		return "can_attempt 4: the limit of connections to one host"
	case StalledMaxSockets:
		return "the limit of connections in all"
	case StalledPool:
		return "can_attempt 5: the limit of connections in all"
	}
	return ""
}

func eventOf(s *seenStall) string {
	if s.facts.ref.name != "" {
		return s.facts.ref.name
	}
	return s.Kind
}

func (v *view) used(host string, leg Leg) (n int) {
	for i := range v.conns {
		if c := &v.conns[i]; c.Host == host && c.Leg == leg && c.Used() {
			n++
		}
	}
	return n
}

// waiters is how many requests the stalls are of.
func waiters(s Stalls) int {
	seen, unknown := make(map[int64]bool), 0
	for _, one := range s {
		if one.Request == 0 {
			unknown++
		}
		seen[one.Request] = one.Request != 0
	}
	delete(seen, 0)
	return len(seen) + unknown
}

// streamLimits are found once for each host.
func (v *view) streamLimits() (found []Finding) {
	order, hosts := byHost(v.stalls, func(s *seenStall) string { return s.Host })
	for _, host := range order {
		p, waits, limit := new(pile), Stalls(nil), 0
		for _, s := range hosts[host] {
			if s.Kind != StalledMaxStreams {
				continue
			}
			if s.conn != nil {
				limit = max(limit, s.conn.StreamLimit)
			}
			p.add(eventOf(s), "", max(s.facts.times, 1), s.facts.ref.source)
			waits = append(waits, s.Stall)
		}
		if len(waits) == 0 {
			continue
		}
		text := fmt.Sprintf("stream limit %sreached, %s waited, median %s", limitText(limit), count(waiters(waits), "request"), span(waits.Median()))
		found = append(found, Finding{FoundStreamLimit, host, text, p.all})
	}
	return found
}

func limitText(limit int) string {
	if limit == 0 {
		return ""
	}
	return strconv.Itoa(limit) + " "
}

// failedQUIC is the connections whose handshake failed, by host: what a client
// that is no browser leaves in a Log.
func (v *view) failedQUIC() map[string][]witness {
	refs := make(map[string][]witness)
	for i := range v.conns {
		c := &v.conns[i]
		if c.Network == "udp" && c.Handshaken.IsZero() && !c.Closed.IsZero() {
			refs[c.Host] = append(refs[c.Host], witness{eventRef{name: chromefile.QUICSession}, c.CloseReason})
		}
	}
	return refs
}

// brokenQUIC is found where TCP carried requests to a host to which QUIC failed.
func (v *view) brokenQUIC() (found []Finding) {
	refs := v.failedQUIC()
	maps.Copy(refs, v.origin.quicRefs)
	for _, host := range sortedKeys(refs) {
		proto := ""
		for i := range v.conns {
			if c := &v.conns[i]; c.Host == host && c.Used() && c.Network == "tcp" {
				proto = c.Protocol
			}
		}
		if proto == "" {
			continue
		}
		p := new(pile)
		for _, w := range refs[host] {
			p.add(w.name, w.says, 1, w.source)
		}
		found = append(found, Finding{FoundBrokenQUIC, host, "QUIC broken, fell back to " + proto, p.all})
	}
	return found
}
