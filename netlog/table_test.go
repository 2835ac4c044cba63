package netlog_test

import (
	"strings"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

// sample is what a proxy with two legs might have recorded, at fixed times.
func sample() *netlog.Log {
	log, t0 := new(netlog.Log), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	in := log.Open(netlog.Connection{
		Leg: "downstream", Host: "shop.test:443", ALPN: "http/1.1", Offered: []string{"h2", "http/1.1"}, Protocol: "http/1.1",
		TLSVersion: 0x304, Issuer: "proxy's own CA", Opened: t0, Handshaken: at(40 * time.Millisecond),
	})
	out := log.Open(netlog.Connection{
		Leg: "upstream", Host: "shop.test:443", ALPN: "h2", Offered: []string{"h2", "http/1.1"}, Protocol: "h2", TLSVersion: 0x304,
		Issuer: "Example Root with a very long name G2", StreamLimit: 250, OpenReason: "first request", Opened: at(40 * time.Millisecond),
	})
	idle := log.Open(netlog.Connection{Leg: "upstream", Host: "shop.test:443", ALPN: netlog.NoALPN, Opened: at(41 * time.Millisecond), Handshaken: at(50 * time.Millisecond)})
	idle.Update(func(c *netlog.Connection) {
		c.Closed, c.CloseReason = at(1541*time.Millisecond+30), "another connection speaks h2"
	})
	asked := in.Request(netlog.Request{Method: "GET", URL: "https://shop.test/a/path/that/is/longer/than/the/column/is/wide.css", Start: at(41 * time.Millisecond)})
	sent := out.Request(netlog.Request{Method: "GET", URL: "https://shop.test/a", Stream: 1, Start: at(42 * time.Millisecond)})
	sent.Pair(asked)
	finish := func(q *netlog.Request) {
		q.Status, q.Sent, q.FirstByte, q.End = 200, q.Start, at(440*time.Millisecond), at(441*time.Millisecond)
	}
	asked.Update(finish)
	sent.Update(finish)
	log.Stall(netlog.Stall{Kind: netlog.StalledMaxStreams, Leg: "upstream", Host: "shop.test:443", Request: 2, Start: at(42 * time.Millisecond), Duration: 1500 * time.Microsecond})
	return log
}

func TestTables(t *testing.T) {
	log, t0 := sample(), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct{ name, got, want string }{
		{"connections", log.Connections().String(), `
id  leg         host           spoke     ALPN                     issuer                requests  streams  reached     opened   lived  opened because  closed because
 1  downstream  shop.test:443  http/1.1  http/1.1 of h2,http/1.1  proxy's own CA               1        1  used           +0s  (open)
 2  upstream    shop.test:443  h2        h2 of h2,http/1.1        Example Ro…g name G2         1    1/250  used         +40ms  (open)  first request
 3  upstream    shop.test:443            none                                                  0           handshaken   +41ms    1.5s                  another connection speaks h2
`},
		{"requests", log.Requests().String(), `
id  leg         conn  stream  pair  method  URL                                               spoke     status  start  first byte  download   took
 1  downstream     1             2  GET     https://shop.test/a/path…/the/column/is/wide.css  http/1.1     200  +41ms       399ms       1ms  400ms
 2  upstream       2       1     1  GET     https://shop.test/a                               h2           200  +42ms       398ms       1ms  399ms
`},
		{"stalls", log.Stalls().String(), `
kind                               leg       host           request  start  duration
HTTP2_SESSION_STALLED_MAX_STREAMS  upstream  shop.test:443        2  +42ms     1.5ms
`},
		{"pairs", log.Pairs().String(), `
client    conn       origin  conn  stream  method  URL                                               status  start   took  origin took
http/1.1     1  ↔    h2         2       1  GET     https://shop.test/a/path…/the/column/is/wide.css     200  +41ms  400ms        399ms
`},
		{"filtered: times still count from the log's first event", log.Connections(up, netlog.Protocol("h2")).String(), `
id  leg       host           spoke  ALPN               issuer                requests  streams  reached  opened   lived  opened because
 2  upstream  shop.test:443  h2     h2 of h2,http/1.1  Example Ro…g name G2         1    1/250  used      +40ms  (open)  first request
`},
		{"of no log", netlog.Connections{{ID: 7, ALPN: netlog.Unknown, Protocol: netlog.Unknown, Opened: t0}, {ID: 8, Tunnel: true, Requests: -1, Opened: t0.Add(1500 * time.Millisecond)}}.String(), `
id  spoke     requests  reached  opened   lived
 7                   0  dialled     +0s  (open)
 8  (tunnel)      some  used      +1.5s  (open)
`},
		{"ledger", log.String(), "3 connections, 2 of them used:\n" + log.Connections().String() +
			"2 requests: all of status 200\n1 stall (all HTTP2_SESSION_STALLED_MAX_STREAMS): longest 1.5ms, median 1.5ms, in all 1.5ms\n"},
		{"nothing", new(netlog.Log).String(), "nothing was recorded\n"},
		{"no lists", netlog.Connections{}.String() + netlog.Requests{}.String() + netlog.Stalls{}.String() + netlog.Pairs{}.String(),
			"no connections\nno requests\nno stalls\nno pairs\n"},
	} {
		if got, want := c.got, strings.TrimPrefix(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// The short form of a ledger names what went wrong, and stays short.
func TestLedgerOfVeryMany(t *testing.T) {
	log := new(netlog.Log)
	for range 150 {
		open(log, netlog.Connection{Host: "a.test:443"}, "http/1.1", 2)
	}
	for range 30 {
		log.Request(netlog.Request{URL: "https://b.test/"}).End("dial: refused")
	}
	log.Request(netlog.Request{URL: "https://c.test/"})
	got := log.String()
	for _, words := range []string{
		"150 connections:\n", "… and 50 more\n", "331 requests: 300 of status 200, 30 failed, 1 unfinished\n", "… and 11 more\n", "dial: refused",
	} {
		if !strings.Contains(got, words) {
			t.Errorf("%q is not in\n%s", words, got)
		}
	}
	if lines := strings.Count(got, "\n"); lines > 130 {
		t.Errorf("%d lines", lines)
	}
}
