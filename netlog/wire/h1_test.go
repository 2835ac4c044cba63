package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func h1Exchanges() []scriptCase {
	const get, head = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	return []scriptCase{{
		name: "one after the other",
		script: new(script).upHeads(get).downHeads("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").down("hello").
			upHeads("PUT /b?q HTTP/1.1\r\nhost: a.test:8443\r\ncontent-length:3\r\n\r\n").up("abc").
			downHeads("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").closedBy("client"),
		want: `
			http/1.1 requests 2 most 1 {up} {down}: closed by client
			0 http/1.1 GET https://a.test/: 200 up 32+0 down 38+5 ok
			0 http/1.1 PUT https://a.test:8443/b?q: 200 up 58+3 down 38+0 ok
		`,
	}, {
		name: "pipelined",
		script: new(script).upHeads(get + head + get).
			downHeads("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").
			downHeads("HTTP/1.1 204\r\nTransfer-Encoding: chunked\r\n\r\n").closedBy("server"),
		want: `
			http/1.1 requests 3 most 3 {up} {down}: closed by server
			0 http/1.1 GET https://a.test/: 304 up 32+0 down 48+0 ok
			0 http/1.1 HEAD https://a.test/: 200 up 33+0 down 38+0 ok
			0 http/1.1 GET https://a.test/: 204 up 32+0 down 44+0 ok
		`,
	}, {
		name: "chunked both ways, with extensions and trailers",
		script: new(script).upHeads("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n").
			up("3;a=\"b\"\r\nabc\r\nA \r\n0123456789\r\n0\r\n\r\n").
			downHeads("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n").
			down("1\r\nx\r\n00\r\n").downHeads("Sum: 1\r\nMore: 2\r\n").down("\r\n").
			upHeads(get).closedBy("client"),
		want: `
			http/1.1 requests 2 most 1 {up} {down}: closed by client
			0 http/1.1 POST https://a.test/: 200 up 67+13 down 83+1 ok
			0 http/1.1 GET https://a.test/: 0 up 32+0 down 0+0 connection closed before the answer ended: closed by client
		`,
	}, {
		name: "interim answers are not final",
		script: new(script).upHeads("POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n").
			downHeads("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n").
			up("ab").downHeads("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").closedBy("client"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: closed by client
			0 http/1.1 POST https://a.test/: 200 up 74+2 down 103+0 ok
		`,
	}}
}

func h1Endings() []scriptCase {
	const get = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	return []scriptCase{{
		name: "until the end",
		script: new(script).upHeads(get).downHeads("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").
			down("all that\r\n\r\ncomes").closedBy("server"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: closed by server
			0 http/1.1 GET https://a.test/: 200 up 32+0 down 38+17 ok
		`,
	}, {
		name: "until a reset",
		script: new(script).upHeads(get).downHeads("HTTP/1.1 200 OK\r\n\r\n").
			down("half of").closedBy("reset"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: reset by client
			0 http/1.1 GET https://a.test/: 200 up 32+0 down 19+7 connection closed before the answer ended: reset by client
		`,
	}, {
		name: "the answer ends before the request",
		script: new(script).upHeads("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 6\r\n\r\n").up("abc").
			downHeads("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").up("def").
			upHeads(get).downHeads("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").closedBy("client"),
		want: `
			http/1.1 requests 2 most 1 {up} {down}: closed by client
			0 http/1.1 POST https://a.test/: 413 up 52+6 down 45+0 ok
			0 http/1.1 GET https://a.test/: 200 up 32+0 down 38+0 ok
		`,
	}}
}

func h1Tunnels() []scriptCase {
	const get = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	return []scriptCase{{
		name: "upgrade to a tunnel, for as long as the connection lives",
		script: new(script).upHeads("GET /ws HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n\r\n").
			downHeads("HTTP/1.1 101 Switching\r\n\r\n").down("GET HTTP/1.1 200 OK\r\n\r\n").up(get).closedBy("client"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: closed by client
			0 http/1.1 GET https://a.test/ws: 101 up 54+0 down 26+0 ok
		`,
	}, {
		name: "CONNECT, refused and taken",
		script: new(script).upHeads("CONNECT b.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n").
			downHeads("HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\n").down("no").
			upHeads(get).downHeads("HTTP/1.1 204 No Content\r\n\r\n").
			upHeads("CONNECT b.test:443 HTTP/1.1\r\n\r\n").downHeads("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n").
			up("\x16\x03\x01").down("\x16\x03\x03").closedBy("server"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: closed by server
			0 http/1.1 GET https://a.test/: 204 up 32+0 down 27+0 ok
		`,
	}, {
		name: "CONNECT leaves the connection unused, and who sends early has no more requests",
		script: new(script).upHeads("CONNECT b.test:443 HTTP/1.1\r\n\r\n").up(get).
			downHeads("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n").up(get).closedBy("server"),
		want: `http/1.1 requests 0 most 0 {up} {down} unused: closed by server
		`,
	}}
}

func h1Oddities() []scriptCase {
	const get = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	return []scriptCase{{
		name: "HTTP/1.0 has no transfer codings",
		script: new(script).upHeads("GET / HTTP/1.0\r\n\r\n").
			downHeads("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").down("5\r\nabc").closedBy("server"),
		want: `
			http/1.0 requests 1 most 1 {up} {down}: closed by server
			0 http/1.0 GET https://host.test:443/: 200 up 18+0 down 47+6 ok
		`,
	}, {
		name: "an HTTP/1.0 server",
		script: new(script).upHeads(get).downHeads("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").
			upHeads(get).closedBy("client"),
		want: `
			http/1.0 requests 2 most 1 {up} {down}: closed by client
			0 http/1.0 GET https://a.test/: 200 up 32+0 down 38+0 ok
			0 http/1.1 GET https://a.test/: 0 up 32+0 down 0+0 connection closed before the answer ended: closed by client
		`,
	}, {
		name: "targets",
		script: new(script).upHeads("GET http://other.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n").
			upHeads("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n").
			upHeads("GET /with space HTTP/1.1\r\nX: y\r\n Host: folded.test\r\nHost:a.test \r\n\r\n"),
		want: `
			http/1.1 requests 3 most 3 {up} {down}: open
			0 http/1.1 GET http://other.test/x: 0 up 50+0 down 0+0 open ok
			0 http/1.1 OPTIONS https://a.test: 0 up 36+0 down 0+0 open ok
			0 http/1.1 GET https://a.test/with space: 0 up 68+0 down 0+0 open ok
		`,
	}, {
		name: "bare line feeds, and empty lines before a message",
		script: new(script).up("\r\n\n").upHeads("GET / HTTP/1.1\nHost: a.test\n\r\n").
			up("\r\n").upHeads("POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n").up("1\r\nx\r\n0\r\n\n").
			downHeads("HTTP/1.1 200\nContent-Length: 1, 1\nContent-Length: 1\n\n").down("x").closedBy("client"),
		want: `
			http/1.1 requests 2 most 2 {up} {down}: closed by client
			0 http/1.1 GET https://a.test/: 200 up 30+0 down 53+1 ok
			0 http/1.1 POST https://host.test:443/: 0 up 44+1 down 0+0 connection closed before the answer ended: closed by client
		`,
	}, {
		name:   "an answer to nothing",
		script: new(script).downHeads("HTTP/1.1 408 Timeout\r\nContent-Length: 1\r\n\r\n").down("x").closedBy("server"),
		want: `http/1.1 requests 0 most 0 {up} {down} unused: closed by server
		`,
	}, {
		name: "a head that is answered before it is whole",
		script: new(script).upHeads(get).downHeads("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").
			upHeads("PUT /part HTTP/1.1\r\nHost: a.test\r\nX y\r\nContent-Length: ").
			downHeads("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n").down("no").
			up("10\r\n\r\n0123456789" + get).closedBy("server"),
		want: `
			http/1.1 requests 2 most 1 {up} {down}: closed by server
			0 http/1.1 GET https://a.test/: 200 up 32+0 down 38+0 ok
			0 http/1.1 PUT https://a.test/part: 400 up 55+0 down 47+2 ok
		`,
	}, {
		name: "a request line that is answered before its head is whole",
		script: new(script).up("GET / HTTP/3\r\nHost").
			downHeads("HTTP/1.1 400 Bad Request\r\n\r\n").down("no").closedBy("server"),
		want: `http/1.1 requests 0 most 0 {up} {down} unused: closed by server; wire: http/1.1: request at byte 0: request line "GET / HTTP/3" does not end in an HTTP/1 version
		`,
	}, {
		name: "a head that is answered before it is whole, of a body that nobody could follow",
		script: new(script).upHeads("PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip\r\n").
			downHeads("HTTP/1.1 501 Not Implemented\r\n\r\n").down("no").closedBy("server"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: closed by server; wire: http/1.1: request at byte 0: Transfer-Encoding does not end in chunked
			0 http/1.1 PUT https://a.test/: 501 up 55+0 down 32+2 ok
		`,
	}, {
		name: "part of a request line that is answered",
		script: new(script).up("GET / HT").
			downHeads("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").closedBy("server"),
		want: `http/1.1 requests 0 most 0 {up} {down} unused: closed by server
		`,
	}, {
		name: "folded fields",
		script: new(script).upHeads("PUT / HTTP/1.1\r\nHost:\r\n\ta.test\r\nContent-Length:\r\n 1\r\n\t\r\n\r\n").up("x").
			upHeads("PUT / HTTP/1.1\nHost: a.test\nTransfer-Encoding: gzip,\n chunked\n\n").up("1\r\nx\r\n0\r\n\r\n").upHeads(get).
			downHeads("HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\n").down("ab").
			downHeads("HTTP/1.1 204 No Content\r\n\r\n").closedBy("client"),
		want: `
			http/1.1 requests 3 most 3 {up} {down}: closed by client
			0 http/1.1 PUT https://a.test/: 200 up 58+1 down 40+2 ok
			0 http/1.1 PUT https://a.test/: 204 up 63+1 down 27+0 ok
			0 http/1.1 GET https://a.test/: 0 up 32+0 down 0+0 connection closed before the answer ended: closed by client
		`,
	}, {
		name: "h2 is spoken where HTTP/1.1 was agreed",
		script: begin().upFrames(func(c *sender) { c.get(1, "/") }).
			downFrames(func(s *sender) { s.head(1, true, ":status", "200") }).closedBy("client"),
		want: `
			h2 requests 1 most 1 {up} {down}: closed by client
			1 h2 GET https://a.test/: 200 up 9+0 down 1+0 ok
		`,
	}}
}

func h1Scripts() []scriptCase {
	return slices.Concat(h1Exchanges(), h1Endings(), h1Tunnels(), h1Oddities())
}

func TestTapHTTP1Scripts(t *testing.T) {
	for _, c := range h1Scripts() {
		c.protocol = "http/1.1"
		t.Run(c.name, c.requireAt)
	}
}

// TestTapMalformedRequests wants the parser to stop there, say so once, and let
// all bytes pass.
func TestTapMalformedRequests(t *testing.T) {
	for want, head := range map[string]string{
		`malformed request line "GET"`:                                     "GET\r\n\r\n",
		`malformed request line "GET HTTP/1.1"`:                            "GET HTTP/1.1\r\n\r\n",
		`malformed request line "G(T / HTTP/1.1"`:                          "G(T / HTTP/1.1\r\n\r\n",
		`request line "GET / HTTP/2.0" does not end in an HTTP/1 version`:  "GET / HTTP/2.0\r\n\r\n",
		`request line "GET / HTTP/1.10" does not end in an HTTP/1 version`: "GET / HTTP/1.10\r\n\r\n",
		`request line "PRI * HTTP/2.0" does not end in an HTTP/1 version`:  "PRI * HTTP/2.0\r\n\r\nsm",
		`malformed request line "\x16\x03\x01"`:                            "\x16\x03\x01\n\n",
		`Content-Length "-1"`:                                              "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		`Content-Length "9223372036854775808"`:                             "POST / HTTP/1.1\r\nContent-Length: 9223372036854775808\r\n\r\n",
		`Content-Length is 1 and 2`:                                        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		`Transfer-Encoding does not end in chunked`:                        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
		`chunk size "g"`:                  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n",
		`chunk size ""`:                   "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
		`chunk size "ffffffffffffffff"`:   "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		`"yz" behind the data of a chunk`: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n",
		`a line of the chunked coding, "1\n", does not end in CRLF`:       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n",
		`a line of the chunked coding, "\n", does not end in CRLF`:        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\n",
		`a line of the chunked coding, "\r\r\n", does not end in CRLF`:    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\r\n",
		`a line of the chunked coding, "1\r;x\r\n", does not end in CRLF`: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r;x\r\n",
		`chunked coding has a line that is too long`:                      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", maxChunkLine),
		`head is longer than 1048576 bytes`:                               "POST / HTTP/1.1\r\nX:" + strings.Repeat("x", maxHead),
		`malformed request line "` + strings.Repeat("x", 80) + `…"`:       strings.Repeat("x", 99) + "\n\n",
	} {
		s := new(script).up(head).up("GET / HTTP/1.1\r\n\r\n").closedBy("client")
		for _, side := range []Side{ServerSide, ClientSide} {
			got := s.play(t, side, "http/1.1", []int{})
			require.Contains(t, got, ": closed by client; wire: http/1.1: request at byte 0: "+want+"\n")
			require.NotContains(t, got, " GET ")
		}
	}
}

func TestTapMalformedAnswers(t *testing.T) {
	for want, head := range map[string]string{
		`malformed status line "HTTP/1.1"`:         "HTTP/1.1\r\n\r\n",
		`malformed status line "HTTP/1.1 20 OK"`:   "HTTP/1.1 20 OK\r\n\r\n",
		`malformed status line "HTTP/1.1 -20 OK"`:  "HTTP/1.1 -20 OK\r\n\r\n",
		`malformed status line "HTTP/1.1 2000 OK"`: "HTTP/1.1 2000 OK\r\n\r\n",
		`malformed status line "HTTP/3 200 OK"`:    "HTTP/3 200 OK\r\n\r\n",
		`Content-Length "x"`:                       "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		`chunk size "x"`:                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
	} {
		s := new(script).up("GET / HTTP/1.1\r\n\r\n").down("HTTP/1.1 100 C\r\n\r\n").down(head).down("and so on").closedBy("server")
		for _, side := range []Side{ServerSide, ClientSide} {
			got := s.play(t, side, "http/1.1", []int{})
			require.Contains(t, got, ": closed by server; wire: http/1.1: answer at byte 18: "+want+"\n")
			require.Contains(t, got, "connection closed before the answer ended: closed by server\n")
		}
	}
}
