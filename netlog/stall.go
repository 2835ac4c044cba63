package netlog

import (
	"slices"
	"time"
)

// Kinds of Stall, by the names of Chrome's NetLog events. The last two are of
// the pool that Chrome has with HappyEyeballsV3, where one event says both.
const (
	StalledMaxSocketsPerGroup = "SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP" // the limit of connections to one host
	StalledMaxSockets         = "SOCKET_POOL_STALLED_MAX_SOCKETS"           // the limit of connections in all
	StalledMaxStreams         = "HTTP2_SESSION_STALLED_MAX_STREAMS"         // the peer's limit of concurrent streams

	StalledPoolGroup = "HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP"               // as StalledMaxSocketsPerGroup; can_attempt is 4
	StalledPool      = "HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP can_attempt 5" // as StalledMaxSockets
)

// Stall is one request that had to wait because a limit was reached. A request
// that waits for its own connection to be dialled is not stalled.
type Stall struct {
	Kind     string // one of Stalled…, or another NetLog event name
	Leg      Leg    // as of the request that waited
	Host     string // host:port whose limit it is
	URL      string // of the request that waited
	Request  int64  // its ID, if it is in the Log; else 0
	Start    time.Time
	Duration time.Duration

	epoch *time.Time // as Connection.epoch
}

// Stalls is a list of stalls in order of their start.
type Stalls []Stall

// Total is the sum of all durations.
func (s Stalls) Total() (sum time.Duration) {
	for _, one := range s {
		sum += one.Duration
	}
	return sum
}

// Max is the longest duration; 0 if there is none.
func (s Stalls) Max() (longest time.Duration) {
	for _, one := range s {
		longest = max(longest, one.Duration)
	}
	return longest
}

// Median is the middle duration, the mean of the middle two for an even
// number; 0 if there is none.
func (s Stalls) Median() time.Duration {
	if len(s) == 0 {
		return 0
	}
	all := make([]time.Duration, len(s))
	for i, one := range s {
		all[i] = one.Duration
	}
	slices.Sort(all)
	mid := len(all) / 2
	if len(all)%2 == 1 {
		return all[mid]
	}
	return (all[mid-1] + all[mid]) / 2
}

// String is a table with one line per stall. Times count from the first event
// of the Log it is from.
func (s Stalls) String() string { return s.table(0) }

func (s Stalls) table(limit int) string {
	if len(s) == 0 {
		return "no stalls\n"
	}
	epoch := epochOf(s[0].epoch, s, func(one *Stall) time.Time { return one.Start })
	return render(s, stallColumns(epoch), limit)
}

func stallColumns(epoch *time.Time) []column[Stall] {
	return []column[Stall]{
		{head: "kind", cell: func(s *Stall) string { return s.Kind }},
		{head: "leg", cell: func(s *Stall) string { return string(s.Leg) }},
		{head: "host", width: 32, cell: func(s *Stall) string { return s.Host }},
		{head: "request", right: true, cell: func(s *Stall) string { return number(s.Request) }},
		{head: "URL", width: 48, cell: func(s *Stall) string { return s.URL }},
		{head: "start", right: true, cell: func(s *Stall) string { return since(epoch, s.Start) }},
		{head: "duration", right: true, cell: func(s *Stall) string { return span(s.Duration) }},
	}
}
