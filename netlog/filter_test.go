package netlog_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

func TestHost(t *testing.T) {
	for _, c := range []struct {
		filter, host string
		want         bool
	}{
		{"example.com", "example.com:443", true},
		{"example.com", "example.com:8443", true},
		{"example.com", "example.com", true},
		{"example.com:443", "example.com:443", true},
		{"example.com:443", "example.com:8443", false},
		{"example.com:443", "example.com", false},
		{"EXAMPLE.com.", "example.COM:443", true},
		{"example.com:443", "Example.com.:443", true},
		{"example.com", "www.example.com:443", false},
		{"https://example.com/page", "example.com:443", true},
		{"https://example.com/page", "example.com:8443", false},
		{"::1", "[::1]:443", true},
		{"[::1]", "[::1]:443", true},
		{"[::1]:443", "[::1]:443", true},
		{"[::1]:443", "[::1]:80", false},
		{"[0:0:0:0:0:0:0:1]", "[::1]:443", true},
		{"127.0.0.1", "127.0.0.1:80", true},
		{"127.0.0.1:443", "127.0.0.1:80", false},
		{"bücher.example", "xn--bcher-kva.example:443", true},
		{"BÜCHER.example:443", "bücher.example:443", true},
		{"example.com", netlog.Redacted, false},
		{"", "example.com:443", false},
		{"", "", true},
	} {
		log := new(netlog.Log)
		log.Open(netlog.Connection{Host: c.host})
		if got := len(log.Connections(netlog.Host(c.filter))) == 1; got != c.want {
			t.Errorf("Host(%q) of %q: %v, want %v", c.filter, c.host, got, c.want)
		}
	}
}

func TestHostOfRequestIsThatOfItsURL(t *testing.T) {
	log := new(netlog.Log)
	conn := log.Open(netlog.Connection{Host: "a.test:443"})
	conn.Request(netlog.Request{URL: "https://a.test/"})
	conn.Request(netlog.Request{URL: "https://b.test/coalesced"})
	conn.Request(netlog.Request{URL: "/no/host"})
	for host, want := range map[string]int{"a.test": 2, "a.test:443": 2, "b.test:443": 1, "b.test:80": 0} {
		if got := len(log.Requests(netlog.Host(host))); got != want {
			t.Errorf("Host(%q): %d requests, want %d", host, got, want)
		}
	}
}

// matched is how many connections, requests and stalls a filter selects.
func matched(log *netlog.Log, filters ...netlog.Filter) string {
	return fmt.Sprint(len(log.Connections(filters...)), len(log.Requests(filters...)), len(log.Stalls(filters...)))
}

func TestFilters(t *testing.T) {
	log, t0 := new(netlog.Log), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	one := log.Open(netlog.Connection{Leg: down, Host: "a.test:443", Protocol: "h2", Opened: at(1)})
	one.Update(func(c *netlog.Connection) { c.Closed = at(5) })
	two := log.Open(netlog.Connection{Leg: up, Host: "a.test:443", Protocol: "http/1.1", Opened: at(6)})
	log.Open(netlog.Connection{Leg: up, Host: "b.test:443", Opened: at(7)})

	served := func(r *netlog.ConnectionRecord, from, to, status int) int64 {
		q := r.Request(netlog.Request{URL: "https://a.test/", Start: at(from)})
		q.Update(func(q *netlog.Request) { q.Status, q.End = status, at(to) })
		return q.Request().ID
	}
	first := served(one, 2, 3, 200)
	served(one, 3, 4, 429)
	served(two, 7, 8, 200)
	log.Request(netlog.Request{URL: "https://c.test/", Start: at(8)})
	log.Stall(netlog.Stall{Leg: down, Host: "a.test:443", Request: first, Start: at(2), Duration: time.Second})
	log.Stall(netlog.Stall{URL: "https://a.test/", Start: at(9), Duration: time.Second})

	for _, c := range []struct {
		name    string
		filters []netlog.Filter
		want    string
	}{
		{"all", nil, "3 4 2"},
		{"nil", []netlog.Filter{nil}, "3 4 2"},
		{"leg", []netlog.Filter{down}, "1 2 1"},
		{"no leg", []netlog.Filter{netlog.Leg("")}, "0 1 1"},
		{"host", []netlog.Filter{netlog.Host("a.test")}, "2 3 2"},
		{"used", []netlog.Filter{netlog.Used()}, "2 3 1"},
		{"protocol", []netlog.Filter{netlog.Protocol("h2")}, "1 2 1"},
		{"unknown protocol", []netlog.Filter{netlog.Protocol(netlog.Unknown)}, "1 1 0"},
		{"status 200", []netlog.Filter{netlog.Status(200)}, "2 2 1"},
		{"status 429", []netlog.Filter{netlog.Status(429)}, "1 1 0"},
		{"and", []netlog.Filter{netlog.Status(200), up}, "1 1 0"},
		{"before all", []netlog.Filter{netlog.Between(at(-2), at(-1))}, "0 0 0"},
		{"at both ends", []netlog.Filter{netlog.Between(at(5), at(6))}, "2 0 0"},
		{"within", []netlog.Filter{netlog.Between(at(2), at(2))}, "1 1 1"},
		{"open ends", []netlog.Filter{netlog.Between(at(100), at(101))}, "2 1 0"},
		{"no lower bound", []netlog.Filter{netlog.Between(time.Time{}, at(3))}, "1 2 1"},
		{"no upper bound", []netlog.Filter{netlog.Between(at(9), time.Time{})}, "2 1 1"},
	} {
		if got := matched(log, c.filters...); got != c.want {
			t.Errorf("%s: %s connections, requests and stalls; want %s", c.name, got, c.want)
		}
	}
}
