package pageload

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// Alternatives is what a browser remembers of alternative services (RFC 7838)
// from one load to the next: who serves HTTP/3, and where that was tried in
// vain. Its zero value remembers nothing yet.
type Alternatives struct {
	mu   sync.Mutex
	all  map[string]*alternative // by host:port of the origin; guarded by mu
	down map[string]*outage      // by the alternative's own; guarded by mu
}

// alternative is guarded by Alternatives.mu.
type alternative struct {
	netlog.AltService
	expires   time.Time
	forgotten bool
}

// outage is why an alternative is not tried. Guarded by Alternatives.mu.
type outage struct {
	failures int // in a row
	until    time.Time
	why      string
}

// How long Chrome leaves a broken alternative alone: five minutes, twice as long
// after each further failure, and never more than two days.
const (
	firstOutage   = 5 * time.Minute
	longestOutage = 48 * time.Hour
)

func outageAfter(failures int) time.Duration {
	period := firstOutage
	for n := 1; n < failures && period < longestOutage; n++ {
		period *= 2
	}
	return min(period, longestOutage)
}

// Services is what is remembered, in order of hosts. Requests counts those of
// all loads. Broken is as of now: it ends with its period.
func (a *Alternatives) Services() []netlog.AltService {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []netlog.AltService
	for _, one := range a.all {
		if one.forgotten {
			continue
		}
		service := one.AltService
		if o := a.down[one.Alternative]; o != nil && time.Now().Before(o.until) {
			service.Broken, service.Why = true, o.why
		}
		list = append(list, service)
	}
	slices.SortFunc(list, func(a, b netlog.AltService) int { return cmp.Compare(a.Host, b.Host) })
	return list
}

// learn takes what an answer of host says. It returns what that changes, and
// why; "" is nothing.
func (a *Alternatives) learn(host string, field []string) (change, reason, where string) {
	if len(field) == 0 {
		return "", "", ""
	}
	offers, clear := parseAltSvc(field, host)
	i := slices.IndexFunc(offers, func(o offer) bool { return o.protocol == alpn.H3 })
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.all[host]
	if known != nil && known.forgotten {
		known = nil
	}
	if i < 0 || offers[i].maxAge == 0 { // a new field replaces what the last one said (section 3.1)
		if known == nil {
			return "", "", ""
		}
		known.forgotten = true
		if clear {
			return "forgotten", "Alt-Svc: clear", known.Alternative
		}
		return "forgotten", "Alt-Svc names no h3 anymore", known.Alternative
	}
	return a.remember(host, offers[i], known)
}

func (a *Alternatives) remember(host string, o offer, known *alternative) (change, reason, where string) {
	expires := time.Now().Add(o.maxAge)
	if known != nil && known.Alternative == o.authority {
		known.expires = expires
		return "", "", ""
	}
	if a.all == nil {
		a.all = make(map[string]*alternative)
	}
	a.all[host] = &alternative{
		AltService: netlog.AltService{Host: host, Alternative: o.authority, Protocol: o.protocol, Found: time.Now()},
		expires:    expires,
	}
	return "remembered", fmt.Sprintf("Alt-Svc, for %v", o.maxAge), o.authority
}

// choose is the alternative to use for host, or why there is none; both "" if
// none is known.
func (a *Alternatives) choose(host string) (where, whyNot string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, now := a.all[host], time.Now()
	switch {
	case one == nil || one.forgotten:
		return "", ""
	case !now.Before(one.expires):
		one.forgotten = true
		return "", "expired"
	}
	if o := a.down[one.Alternative]; o != nil && now.Before(o.until) {
		return "", fmt.Sprintf("broken for %v more: %s", o.until.Sub(now).Round(time.Second), o.why)
	}
	return one.Alternative, ""
}

// broken marks the alternative, and returns for how long.
func (a *Alternatives) broken(where, why string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down == nil {
		a.down = make(map[string]*outage)
	}
	o := a.down[where]
	if o == nil {
		o = new(outage)
		a.down[where] = o
	}
	o.failures++
	period := outageAfter(o.failures)
	o.until, o.why = time.Now().Add(period), why
	return period
}

// confirmed forgets earlier failures: the handshake has succeeded.
func (a *Alternatives) confirmed(where string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.down, where)
}

// used counts a request.
func (a *Alternatives) used(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.all[host]; one != nil {
		one.Requests++
	}
}
