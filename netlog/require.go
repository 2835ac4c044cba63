package netlog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// RequireConnections fails tb at once unless exactly n connections match every
// filter and each of them spoke proto ("" is any). With n = 0 a proto is one
// more filter: no connection may have spoken it. The failure prints the
// connections that matched and then the whole ledger.
//
// Used() is nearly always meant: net/http opens connections that it never uses,
// 50 for 50 concurrent requests to a cold HTTP/2 host, and those spoke nothing.
//
// Where matching connections are on several legs, as those of a proxy are, the
// question has two answers, and RequireConnections fails until a Leg is among
// the filters.
//
// It does not wait. It need not: fixtures record that a connection carries a
// request, and what it speaks, before the answer is sent, so a client that has
// an answer finds it counted. Connections that are still open count like
// others. What may lag behind the client, by microseconds of real time, are
// connections that carried nothing, the requests that a client abandoned, and
// how things end (End, Closed, byte counts); in a synctest bubble
// synctest.Wait settles these too.
func RequireConnections(tb testing.TB, log *Log, n int, proto string, filters ...Filter) {
	tb.Helper()
	if log == nil {
		tb.Fatalf("netlog: RequireConnections: log is nil; want a fixture's Log() or netlog.New(t)")
		return
	}
	if n < 0 {
		tb.Fatalf("netlog: RequireConnections: n is %d; want 0 or more", n)
		return
	}
	asked := requirement{log: log, n: n, proto: proto, filters: filters}
	if message := asked.failure(); message != "" {
		tb.Fatalf("%s", message)
	}
}

type requirement struct {
	log     *Log
	n       int
	proto   string
	filters []Filter
	got     Connections
}

// failure is what to tell; "" if all is well.
func (r *requirement) failure() string {
	if r.n == 0 && r.proto != "" {
		r.filters = append(slices.Clone(r.filters), Protocol(r.proto))
	}
	r.got = r.log.Connections(r.filters...)
	if legs := r.legs(); len(legs) > 1 {
		return r.ambiguous(legs)
	}
	if len(r.got) == r.n && !slices.ContainsFunc(r.got, r.spokeOther) {
		return ""
	}
	return r.want() + ", got " + gotOver(r.got) + "\n" + r.evidence()
}

func (r *requirement) spokeOther(c Connection) bool { return r.proto != "" && c.Protocol != r.proto }

// legs are those of the matching connections, if that leaves the count open: no
// leg was named, and some are wanted.
func (r *requirement) legs() []Leg {
	if r.n == 0 || slices.ContainsFunc(r.filters, isLeg) {
		return nil
	}
	seen := make(map[Leg]bool)
	for i := range r.got {
		seen[r.got[i].Leg] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func isLeg(f Filter) bool { _, ok := f.(Leg); return ok }

func (r *requirement) ambiguous(legs []Leg) string {
	each := make([]string, len(legs))
	for i, leg := range legs {
		on := slices.DeleteFunc(slices.Clone(r.got), func(c Connection) bool { return c.Leg != leg })
		each[i] = leg.words() + " " + gotOver(on)
	}
	return fmt.Sprintf("%s, got %s: which leg is meant? Add one to the filters, as netlog.Leg(%q)\n%s",
		r.want(), strings.Join(each, " and "), string(legs[0]), r.evidence())
}

// want is "want 1 connection over h2".
func (r *requirement) want() string {
	text := "want " + count(r.n, "connection")
	if r.proto != "" {
		text += " " + over(r.proto)
	}
	return text
}

// gotOver is "6 over http/1.1", "6: 4 over http/1.1, 2 over h2" or "none".
func gotOver(got Connections) string {
	if len(got) == 0 {
		return "none"
	}
	kinds := enumerate(got, spokeWords)
	if one, same := strings.CutPrefix(kinds, "all "); same {
		return fmt.Sprintf("%d %s", len(got), one)
	}
	return fmt.Sprintf("%d: %s", len(got), kinds)
}

func spokeWords(c *Connection) string {
	switch {
	case c.Tunnel:
		return "tunnelled"
	case c.Protocol == Unknown && !c.Used():
		return "never used"
	}
	return over(c.Protocol)
}

func over(proto string) string {
	switch proto {
	case Unknown, "":
		return "over an unknown protocol"
	case Redacted:
		return "over a redacted protocol"
	}
	return "over " + proto
}

// evidence is all that a stranger needs to see why.
func (r *requirement) evidence() string {
	whole := r.log.Connections()
	var b strings.Builder
	if len(r.filters) > 0 {
		b.WriteString("counted: connections " + inWords(r.filters) + "\n")
	}
	for _, hint := range r.hints() {
		b.WriteString("hint: " + hint + "\n")
	}
	if len(r.got) > 0 {
		b.WriteString(r.got.table(shortConnections))
	}
	if len(whole) > len(r.got) {
		b.WriteString("the whole ledger has " + tally(whole) + ":\n" + whole.table(shortConnections))
	}
	b.WriteString(r.log.inShort())
	if len(whole) == 0 {
		b.WriteString("the ledger has no connection at all: is it the Log that the fixture writes to?\n")
	}
	b.WriteString("a Log made by netlog.New(t) and given to the fixtures also keeps every request of a failed test, in t.ArtifactDir() (go test -artifacts)")
	return b.String()
}

func inWords(filters []Filter) string {
	var words []string
	for _, f := range filters {
		if f != nil {
			words = append(words, f.words())
		}
	}
	return strings.Join(words, ", ")
}

// hints name the usual misunderstandings, where the ledger shows them.
func (r *requirement) hints() (hints []string) {
	unused, differ := 0, 0
	for i := range r.got {
		c := &r.got[i]
		if !c.Used() && r.n > 0 {
			unused++
		} else if r.spokeOther(*c) && c.ALPN == r.proto {
			differ++
		}
	}
	if unused > 0 {
		hints = append(hints, fmt.Sprintf("%s carried no request; the filter netlog.Used() leaves such out", count(unused, "connection")))
	}
	if differ > 0 {
		hints = append(hints, fmt.Sprintf("%s negotiated %s by ALPN and spoke something else; what was spoken counts", count(differ, "connection"), r.proto))
	}
	return hints
}
