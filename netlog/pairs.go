package netlog

import (
	"strconv"
	"time"
)

// Pair is one request as both legs of a proxy saw it.
type Pair struct {
	Client Request // from the client to the proxy: it came first and caused the other
	Origin Request // from the proxy to the origin
}

// Pairs is a list of pairs in order of the origin requests' start.
type Pairs []Pair

// Pairs returns the paired requests of which the one, the other or both match
// every filter. A request that was tried several times upstream is in several
// pairs.
func (l *Log) Pairs(filters ...Filter) Pairs {
	all := l.Requests()
	byID := make(map[int64]*Request, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	var pairs Pairs
	for i := range all {
		origin, client := &all[i], byID[all[i].Pair]
		if client == nil || client.ID > origin.ID {
			continue
		}
		if selects(filters, factsOfRequest(client)) || selects(filters, factsOfRequest(origin)) {
			pairs = append(pairs, Pair{Client: *client, Origin: *origin})
		}
	}
	return pairs
}

// String is a table with one line per pair: the client's connection and stream,
// then the origin's, then what both have in common.
func (p Pairs) String() string {
	if len(p) == 0 {
		return "no pairs\n"
	}
	return render(p, pairColumns(), 0)
}

func pairColumns() []column[Pair] {
	return []column[Pair]{
		{head: "client", cell: func(p *Pair) string { return requestSpoke(&p.Client) }},
		{head: "conn", right: true, cell: func(p *Pair) string { return carrier(&p.Client) }},
		{head: "stream", right: true, cell: func(p *Pair) string { return number(p.Client.Stream) }},
		{head: "   ", cell: func(*Pair) string { return "↔" }},
		{head: "origin", cell: func(p *Pair) string { return requestSpoke(&p.Origin) }},
		{head: "conn", right: true, cell: func(p *Pair) string { return carrier(&p.Origin) }},
		{head: "stream", right: true, cell: func(p *Pair) string { return number(p.Origin.Stream) }},
		{head: "method", cell: func(p *Pair) string { return p.Client.Method }},
		{head: "URL", width: 48, cell: func(p *Pair) string { return p.Client.URL }},
		{head: "status", right: true, cell: pairStatus},
		{head: "start", right: true, cell: func(p *Pair) string { return since(p.epoch(), p.Client.Start) }},
		{head: "took", right: true, cell: func(p *Pair) string { return took(&p.Client) }},
		{head: "origin took", right: true, cell: func(p *Pair) string { return took(&p.Origin) }},
		{head: "error", cell: func(p *Pair) string { return p.Client.Err }},
		{head: "origin's error", cell: func(p *Pair) string { return p.Origin.Err }},
	}
}

func (p *Pair) epoch() *time.Time {
	if p.Client.epoch != nil {
		return p.Client.epoch
	}
	return &p.Client.Start
}

// pairStatus shows both where the proxy answered otherwise than the origin.
func pairStatus(p *Pair) string {
	if p.Client.Status == p.Origin.Status {
		return number(int64(p.Client.Status))
	}
	return strconv.Itoa(p.Client.Status) + "≠" + strconv.Itoa(p.Origin.Status)
}
