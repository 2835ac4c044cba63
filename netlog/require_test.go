package netlog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

const (
	down netlog.Leg = "downstream"
	up   netlog.Leg = "upstream"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// open records a connection that spoke proto in so many requests.
func open(log *netlog.Log, c netlog.Connection, proto string, requests int) *netlog.ConnectionRecord {
	r := log.Open(c)
	for range requests {
		r.Update(func(c *netlog.Connection) { c.Protocol = proto })
		q := r.Request(netlog.Request{Method: "GET", URL: "https://" + c.Host + "/"})
		q.Update(func(q *netlog.Request) { q.Status = 200 })
		q.End("")
	}
	return r
}

func failure(log *netlog.Log, n int, proto string, filters ...netlog.Filter) string {
	return new(fakeTB).run(func(tb testing.TB) { netlog.RequireConnections(tb, log, n, proto, filters...) })
}

func TestRequireConnections(t *testing.T) {
	proxy := new(netlog.Log)
	for range 6 {
		open(proxy, netlog.Connection{Leg: down, Host: "a.test:443", ALPN: "http/1.1", Issuer: "proxy CA"}, "http/1.1", 2)
	}
	open(proxy, netlog.Connection{Leg: up, Host: "a.test:443", ALPN: "h2"}, "h2", 12)
	mixed := new(netlog.Log)
	open(mixed, netlog.Connection{Host: "a.test:443"}, "http/1.1", 1)
	open(mixed, netlog.Connection{Host: "b.test:443"}, "h2", 1)
	open(mixed, netlog.Connection{Host: "b.test:443"}, "h2", 1)
	open(mixed, netlog.Connection{Host: "b.test:443", ALPN: "h2"}, "", 0)

	for _, c := range []struct {
		name    string
		log     *netlog.Log
		n       int
		proto   string
		filters []netlog.Filter
		begins  string   // "" passes
		has     []string // further words of the message
	}{
		{name: "right", log: proxy, n: 6, proto: "http/1.1", filters: []netlog.Filter{down}},
		{name: "any protocol", log: mixed, n: 3, filters: []netlog.Filter{netlog.Used()}},
		{name: "nil filter", log: mixed, n: 4, filters: []netlog.Filter{nil}},
		{name: "downgraded", log: proxy, n: 1, proto: "h2", filters: []netlog.Filter{down, netlog.Used()},
			begins: "want 1 connection over h2, got 6 over http/1.1\n",
			has:    []string{"connections on leg downstream, that carried a request", "proxy CA", "whole ledger has 7 connections", "upstream", "netlog.New(t)", "24 requests: all of status 200"}},
		{name: "right number of the wrong kind", log: mixed, n: 4, proto: "h2",
			begins: "want 4 connections over h2, got 4: 2 over h2, 1 never used, 1 over http/1.1\n",
			has:    []string{"1 connection carried no request; the filter netlog.Used()"}},
		{name: "too few", log: mixed, n: 7, filters: []netlog.Filter{netlog.Host("b.test"), netlog.Used()},
			begins: "want 7 connections, got 2 over h2\n", has: []string{"to host b.test"}},
		{name: "none", log: mixed, n: 1, filters: []netlog.Filter{netlog.Host("c.test")},
			begins: "want 1 connection, got none\n", has: []string{"whole ledger has 4 connections, 3 of them used"}},
		{name: "empty", log: new(netlog.Log), n: 1, begins: "want 1 connection, got none\n", has: []string{"no connection at all"}},
		{name: "several legs", log: proxy, n: 7,
			begins: `want 7 connections, got on leg downstream 6 over http/1.1 and on leg upstream 1 over h2: which leg is meant? Add one to the filters, as netlog.Leg("downstream")`},
		{name: "legs told apart by another filter", log: proxy, n: 1, proto: "h2", filters: []netlog.Filter{netlog.Protocol("h2")}},
		{name: "zero of all legs", log: proxy, n: 0, filters: []netlog.Filter{netlog.Host("c.test")}},
		{name: "zero", log: mixed, n: 0, filters: []netlog.Filter{netlog.Host("a.test")},
			begins: "want 0 connections, got 1 over http/1.1\n"},
		{name: "zero of a protocol", log: mixed, n: 0, proto: "h2", filters: []netlog.Filter{netlog.Host("a.test")}},
		{name: "zero of a protocol, some", log: mixed, n: 0, proto: "h2", begins: "want 0 connections over h2, got 2 over h2\n"},
		{name: "no log", n: 1, begins: "netlog: RequireConnections: log is nil"},
		{name: "negative", log: mixed, n: -1, begins: "netlog: RequireConnections: n is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failure(c.log, c.n, c.proto, c.filters...)
			if !strings.HasPrefix(got, c.begins) || (c.begins == "") != (got == "") {
				t.Errorf("got\n%s\nwant it to begin\n%s", got, c.begins)
			}
			for _, words := range c.has {
				if !strings.Contains(got, words) {
					t.Errorf("%q is not in\n%s", words, got)
				}
			}
		})
	}
}

func TestRequireConnectionsTellsWhereALPNDiffers(t *testing.T) {
	log := new(netlog.Log)
	open(log, netlog.Connection{ALPN: "h2"}, "http/1.1", 1)
	if got := failure(log, 1, "h2"); !strings.Contains(got, "1 connection negotiated h2 by ALPN and spoke something else") {
		t.Error(got)
	}
}

func TestNewPrintsAndKeepsTheLogOfAFailedTest(t *testing.T) {
	tb := &fakeTB{dir: t.TempDir(), failed: true}
	said := tb.run(func(tb testing.TB) { open(netlog.New(tb), netlog.Connection{Host: "a.test:443"}, "h2", 3) })
	if !strings.Contains(said, "1 connection:\n") || !strings.Contains(said, "3 requests: all of status 200") {
		t.Errorf("said\n%s", said)
	}
	files, _ := filepath.Glob(filepath.Join(tb.dir, "netlog-*.txt"))
	if len(files) != 1 {
		t.Fatalf("files %v, want one", files)
	}
	if kept, err := os.ReadFile(files[0]); strings.Count(string(kept), "https://a.test:443/") != 3 {
		t.Errorf("kept\n%s\n%v", kept, err)
	}
}

func TestNewIsSilentWhenTheTestPasses(t *testing.T) {
	if said := new(fakeTB).run(func(tb testing.TB) { netlog.New(tb) }); said != "" {
		t.Error(said)
	}
}
