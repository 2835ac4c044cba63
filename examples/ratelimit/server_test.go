package ratelimit

import (
	"net/http"
	"time"

	"example.com/wiretest/origin"
)

const backlog = 6 * chunk

// certificates is the log. Of 1,024 entries asked for it gives 29 to 125, as its
// budget of bytes has room for; with this seed each of the backlog's six pieces
// takes 13 requests, so that the work can be divided among 1, 3 and 6.
func certificates() http.Handler {
	return origin.Entries{Size: backlog, LeafBytes: 18, Seed: 436}.Handler()
}

const requests = 6 * 13

// limit is a kind of server. work is how long an answer takes it; on loopback
// less is enough.
type limit struct {
	name    string
	handler func(work time.Duration) http.Handler
}

func limits() []limit {
	return []limit{
		{"one at a time per connection", func(work time.Duration) http.Handler {
			return origin.PerConnection(1, origin.Work(work, certificates()))
		}},
		{"a rate per client, else 429", func(work time.Duration) http.Handler {
			return origin.PerClient(1, work, origin.Work(work, certificates()))
		}},
		{"one worker", func(work time.Duration) http.Handler {
			return origin.Workers(1, work, certificates())
		}},
	}
}

// site limits get-entries alone; how many there are is told at once.
func (l limit) site(work time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/ct/v1/get-entries", l.handler(work))
	mux.Handle("/", certificates())
	return mux
}
