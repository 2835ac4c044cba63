package origin_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/origin"
)

// What makes something has no error to return: it panics, with the name of the
// function, the argument or field, and its value.
func TestMistakenArgumentsPanic(t *testing.T) {
	past := -time.Second
	for want, call := range map[string]func(){
		"PerConnection: n: 0: want at least 1":                func() { origin.PerConnection(0, hello) },
		"PerConnection: next is nil":                          func() { origin.PerConnection(1, nil) },
		"PerClient: n: -1: want at least 1":                   func() { origin.PerClient(-1, 1, hello) },
		"PerClient: per: 2ns: want at least 3ns":              func() { origin.PerClient(3, 2, hello) },
		"Work: d: -1s is negative":                            func() { origin.Work(past, hello) },
		"Work: next is nil":                                   func() { origin.Work(1, http.HandlerFunc(nil)) },
		"Workers: n: 0: want at least 1":                      func() { origin.Workers(0, 1, hello) },
		"Workers: d: -1s is negative":                         func() { origin.Workers(1, past, hello) },
		"Calm: n: -1 is negative":                             func() { origin.Calm(-1, hello) },
		"Calm: next is nil":                                   func() { origin.Calm(1, nil) },
		"Chance: p: 1.5: want 0 to 1":                         func() { origin.Chance(1.5, 0) },
		"Chance: p: -0.1: want 0 to 1":                        func() { origin.Chance(-0.1, 0) },
		"Chance: p: NaN: want 0 to 1":                         func() { origin.Chance(math.NaN(), 0) },
		"EarlyHints: every: -1s is negative":                  func() { origin.EarlyHints(past, hello) },
		"EarlyHints: next is nil":                             func() { origin.EarlyHints(1, nil) },
		"Trailers: next is nil":                               func() { origin.Trailers(nil, nil) },
		"OnlyHosts: next is nil":                              func() { origin.OnlyHosts(nil) },
		"Events: n: -1 is negative":                           func() { origin.Events(-1, 0) },
		"Events: every: -1s is negative":                      func() { origin.Events(1, past) },
		"Ranges: size: -1 is negative":                        func() { origin.Ranges(-1) },
		"Content: size: -1 is negative":                       func() { origin.Content(-1) },
		"At: n: -1 is negative":                               func() { origin.At(-1) },
		"Pings: n: -1 is negative":                            func() { origin.Pings(-1) },
		"ResetAfter: n: -1 is negative":                       func() { origin.ResetAfter(-1, 0) },
		"CloseAfter: n: -1 is negative":                       func() { origin.CloseAfter(-1) },
		"AbortAfter: n: -1 is negative":                       func() { origin.AbortAfter(-1) },
		"LateSettings: d: -1s is negative":                    func() { origin.LateSettings(past) },
		"GoAwayAt: last: -1: want 0 to 2147483647":            func() { origin.GoAwayAt(-1, 0, "") },
		"GoAwayAt: last: 2147483648: want 0 to 2147483647":    func() { origin.GoAwayAt(1<<31, 0, "") },
		"GoAwayAt: debug: 16377 bytes: want at most 16376":    func() { origin.GoAwayAt(0, 0, strings.Repeat("x", 16377)) },
		"GoAwayWith: debug: 16377 bytes: want at most 16376":  func() { origin.GoAwayWith(0, strings.Repeat("x", 16377)) },
		"LastOneWith: debug: 16377 bytes: want at most 16376": func() { origin.LastOneWith(0, strings.Repeat("x", 16377)) },

		"Limit: Concurrent: -1 is negative":                         func() { origin.Limit{Concurrent: -1}.Handler(hello) },
		"Limit: Rate: -1 is negative":                               func() { origin.Limit{Rate: -1}.Handler(hello) },
		"Limit: Burst: -1 is negative":                              func() { origin.Limit{Rate: 1, Per: 1, Burst: -1}.Handler(hello) },
		"Limit: Per or Burst without Rate: they limit nothing":      func() { origin.Limit{Per: time.Second}.Handler(hello) },
		"Limit: Rate 3 in each Per 0s: want at least 1 ns for each": func() { origin.Limit{Rate: 3}.Handler(hello) },
		"Limit: RetryAfter without Refuse: nothing would say it":    func() { origin.Limit{Concurrent: 1, RetryAfter: 1}.Handler(hello) },
		"Limit: next is nil":                                        func() { origin.Limit{}.Handler(nil) },

		"Entries: Size: -1 is negative":                                    func() { origin.Entries{Size: -1}.Handler() },
		"Entries: LeafBytes: 17: want 18 to 16777216":                      func() { origin.Entries{LeafBytes: 17}.Handler() },
		"Entries: BudgetMin 3, BudgetMax 2: want 0 or more, in this order": func() { origin.Entries{BudgetMin: 3, BudgetMax: 2}.Handler() },
		"Entries: BudgetMin 4, BudgetMax 2: want 0 or more, in this order": func() { origin.Entries{BudgetMin: 4, BudgetMax: 2}.Count(0, 1) },
		"Entries: LeafBytes: 16: want 18 to 16777216":                      func() { origin.Entries{LeafBytes: 16}.EntryBytes() },
	} {
		assert.PanicsWithValue(t, "origin: "+want, call)
	}
	for _, call := range []func(){
		func() { origin.Limit{}.Handler(hello) },
		func() { origin.PerClient(3, 3, hello) },
		func() { origin.Chance(0, 0) },
		func() { origin.Chance(1, 0) },
		func() { origin.Work(0, hello) },
		func() { origin.GoAwayAt(1<<31-1, 0, strings.Repeat("x", 16376)) },
	} {
		assert.NotPanics(t, call)
	}
}

// A Body is made by nobody: what is mistaken in it Start says where it can, and
// else the first request.
func TestMistakenBody(t *testing.T) {
	before := int64(-1)
	for want, body := range map[string]origin.Body{
		"Size: -1 is negative":                                                     {Size: -1},
		"Status: 199: want 0 or 200 to 999":                                        {Status: 199},
		"Status: -1: want 0 or 200 to 999":                                         {Status: -1},
		"Status: 1000: want 0 or 200 to 999":                                       {Status: 1000},
		"Length: 9 is below Size 10: net/http sends nothing behind what is stated": {Size: 10, Length: 9},
		"Wait: -1ns is negative":                                                   {Wait: -1},
		"First: -1ns is negative":                                                  {First: -1},
		"Every: -1ns is negative":                                                  {Every: -1},
		"Chunk: -1 is negative":                                                    {Chunk: -1},
		"Stall: -1 is negative":                                                    {Stall: &before},
		"Cut: -1 is negative":                                                      {Cut: &before},
		"Then without Cut: nothing would do it":                                    {Then: origin.Hang},
	} {
		for _, handler := range []http.Handler{body, &body} {
			s, err := origin.Start(&origin.Config{Handler: handler})
			if !assert.EqualError(t, err, "origin: Config.Handler: Body: "+want) {
				s.Close()
			}
		}
		assert.PanicsWithValue(t, "origin: Body: "+want, func() { body.ServeHTTP(nil, nil) })
	}
}

// Deeper in a handler a mistake is in what New shows of the server when the test
// fails.
func TestMistakenBodyBehindAMux(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/", origin.Body{Status: 1})
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		r := &recorder{TB: t}
		s := origin.New(r, &origin.Config{Handler: mux, ALPN: alpn.Only(proto)})
		_, err := s.Client().Get(s.URL)
		assert.Error(t, err, proto)
		r.errors.WriteString("the test's own failure\n")
		r.finish()
		assert.Contains(t, r.errors.String(), "origin: Body: Status: 1: want 0 or 200 to 999", proto)
	}
}
