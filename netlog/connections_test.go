package netlog_test

import (
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

func TestMostOpen(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	one := func(opened, closed time.Time) netlog.Connection {
		return netlog.Connection{Opened: opened, Closed: closed}
	}
	for _, c := range []struct {
		name string
		all  netlog.Connections
		want int
	}{
		{"none", nil, 0},
		{"one after the other", netlog.Connections{one(at(1), at(2)), one(at(3), at(4))}, 1},
		{"at one instant", netlog.Connections{one(at(1), at(2)), one(at(2), at(3))}, 2},
		{"not ended", netlog.Connections{one(at(1), time.Time{}), one(at(2), at(3)), one(at(4), time.Time{})}, 2},
		{"within another", netlog.Connections{one(at(1), at(9)), one(at(2), at(3)), one(at(4), at(5))}, 2},
		{"opened before the log began", netlog.Connections{one(time.Time{}, at(2)), one(at(1), at(3)), one(at(3), at(4))}, 2},
	} {
		equal(t, c.name, c.all.MostOpen(), c.want)
	}
}
