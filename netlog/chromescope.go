package netlog

import (
	"cmp"
	"slices"
	"strings"
)

// settle completes the carriers by what others say of them.
func (e *conclusion) settle() {
	for _, s := range e.sessions {
		if k := e.carriers[cmp.Or(s.socket, s.id)]; k != nil {
			k.session = s
		}
	}
	for id, check := range e.checks {
		if old, taken := e.byLeaf[check.cert.leaf]; !taken || id < old {
			e.byLeaf[check.cert.leaf] = id
		}
	}
	for _, k := range e.carriers {
		k.settleQUIC()
		if k.host = e.hostOf(k); k.quic {
			maker := e.peek(k.maker)
			k.local, k.remote = cmp.Or(k.local, maker.local), cmp.Or(k.remote, maker.remote)
		}
		if k.over != 0 {
			e.tunnels[k.over] = append(e.tunnels[k.over], k)
		}
	}
}

// hostOf is host:port of what the connection is for, from what is surest on.
func (e *conclusion) hostOf(k *conduit) string {
	candidates := []string{k.tunnel, k.host}
	if k.session != nil {
		candidates = append(candidates, k.session.host)
	}
	for _, a := range k.attempts {
		candidates = append(candidates, authorityOf(a.url))
	}
	maker := e.peek(k.maker)
	candidates = append(candidates, e.peek(k.user).host, e.peek(k.group).host, maker.host, e.peek(maker.user).host)
	if k.tls.hello != nil {
		candidates = append(candidates, k.tls.hello.ServerName)
	}
	return cmp.Or(append(candidates, k.remote)...)
}

// scope leaves out what the browser did for itself.
func (e *conclusion) scope() {
	if e.opt.Background || !e.pages {
		return
	}
	own, others := make(map[string]bool), make(map[string]bool)
	for _, a := range e.attempts {
		host := authorityOf(a.url)
		if a.from.own {
			own[host] = true
			e.log.origin.own++
		} else {
			others[host] = true
		}
	}
	background := func(host string) bool { return own[host] && !others[host] }
	for _, k := range e.carriers {
		k.left = e.leaves(k, background)
	}
	e.leaveAlternatives(background)
}

// leaves reports whether the connection carried nothing but the browser's own
// requests, or was meant for them.
func (e *conclusion) leaves(k *conduit, background func(string) bool) bool {
	for _, a := range k.attempts {
		if !a.from.own {
			return false
		}
	}
	if len(k.attempts) > 0 {
		return !e.tunnelsFor(k, func(host string) bool { return !background(host) })
	}
	if k.session != nil && k.session.tunnels > 0 {
		return !e.tunnelsFor(k, func(host string) bool { return !background(host) })
	}
	return background(k.host)
}

// tunnelsFor reports whether a tunnel to such a host goes over the connection to
// a proxy.
func (e *conclusion) tunnelsFor(k *conduit, such func(host string) bool) bool {
	return k.session != nil && slices.ContainsFunc(e.tunnels[k.session.id], func(t *conduit) bool { return such(t.host) })
}

func (e *conclusion) leaveAlternatives(background func(string) bool) {
	kept := e.alts.met[:0]
	for _, one := range e.alts.met {
		if !background(one.Host) {
			kept = append(kept, one)
		}
	}
	e.alts.met = kept
}

// carriesPlain reports whether what it carries is asked for without TLS.
func (k *conduit) carriesPlain() bool {
	return len(k.attempts) > 0 && (strings.HasPrefix(k.attempts[0].url, "http:") || strings.HasPrefix(k.attempts[0].url, "ws:"))
}
