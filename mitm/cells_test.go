package mitm_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
)

// moreCells are what single reports are about.
func moreCells() []cell {
	return append(grpcCells(), []cell{
		{
			name: "trailers that nobody declared",
			client: func(c *side, _ chan struct{}) {
				c.head("POST /", unknown)
				c.data("up")
				c.end("X-Up: 1", "X-Up: 2", "X-Other: 3")
				assert.NotContains(c.t, c.wantHead("200"), "Trailer")
				c.wantData("down")
				assert.Equal(c.t, http.Header{"X-Down": {"1", "2"}, "X-Other": {"3"}}, c.wantEnd())
			},
			origin: func(o *side, _ chan struct{}) {
				assert.NotContains(o.t, o.wantHead("POST /"), "Trailer")
				o.wantData("up")
				assert.Equal(o.t, http.Header{"X-Up": {"1", "2"}, "X-Other": {"3"}}, o.wantEnd())
				o.head("200", unknown)
				o.data("down")
				o.end("X-Down: 1", "X-Down: 2", "X-Other: 3")
			},
			check: wholeBothWays(200, 2, 4),
		},
		{
			name: "trailers that belong to one connection",
			client: func(c *side, _ chan struct{}) {
				c.head("GET /", nothing)
				c.wantHead("200")
				assert.Equal(c.t, http.Header{"X-Kept": {"1"}}, c.wantEnd())
			},
			origin: func(o *side, _ chan struct{}) {
				o.wantHead("GET /")
				o.head("200", unknown)
				o.end("Keep-Alive: timeout=5", "X-Kept: 1")
			},
		},
		exactly(65_535), exactly(65_536), exactly(65_537),
		{
			name: "a head of nearly a megabyte",
			client: func(c *side, _ chan struct{}) {
				c.head("GET /", nothing, hugeFields(90)...)
				h := c.wantHead("200")
				assert.Len(c.t, h["X-Huge"], 90)
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				h := o.wantHead("GET /")
				assert.Len(o.t, h["X-Huge"], 90)
				assert.Equal(o.t, strings.Repeat("~", 10_000), h["X-Huge"][89])
				o.head("200", 0, hugeFields(90)...)
			},
		},
		{
			name: "a head that is too large",
			client: func(c *side, _ chan struct{}) {
				c.head("GET /", nothing, hugeFields(115)...)
				e := c.next()
				if c.proto == alpn.H2 { // net/http gives up the connection
					assert.Equal(c.t, "closed", e.kind)
					return
				}
				assert.Equal(c.t, "431", e.start)
			},
			origin: nil,
		},
		{
			name: "authority that is not the target of CONNECT",
			client: func(c *side, _ chan struct{}) {
				c.authority("shop.example:8443")
				c.head("GET /", nothing)
				c.wantHead("421")
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				assert.Equal(o.t, "shop.example:8443", o.wantHead("GET /").Get("Host"))
				o.head("421", 0)
			},
		},
		{
			name: "cookies in several fields",
			client: func(c *side, _ chan struct{}) {
				c.head("GET /", nothing, "Cookie: a=1", "Cookie: b=2")
				c.wantHead("200")
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				h := o.wantHead("GET /")
				assert.Equal(o.t, "a=1; b=2", strings.Join(h["Cookie"], "; "))
				if o.proto == alpn.HTTP11 && o.name == "origin of h2" {
					assert.Len(o.t, h["Cookie"], 1)
				}
				o.head("200", 0)
			},
		},
		{
			name: "answer of HEAD with trailers announced",
			client: func(c *side, _ chan struct{}) {
				c.head("HEAD /", nothing)
				assert.Equal(c.t, "5", c.wantHead("200").Get("Content-Length"))
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				o.wantHead("HEAD /")
				o.head("200", nothing, "Content-Length: 5", "Trailer: X")
			},
		},
		{
			name: "answer that says a body is nothing",
			client: func(c *side, _ chan struct{}) {
				c.head("POST /", 0)
				c.wantHead("200")
				c.wantEnd()
			},
			origin: func(o *side, _ chan struct{}) {
				assert.Equal(o.t, "0", o.wantHead("POST /").Get("Content-Length"))
				o.wantEnd()
				o.head("200", unknown)
				o.end()
			},
		},
	}...)
}

// exactly is about windows, which begin at 65,535 bytes.
func exactly(n int) cell {
	return cell{
		name: fmt.Sprintf("%d bytes each way", n),
		client: func(c *side, _ chan struct{}) {
			c.head("POST /", int64(n))
			c.data(strings.Repeat("u", n))
			finish(c)
			c.wantHead("200")
			c.wantData(strings.Repeat("d", n))
			c.wantEnd()
		},
		origin: func(o *side, _ chan struct{}) {
			o.wantHead("POST /")
			o.wantData(strings.Repeat("u", n))
			o.wantEnd()
			o.head("200", int64(n))
			o.data(strings.Repeat("d", n))
			finish(o)
		},
		check: wholeBothWays(200, int64(n), int64(n)),
	}
}

// hugeFields are ten kilobytes each, of what HPACK does not make shorter, which
// would cost all ends time.
func hugeFields(n int) (fields []string) {
	for range n {
		fields = append(fields, "X-Huge: "+strings.Repeat("~", 10_000))
	}
	return fields
}

// message is a gRPC message of 5 bytes, with its prefix.
func message(text string) string { return "\x00\x00\x00\x00\x05" + text }

const grpcStatus, grpcMessage = "Grpc-Status: 0", "Grpc-Message: fine"

// callRPC is the head of a gRPC request.
func callRPC(c *side, method string) {
	c.head("POST /test.Service/"+method, unknown, "Te: trailers", "Content-Type: application/grpc", "Grpc-Timeout: 1S")
}

func takeRPC(o *side, method string) {
	h := o.wantHead("POST /test.Service/" + method)
	assert.Equal(o.t, []string{"trailers"}, h["Te"])
	assert.Equal(o.t, []string{"1S"}, h["Grpc-Timeout"])
}

func answerRPC(o *side) { o.head("200", unknown, "Content-Type: application/grpc") }

func (s *side) wantStatus() {
	assert.Equal(s.t, http.Header{"Grpc-Status": {"0"}, "Grpc-Message": {"fine"}}, s.wantEnd())
}

func grpcCells() []cell {
	return []cell{
		{
			name: "gRPC unary",
			client: func(c *side, _ chan struct{}) {
				callRPC(c, "Unary")
				c.data(message("hello"))
				c.end()
				c.wantHead("200")
				c.wantData(message("olleh"))
				c.wantStatus()
			},
			origin: func(o *side, _ chan struct{}) {
				takeRPC(o, "Unary")
				o.wantData(message("hello"))
				o.wantEnd()
				answerRPC(o)
				o.data(message("olleh"))
				o.end(grpcStatus, grpcMessage)
			},
		},
		{
			name: "gRPC server streaming",
			client: func(c *side, turn chan struct{}) {
				callRPC(c, "Server")
				c.data(message("start"))
				c.end()
				c.wantHead("200")
				for i := range 5 {
					c.wantData(message(fmt.Sprintf("item%d", i)))
					turn <- struct{}{}
				}
				c.wantStatus()
			},
			origin: func(o *side, turn chan struct{}) {
				takeRPC(o, "Server")
				o.wantData(message("start"))
				o.wantEnd()
				answerRPC(o)
				for i := range 5 {
					o.data(message(fmt.Sprintf("item%d", i)))
					o.await(turn) // each is passed on by itself
				}
				o.end(grpcStatus, grpcMessage)
			},
		},
		{
			name: "gRPC client streaming",
			client: func(c *side, turn chan struct{}) {
				callRPC(c, "Client")
				for i := range 5 {
					c.data(message(fmt.Sprintf("item%d", i)))
					c.await(turn)
				}
				c.end()
				c.wantHead("200")
				c.wantData(message("total"))
				c.wantStatus()
			},
			origin: func(o *side, turn chan struct{}) {
				takeRPC(o, "Client")
				for i := range 5 {
					o.wantData(message(fmt.Sprintf("item%d", i)))
					turn <- struct{}{}
				}
				o.wantEnd()
				answerRPC(o)
				o.data(message("total"))
				o.end(grpcStatus, grpcMessage)
			},
		},
		{
			name: "gRPC both ways",
			client: func(c *side, _ chan struct{}) {
				callRPC(c, "Both")
				c.wantHead("200") // before anything was sent
				for i := range 5 {
					c.data(message(fmt.Sprintf("ping%d", i)))
					c.wantData(message(fmt.Sprintf("pong%d", i)))
				}
				c.end()
				c.wantStatus()
			},
			origin: func(o *side, _ chan struct{}) {
				takeRPC(o, "Both")
				answerRPC(o)
				for i := range 5 {
					o.wantData(message(fmt.Sprintf("ping%d", i)))
					o.data(message(fmt.Sprintf("pong%d", i)))
				}
				o.wantEnd()
				o.end(grpcStatus, grpcMessage)
			},
		},
		{
			name: "gRPC trailers-only",
			client: func(c *side, _ chan struct{}) {
				callRPC(c, "None")
				c.data(message("hello"))
				c.end()
				assert.Equal(c.t, "12", c.wantHead("200").Get("Grpc-Status"))
				assert.Empty(c.t, c.wantEnd())
			},
			origin: func(o *side, _ chan struct{}) {
				takeRPC(o, "None")
				o.wantData(message("hello"))
				o.wantEnd()
				size := nothing // on h2, END_STREAM with the head
				if o.proto == alpn.HTTP11 {
					size = 0
				}
				o.head("200", size, "Content-Type: application/grpc", "Grpc-Status: 12")
			},
		},
	}
}
