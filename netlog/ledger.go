package netlog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Lengths to which the short form of a ledger keeps its tables. A test that
// fails after a million requests still has a message that can be read.
const (
	shortConnections = 100
	shortRequests    = 20
)

// String is the ledger: a table of the connections, then requests and stalls in
// short. Requests().String() has every request.
func (l *Log) String() string {
	connections, rest := l.Connections(), l.inShort()
	if len(connections) == 0 && rest == "" {
		return "nothing was recorded\n"
	}
	return tally(connections) + ":\n" + connections.table(shortConnections) + rest
}

// full is the ledger with all of its lines.
func (l *Log) full() string {
	parts := []string{l.Connections().String(), l.Requests().String(), l.Stalls().String()}
	if pairs := l.Pairs(); len(pairs) > 0 {
		parts = append(parts, pairs.String())
	}
	return strings.Join(parts, "\n")
}

// tally is "6 connections, 5 of them used".
func tally(c Connections) string {
	used := 0
	for i := range c {
		if c[i].Used() {
			used++
		}
	}
	if used == len(c) {
		return count(len(c), "connection")
	}
	return fmt.Sprintf("%s, %d of them used", count(len(c), "connection"), used)
}

// inShort is what the ledger holds beside connections; "" is nothing.
func (l *Log) inShort() string { return l.Requests().inShort() + l.Stalls().inShort() }

func (r Requests) inShort() string {
	if len(r) == 0 {
		return ""
	}
	line := count(len(r), "request") + ": " + enumerate(r, outcome) + "\n"
	odd := slices.DeleteFunc(slices.Clone(r), func(q Request) bool { return q.Err == "" && !q.End.IsZero() })
	if len(odd) == 0 {
		return line
	}
	return line + odd.table(shortRequests)
}

func outcome(q *Request) string {
	switch {
	case q.Err != "":
		return "failed"
	case q.End.IsZero():
		return "unfinished"
	case q.Status == 0:
		return "of unknown status"
	}
	return "of status " + strconv.Itoa(q.Status)
}

func (s Stalls) inShort() string {
	if len(s) == 0 {
		return ""
	}
	kinds := enumerate(s, func(s *Stall) string { return s.Kind })
	return fmt.Sprintf("%s (%s): longest %s, median %s, in all %s\n",
		count(len(s), "stall"), kinds, span(s.Max()), span(s.Median()), span(s.Total()))
}

// enumerate is "4 this, 2 that", the most frequent first; "all this" is without
// the number.
func enumerate[T any](all []T, kind func(*T) string) string {
	counts := make(map[string]int)
	for i := range all {
		counts[kind(&all[i])]++
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(kinds) == 1 {
		return "all " + kinds[0]
	}
	for i, k := range kinds {
		kinds[i] = strconv.Itoa(counts[k]) + " " + k
	}
	return strings.Join(kinds, ", ")
}
