package mitm_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// cell is one row of the matrix: what both ends do. turn lets one end wait
// for the other.
type cell struct {
	name   string
	client func(c *side, turn chan struct{})
	origin func(o *side, turn chan struct{}) // nil is that it is not asked
	check  func(t *testing.T, s *rawStage)   // nil is nothing
}

func cells() []cell {
	return []cell{
		{
			name: "GET",
			client: func(c *side, _ chan struct{}) {
				c.head("GET /a%2Fb?c=d", nothing, "X-Several: 2", "X-Several: 1", "Cookie: a=1; b=2")
				h := c.wantHead("200")
				assert.Equal(c.t, []string{"b", "", "a"}, h["X-Several"])
				assert.Equal(c.t, []string{"a=1", "b=2; Path=/"}, h["Set-Cookie"])
				c.wantData("hello")
				assert.Empty(c.t, c.wantEnd())
			},
			origin: func(o *side, _ chan struct{}) {
				h := o.wantHead("GET /a%2Fb?c=d")
				h["Cookie"] = []string{strings.Join(h["Cookie"], "; ")} // h2 may split it
				assert.Equal(o.t, http.Header{"Host": {"origin.test"}, "X-Several": {"2", "1"}, "Cookie": {"a=1; b=2"}}, h)
				o.wantEnd()
				o.head("200", 5, "X-Several: b", "X-Several: ", "X-Several: a", "Set-Cookie: a=1", "Set-Cookie: b=2; Path=/")
				o.data("hello")
				finish(o)
			},
			check: wholeBothWays(200, 0, 5),
		},
		{
			name: "download of unknown length, first byte before the last",
			client: func(c *side, turn chan struct{}) {
				c.head("GET /", nothing)
				h := c.wantHead("200")
				assert.NotContains(c.t, h, "Content-Length")
				c.wantData("first")
				turn <- struct{}{}
				c.wantData("last")
				c.wantEnd()
			},
			origin: func(o *side, turn chan struct{}) {
				o.wantHead("GET /")
				o.head("200", unknown)
				o.data("first")
				o.await(turn)
				o.data("last")
				o.end()
			},
			check: wholeBothWays(200, 0, 9),
		},
		{
			name: "upload of known length",
			client: func(c *side, turn chan struct{}) {
				c.head("POST /", 9)
				c.data("first")
				c.await(turn)
				c.data("last")
				finish(c)
				c.wantHead("201")
				c.wantEnd()
			},
			origin: func(o *side, turn chan struct{}) {
				h := o.wantHead("POST /")
				assert.Equal(o.t, "9", h.Get("Content-Length"))
				o.wantData("first")
				turn <- struct{}{}
				o.wantData("last")
				o.wantEnd()
				o.head("201", 0)
			},
			check: wholeBothWays(201, 9, 0),
		},
		{
			name: "trailers, declared, behind more than a window",
			client: func(c *side, _ chan struct{}) {
				c.head("POST /", unknown, "Te: trailers", "Trailer: X-Up")
				c.data(strings.Repeat("u", 70_000))
				c.end("X-Up: up")
				h := c.wantHead("200")
				assert.Equal(c.t, []string{"X-Down"}, h["Trailer"])
				c.wantData(strings.Repeat("d", 70_000))
				assert.Equal(c.t, http.Header{"X-Down": {"1", "2"}}, c.wantEnd())
			},
			origin: func(o *side, _ chan struct{}) {
				h := o.wantHead("POST /")
				assert.Equal(o.t, []string{"X-Up"}, h["Trailer"])
				assert.Equal(o.t, []string{"trailers"}, h["Te"])
				o.wantData(strings.Repeat("u", 70_000))
				assert.Equal(o.t, http.Header{"X-Up": {"up"}}, o.wantEnd())
				o.head("200", unknown, "Trailer: X-Down")
				o.data(strings.Repeat("d", 70_000))
				o.end("X-Down: 1", "X-Down: 2")
			},
			check: wholeBothWays(200, 70_000, 70_000),
		},
		{
			name: "several 103",
			client: func(c *side, turn chan struct{}) {
				c.head("GET /", nothing)
				for i := range 3 {
					h := c.wantHead("103")
					assert.Equal(c.t, http.Header{"Link": {fmt.Sprintf("</%d.css>", i)}}, h)
					turn <- struct{}{} // each is passed on at once
				}
				assert.NotContains(c.t, c.wantHead("200"), "Link")
				c.wantEnd()
			},
			origin: func(o *side, turn chan struct{}) {
				o.wantHead("GET /")
				for i := range 3 {
					fields := []string{fmt.Sprintf("Link: </%d.css>", i)}
					if o.proto == alpn.HTTP11 {
						fields = append(fields, "Keep-Alive: timeout=5", "Connection: X-Hop", "X-Hop: 1")
					}
					o.head("103", nothing, fields...)
					o.await(turn)
				}
				o.head("200", 0)
			},
		},
		{
			name: "Expect accepted",
			client: func(c *side, _ chan struct{}) {
				c.head("PUT /", 4, "Expect: 100-continue")
				c.wantHead("100")
				c.data("body")
				finish(c)
				c.wantHead("200")
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				assert.Equal(o.t, "100-continue", o.wantHead("PUT /").Get("Expect"))
				o.head("100", nothing)
				o.wantData("body")
				o.wantEnd()
				o.head("200", 0)
			},
			check: wholeBothWays(200, 4, 0),
		},
		{
			name: "Expect refused",
			client: func(c *side, _ chan struct{}) {
				c.head("PUT /", 4, "Expect: 100-continue")
				c.wantHead("417")
				c.wantData("no")
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				o.wantHead("PUT /")
				o.head("417", 2)
				o.data("no")
				finish(o)
			},
			check: wholeBothWays(417, 0, 2),
		},
		bodiless("HEAD", "200", "Content-Length: 12345"),
		bodiless("GET", "204"),
		bodiless("GET", "304", "Etag: x"),
		{
			name: "answer while the request is still sent",
			client: func(c *side, _ chan struct{}) {
				c.head("POST /", unknown)
				c.data("one")
				c.wantHead("200")
				for i := range 5 {
					word := fmt.Sprint("word ", i)
					c.data(word)
					c.wantData(word)
				}
				c.end()
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				o.wantHead("POST /")
				o.wantData("one")
				o.head("200", unknown)
				for i := range 5 {
					word := fmt.Sprint("word ", i)
					o.wantData(word)
					o.data(word)
				}
				o.wantEnd()
				o.end()
			},
			check: wholeBothWays(200, 33, 30),
		},
		{
			name: "cancelled before the answer",
			client: func(c *side, turn chan struct{}) {
				c.head("GET /", nothing)
				c.await(turn)
				c.reset(http2.ErrCodeCancel)
			},
			origin: func(o *side, turn chan struct{}) {
				o.wantHead("GET /")
				o.wantEnd()
				turn <- struct{}{}
				o.wantReset(http2.ErrCodeCancel)
			},
		},
		{
			name: "cancelled in the answer",
			client: func(c *side, turn chan struct{}) {
				c.head("GET /", nothing)
				c.wantHead("200")
				c.wantData("begun")
				c.reset(http2.ErrCodeCancel)
			},
			origin: func(o *side, turn chan struct{}) {
				o.wantHead("GET /")
				o.wantEnd()
				o.head("200", unknown)
				o.data("begun")
				o.wantReset(http2.ErrCodeCancel)
			},
		},
		{
			name: "cancelled in the request",
			client: func(c *side, turn chan struct{}) {
				c.head("POST /", unknown)
				c.data("begun")
				c.await(turn)
				c.reset(http2.ErrCodeCancel)
			},
			origin: func(o *side, turn chan struct{}) {
				o.wantHead("POST /")
				o.wantData("begun")
				turn <- struct{}{}
				o.wantReset(http2.ErrCodeCancel)
			},
		},
	}
}

// finish ends a body of known size, where the protocol has something for it.
func finish(s *side) {
	if s.proto == alpn.H2 {
		s.end()
	}
}

// bodiless is an answer without a body, by method or status, twice on one
// connection: a stray byte would show.
func bodiless(method, status string, fields ...string) cell {
	return cell{
		name: method + " " + status,
		client: func(c *side, _ chan struct{}) {
			c.head(method+" /", nothing)
			h := c.wantHead(status)
			for _, field := range fields {
				name, value := splitField(field)
				assert.Equal(c.t, value, h.Get(name))
			}
			assert.NotContains(c.t, h, "Transfer-Encoding")
			c.wantEnd()
		},
		origin: func(o *side, _ chan struct{}) {
			o.wantHead(method + " /")
			o.wantEnd()
			o.head(status, nothing, fields...)
		},
	}
}

// wholeBothWays wants one request on each leg, paired, with these figures.
func wholeBothWays(status int, up, down int64) func(*testing.T, *rawStage) {
	return func(t *testing.T, s *rawStage) {
		t.Helper()
		for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
			var all []netlog.Request
			synctestSettle(t, func() bool {
				all = carried(s.proxy.Log(), leg)
				return len(all) == 1 && !all[0].End.IsZero()
			})
			q := all[0]
			assert.Equal(t, []any{status, up, down, ""}, []any{q.Status, q.BodyBytesUp, q.BodyBytesDown, q.Err}, "%s leg", leg)
			assert.Equal(t, q.Protocol == alpn.H2, q.Stream == 1, "%s leg: stream %d", leg, q.Stream)
		}
		assert.Len(t, s.proxy.Log().Pairs(), 1)
	}
}

// carried are the requests of a leg without those for a tunnel.
func carried(log *netlog.Log, leg netlog.Leg) []netlog.Request {
	return slices.DeleteFunc(log.Requests(leg), func(q netlog.Request) bool { return q.Method == http.MethodConnect })
}

func TestMatrix(t *testing.T) {
	for _, c := range append(cells(), moreCells()...) {
		if raceDetector && c.isLargeHead() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			serve, run := c.ends()
			eachRawPair(t, serve, run)
		})
	}
}

// isLargeHead is of cells that take the race detector as long as all others: they
// are about a limit, which holds without it too.
func (c *cell) isLargeHead() bool { return strings.HasPrefix(c.name, "a head ") }

// ends are what the origin does, and what the test does, in one run after the
// other.
func (c *cell) ends() (serve func(*side), run func(*testing.T, *rawStage)) {
	var turn, done chan struct{}
	serve = func(o *side) {
		defer func() { done <- struct{}{} }()
		c.origin(o, turn)
	}
	run = func(t *testing.T, s *rawStage) {
		turn, done = make(chan struct{}, 10), make(chan struct{}, 1)
		client := s.call()
		s.server.name = "origin of " + s.down
		c.client(client, turn)
		if c.origin != nil {
			client.await(done) // before the proxy is closed
		}
		if c.check != nil {
			c.check(t, s)
		}
	}
	return serve, run
}
