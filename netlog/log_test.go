package netlog_test

import (
	"sync"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

func TestAnswersShareNothingWithTheLog(t *testing.T) {
	log := new(netlog.Log)
	record := log.Open(netlog.Connection{Host: "a.test:443", Offered: []string{"h2"}})
	record.Request(netlog.Request{URL: "https://a.test/"})

	log.Connections()[0].Offered[0] = "spoiled"
	log.Requests()[0].Connection.Offered[0] = "spoiled"
	log.Requests()[0].Connection.Host = "spoiled"
	copied := record.Connection()
	copied.Offered[0] = "spoiled"

	if c := log.Connections()[0]; c.Offered[0] != "h2" || c.Host != "a.test:443" {
		t.Errorf("a copy reached into the log: %v %v", c.Offered, c.Host)
	}
}

func TestOrderIsOfTimeAndNotOfRecording(t *testing.T) {
	log, t0 := new(netlog.Log), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range []time.Duration{2, 1, 3} {
		log.Open(netlog.Connection{Opened: t0.Add(s)})
		log.Request(netlog.Request{Start: t0.Add(s)})
		log.Stall(netlog.Stall{Start: t0.Add(s)})
	}
	for i, want := range []time.Duration{1, 2, 3} {
		c, q, s := log.Connections()[i].Opened, log.Requests()[i].Start, log.Stalls()[i].Start
		if at := t0.Add(want); !c.Equal(at) || !q.Equal(at) || !s.Equal(at) {
			t.Errorf("%d: %v, %v, %v, want %v", i, c, q, s, at)
		}
	}
}

func TestStreamsAreThoseInFlight(t *testing.T) {
	log := new(netlog.Log)
	c := log.Open(netlog.Connection{})
	a, b := c.Request(netlog.Request{}), c.Request(netlog.Request{})
	a.End("")
	a.End("a second end does not count")
	c.Request(netlog.Request{}).End("")
	b.End("reset: CANCEL")
	a.Attach(c) // too late to be in flight,
	b.Attach(c)
	c.Request(netlog.Request{}) // beside this one
	got := c.Connection()
	if got.MaxStreams != 2 || got.Requests != 6 {
		t.Errorf("peak of %d streams in %d requests, want 2 in 6", got.MaxStreams, got.Requests)
	}
	if all := log.Requests(); all[0].Err != "" || all[1].Err != "reset: CANCEL" {
		t.Errorf("errors %q, %q", all[0].Err, all[1].Err)
	}
}

func TestReplayedRequestBelongsToTheLastConnection(t *testing.T) {
	log := new(netlog.Log)
	first, second := log.Open(netlog.Connection{}), log.Open(netlog.Connection{})
	q := first.Request(netlog.Request{})
	q.Attach(second)
	if a, b := first.Connection(), second.Connection(); a.Requests != 1 || b.Requests != 1 || q.Request().Connection.ID != b.ID {
		t.Errorf("%d and %d requests, carried by %d", a.Requests, b.Requests, q.Request().Connection.ID)
	}
	if q.End(""); len(log.Connections(netlog.Used())) != 2 {
		t.Error("both were used")
	}
	if first.Request(netlog.Request{}); first.Connection().MaxStreams != 1 {
		t.Error("the first connection still has the request in flight")
	}
}

func TestStatusThatWasKnownBeforeTheConnection(t *testing.T) {
	log := new(netlog.Log)
	log.Request(netlog.Request{Status: 429}).Attach(log.Open(netlog.Connection{}))
	if n := len(log.Connections(netlog.Status(429))); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestFirstCloseCounts(t *testing.T) {
	c := new(netlog.Log).Open(netlog.Connection{})
	c.Close("reset by peer")
	c.Close("closed")
	if got := c.Connection().CloseReason; got != "reset by peer" {
		t.Errorf("reason %q", got)
	}
}

func TestPairsNameTheClientFirst(t *testing.T) {
	log := new(netlog.Log)
	in, out := log.Open(netlog.Connection{Leg: down}), log.Open(netlog.Connection{Leg: up})
	alone := in.Request(netlog.Request{URL: "https://a.test/own"})
	asked := in.Request(netlog.Request{URL: "https://a.test/", Stream: 3})
	for range 2 { // the second is a retry
		out.Request(netlog.Request{URL: "https://a.test/", Stream: 1}).Pair(asked)
	}
	alone.End("")
	pairs := log.Pairs()
	if len(pairs) != 2 {
		t.Fatalf("%d pairs, want the request and its retry", len(pairs))
	}
	for _, p := range pairs {
		if p.Client.Leg != down || p.Client.Stream != 3 || p.Origin.Leg != up {
			t.Errorf("pair of %v and %v", p.Client, p.Origin)
		}
	}
	if n := len(log.Pairs(up)); n != 2 {
		t.Errorf("%d pairs by the origin's leg, want 2", n)
	}
	if n := len(log.Pairs(netlog.Status(500))); n != 0 {
		t.Errorf("%d pairs of status 500", n)
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	const writers, each = 4, 100
	log := new(netlog.Log)
	shared := log.Open(netlog.Connection{Offered: []string{"h2"}, Protocol: "h2"})
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() { write(log, shared, each) })
	}
	for range 2 {
		wg.Go(func() {
			for range 20 {
				_ = log.String()
				log.Requests(netlog.Host("a.test"), netlog.Status(200), netlog.Used())
				log.Pairs()
			}
		})
	}
	wg.Wait()
	if c := shared.Connection(); c.Requests != writers*each || c.MaxStreams > writers {
		t.Errorf("%d requests, %d at once", c.Requests, c.MaxStreams)
	}
	if n := len(log.Connections(netlog.Used())); n != 1+writers*each {
		t.Errorf("%d used connections", n)
	}
	for i, q := range log.Requests() {
		if q.ID != int64(i+1) {
			t.Fatalf("request %d is %d in order of start", q.ID, i+1)
		}
	}
}

func write(log *netlog.Log, shared *netlog.ConnectionRecord, n int) {
	for range n {
		own := log.Open(netlog.Connection{Host: "a.test:443"})
		q, p := shared.Request(netlog.Request{URL: "https://a.test/"}), own.Request(netlog.Request{URL: "https://a.test/"})
		p.Pair(q)
		q.Update(func(q *netlog.Request) { q.Status = 200 })
		log.Stall(netlog.Stall{Request: 1})
		q.End("")
		p.End("")
		own.Close("done")
	}
}

// BenchmarkRequest is what a server pays for each request: a record, three
// updates and an end.
func BenchmarkRequest(b *testing.B) {
	c := new(netlog.Log).Open(netlog.Connection{Host: "a.test:443"})
	b.ReportAllocs()
	for b.Loop() {
		recordRequest(c)
	}
}

func BenchmarkRequestParallel(b *testing.B) {
	log := new(netlog.Log)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c := log.Open(netlog.Connection{Host: "a.test:443"})
		for pb.Next() {
			recordRequest(c)
		}
	})
}

func BenchmarkConnection(b *testing.B) {
	log := new(netlog.Log)
	b.ReportAllocs()
	for b.Loop() {
		c := log.Open(netlog.Connection{Host: "a.test:443"})
		recordRequest(c)
		c.Close("done")
	}
}

func recordRequest(c *netlog.ConnectionRecord) {
	q := c.Request(netlog.Request{Method: "GET", URL: "https://a.test/"})
	q.Update(func(q *netlog.Request) { q.HeaderBytesUp = 40 })
	q.Update(func(q *netlog.Request) { q.Status, q.FirstByte = 200, time.Now() })
	q.Update(func(q *netlog.Request) { q.BodyBytesDown += 1000 })
	q.End("")
}
