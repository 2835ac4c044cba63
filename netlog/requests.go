package netlog

import (
	"strconv"
	"time"
)

// Requests is a list of requests in order of their start.
type Requests []Request

// String is a table with one line per request. Times count from the first
// event of the Log it is from. Columns that would be empty are left out.
func (r Requests) String() string { return r.table(0) }

func (r Requests) table(limit int) string {
	if len(r) == 0 {
		return "no requests\n"
	}
	epoch := epochOf(r[0].epoch, r, func(one *Request) time.Time { return one.Start })
	return render(r, requestColumns(epoch), limit)
}

func requestColumns(epoch *time.Time) []column[Request] {
	return []column[Request]{
		{head: "id", right: true, cell: func(q *Request) string { return number(q.ID) }},
		{head: "leg", cell: func(q *Request) string { return string(q.Leg) }},
		{head: "conn", right: true, cell: carrier},
		{head: "stream", right: true, cell: func(q *Request) string { return number(q.Stream) }},
		{head: "pair", right: true, cell: func(q *Request) string { return number(q.Pair) }},
		{head: "method", cell: func(q *Request) string { return q.Method }},
		{head: "URL", width: 48, cell: func(q *Request) string { return q.URL }},
		{head: "spoke", cell: requestSpoke},
		{head: "status", right: true, cell: func(q *Request) string { return number(int64(q.Status)) }},
		{head: "start", right: true, cell: func(q *Request) string { return since(epoch, q.Start) }},
		{head: "wait", right: true, cell: func(q *Request) string { return spanOrNothing(q.Wait) }},
		{head: "first byte", right: true, cell: func(q *Request) string { return spanOrNothing(q.TimeToFirstByte()) }},
		{head: "download", right: true, cell: func(q *Request) string { return spanOrNothing(q.Download()) }},
		{head: "took", right: true, cell: took},
		{head: "error", cell: func(q *Request) string { return q.Err }},
	}
}

func carrier(q *Request) string {
	if q.Connection == nil {
		return ""
	}
	return strconv.FormatInt(q.Connection.ID, 10)
}

// requestSpoke is empty where nothing carried the request: nothing was spoken.
func requestSpoke(q *Request) string {
	if q.Connection == nil && q.Protocol == Unknown {
		return ""
	}
	return q.Protocol
}

func took(q *Request) string {
	if q.End.IsZero() {
		return "(runs)"
	}
	return span(between(q.Start, q.End))
}

func spanOrNothing(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return span(d)
}
