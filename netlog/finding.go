package netlog

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of Finding.
const (
	FoundInterception    = "intercepted"      // an authority that is not the host's own vouches for the host
	FoundDowngrade       = "downgraded"       // http/1.1 on a host that speaks h2
	FoundConnectionLimit = "connection limit" // requests waited because of a limit of connections
	FoundStreamLimit     = "stream limit"     // requests waited because of the server's limit of streams
	FoundBrokenQUIC      = "QUIC broken"      // QUIC was tried in vain, and TCP carried the requests
)

// Finding is something in a Log that explains why a page was slow or unlike what
// its host serves.
type Finding struct {
	Kind     string     // one of Found…
	Host     string     // host:port that it is about
	Text     string     // in a few words, with figures
	Evidence []Evidence // what it rests on; never empty
}

// Evidence is how often one kind of event says what a Finding rests on.
type Evidence struct {
	Event   string  // by its name in Chrome's NetLog
	Count   int     // such events; 1 or more
	Sources []int64 // ids in the file of what they happened to, to be looked up in a viewer; nil if the Log was recorded
	Says    string  // what they say here
}

// String is the finding and a line for each piece of evidence.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", f.Host, f.Text)
	for _, e := range f.Evidence {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	return b.String()
}

// String is one line.
func (e Evidence) String() string {
	text := fmt.Sprintf("%d × %s", e.Count, e.Event)
	if e.Says != "" {
		text += ": " + e.Says
	}
	if len(e.Sources) == 0 {
		return text
	}
	const most = 8
	ids := make([]string, 0, most)
	for _, id := range e.Sources[:min(most, len(e.Sources))] {
		ids = append(ids, itoa(id))
	}
	text += " (source " + strings.Join(ids, ", ")
	if more := len(e.Sources) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}

// Findings says what of the usual causes the Log shows, each with its evidence:
//
//   - that TLS is intercepted: on the two legs of a proxy a host has different
//     issuers; or the browser found a certificate for a public name, or behind a
//     proxy, that leads to no root that it ships and that does not vouch for
//     itself. An authority of the host's own looks the same to a browser; name it
//     in ReadOptions.Issuers.
//   - that a host which speaks h2 (as another connection, another leg or the
//     browser's memory shows) was spoken to by http/1.1
//   - that requests waited for a limit of connections, or for the server's limit
//     of streams
//   - that QUIC was given up, and TCP carried the requests.
//
// A Log that shows none has none: nil. What was left out of the Log as the
// browser's own is not judged.
func (l *Log) Findings() []Finding {
	v := l.view()
	var all []Finding
	for _, look := range []func() []Finding{v.interceptions, v.downgrades, v.connectionLimits, v.streamLimits, v.brokenQUIC} {
		all = append(all, look()...)
	}
	return all
}

// pile collects evidence: one for each event and what it says, in order.
type pile struct{ all []Evidence }

func (p *pile) add(name, says string, times int, sources ...int64) {
	i := slices.IndexFunc(p.all, func(e Evidence) bool { return e.Event == name && e.Says == says })
	if i < 0 {
		i = len(p.all)
		p.all = append(p.all, Evidence{Event: name, Says: says})
	}
	e := &p.all[i]
	e.Count += times
	for _, id := range sources {
		if id != 0 && !slices.Contains(e.Sources, id) {
			e.Sources = append(e.Sources, id)
		}
	}
}
