package netlog

import (
	"strconv"
	"strings"
	"time"
)

// Connections is a list of connections in order of opening.
type Connections []Connection

// String is a table with one line per connection: what it is, how far it got
// and why it ended. Times count from the first event of the Log it is from.
// Columns that would be empty are left out.
func (c Connections) String() string { return c.table(0) }

// MostOpen is the most of them that were open at one time, from Opened to Closed, both
// included. On sockets it can be asserted where a client of net/http has one after the
// other: net/http gives up a connection of HTTP/1.1 whose answer is there for 50 ms
// before it learns that the request was written, as on a machine that is very busy.
func (c Connections) MostOpen() (most int) {
	for _, at := range c {
		open := 0
		for _, one := range c {
			if !one.Opened.After(at.Opened) && notAfter(at.Opened, one.Closed) {
				open++
			}
		}
		most = max(most, open)
	}
	return most
}

func (c Connections) table(limit int) string {
	if len(c) == 0 {
		return "no connections\n"
	}
	epoch := epochOf(c[0].epoch, c, func(one *Connection) time.Time { return one.Opened })
	return render(c, connectionColumns(epoch), limit)
}

func connectionColumns(epoch *time.Time) []column[Connection] {
	return []column[Connection]{
		{head: "id", right: true, cell: func(c *Connection) string { return number(c.ID) }},
		{head: "leg", cell: func(c *Connection) string { return string(c.Leg) }},
		{head: "host", width: 32, cell: func(c *Connection) string { return c.Host }},
		{head: "proxy", width: 24, cell: func(c *Connection) string { return c.Proxy }},
		{head: "rule", width: 24, cell: func(c *Connection) string { return c.Rule }},
		{head: "spoke", cell: spoke},
		{head: "ALPN", width: 28, cell: negotiated},
		{head: "issuer", width: 20, cell: func(c *Connection) string { return c.Issuer }},
		{head: "resumed", cell: resumed},
		{head: "requests", right: true, cell: requests},
		{head: "streams", right: true, cell: streams},
		{head: "reached", cell: reached},
		{head: "opened", right: true, cell: func(c *Connection) string { return since(epoch, c.Opened) }},
		{head: "lived", right: true, cell: lived},
		{head: "opened because", width: 28, cell: func(c *Connection) string { return c.OpenReason }},
		{head: "goaway", width: 40, cell: func(c *Connection) string { return c.GoAway }},
		{head: "closed because", cell: func(c *Connection) string { return c.CloseReason }},
	}
}

func spoke(c *Connection) string {
	switch {
	case c.Tunnel:
		return "(tunnel)"
	case c.Protocol == Unknown && !c.Used():
		return ""
	}
	return c.Protocol
}

// negotiated is what was chosen of what was offered. Before a handshake there
// is no answer, which is not the same as an unknown one.
func negotiated(c *Connection) string {
	chosen, offered := c.ALPN, strings.Join(c.Offered, ",")
	if chosen == NoALPN {
		chosen = "none"
	}
	if offered == "" && chosen == Unknown && c.TLSVersion == 0 {
		return ""
	}
	if offered == "" || chosen == "" {
		return chosen
	}
	return chosen + " of " + offered
}

func resumed(c *Connection) string {
	switch {
	case c.EarlyData:
		return "0-RTT"
	case c.Resumed:
		return "yes"
	}
	return ""
}

func requests(c *Connection) string {
	if c.Requests < 0 {
		return "some"
	}
	return strconv.Itoa(c.Requests)
}

// streams is the peak and, where it was stated, the limit.
func streams(c *Connection) string {
	switch {
	case c.MaxStreams == 0:
		return ""
	case c.StreamLimit == 0:
		return strconv.Itoa(c.MaxStreams)
	}
	return strconv.Itoa(c.MaxStreams) + "/" + strconv.Itoa(c.StreamLimit)
}

func reached(c *Connection) string {
	switch {
	case c.Used():
		return "used"
	case !c.Handshaken.IsZero():
		return "handshaken"
	}
	return "dialled"
}

func lived(c *Connection) string {
	switch {
	case c.Closed.IsZero():
		return "(open)"
	case c.Opened.IsZero():
		return ""
	}
	return span(c.Closed.Sub(c.Opened))
}
