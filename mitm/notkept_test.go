package mitm_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// What the package comment lists as not kept is not kept. Should net/http learn
// to keep it, the list is to be shortened.

// onHTTP1 runs an exchange of raw bytes on both legs, and returns what the origin
// and the client got.
func onHTTP1(t *testing.T, request, answer string) (atOrigin, atClient string) {
	t.Helper()
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		got := make(chan string, 1)
		s := newRawStage(t, network, mitm.Config{}, alpn.HTTP11, alpn.HTTP11, func(o *side) {
			call := o.call.(*rawH1Call)
			got <- readHead(call.conn.reader)
			call.in = "none"
			call.conn.write(answer)
		})
		conn := s.tunnel(alpn.HTTP11)
		defer conn.NetConn().Close()
		_, err := io.WriteString(conn, request)
		require.NoError(t, err)
		atClient = readHead(bufio.NewReader(conn))
		atOrigin = <-got
	})
	return atOrigin, atClient
}

// readHead reads up to the empty line.
func readHead(r *bufio.Reader) string {
	var head strings.Builder
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		b, err := r.ReadByte()
		if err != nil {
			return head.String() + err.Error()
		}
		head.WriteByte(b)
	}
	return head.String()
}

func TestOrderAndCaseOfFieldsAreNotKept(t *testing.T) {
	up, down := onHTTP1(t,
		"GET / HTTP/1.1\r\nhost: origin.test\r\nzebra: 1\r\nACCEPT: 2\r\nzebra: 3\r\n\r\n",
		"HTTP/1.1 200 OK\r\nzebra: 1\r\nACCEPT-RANGES: 2\r\nzebra: 3\r\nContent-Length: 0\r\n\r\n")
	assert.Equal(t, "GET / HTTP/1.1\r\nHost: origin.test\r\nAccept: 2\r\nZebra: 1\r\nZebra: 3\r\n\r\n", up)
	assert.Equal(t, "HTTP/1.1 200 OK\r\nAccept-Ranges: 2\r\nContent-Length: 0\r\nZebra: 1\r\nZebra: 3\r\n\r\n", down)
}

func TestReasonPhraseIsNotKept(t *testing.T) {
	_, down := onHTTP1(t, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n", "HTTP/1.1 404 Nowhere To Be Seen\r\nContent-Length: 0\r\n\r\n")
	assert.Equal(t, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", down)
}

func TestLengthAndTypeOf304AreNotKeptOnHTTP1(t *testing.T) {
	_, down := onHTTP1(t, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\nContent-Type: text/css\r\nEtag: x\r\n\r\n")
	assert.Equal(t, "HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n", down)
}

func TestOtherExpectationsAreNotPassedOnFromHTTP1(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := newRawStage(t, network, mitm.Config{}, alpn.HTTP11, alpn.HTTP11, func(o *side) {})
		c := s.call()
		c.head("GET /", nothing, "Expect: something-else")
		c.wantHead("417")
		netlog.RequireConnections(t, s.proxy.Log(), 0, "", mitm.Upstream)
	})
}

// A request that has no body for want of a length, and whose method usually has
// one, states the length 0.
func TestLengthOfNoBodyIsStated(t *testing.T) {
	eachRawPair(t, func(o *side) {
		e := o.next()
		want := ""
		if strings.HasPrefix(e.start, "P") {
			want = "0"
		}
		assert.Equal(o.t, want, e.fields.Get("Content-Length"), e.start)
		o.wantEnd()
		o.head("200", 0)
	}, func(t *testing.T, s *rawStage) {
		for _, method := range []string{"GET", "DELETE", "POST", "PUT", "PATCH"} {
			c := s.call()
			c.head(method+" /", nothing)
			c.wantHead("200")
			c.wantEnd()
		}
	})
}

// HTTP/1.1 has trailers in a chunked body only: those that were declared cost the
// length, those that were not are lost where there is one.
func TestTrailersAndLengthsOnHTTP1(t *testing.T) {
	for _, declared := range []bool{false, true} {
		t.Run(fmt.Sprint("declared ", declared), func(t *testing.T) {
			var fields []string
			if declared {
				fields = append(fields, "Trailer: X-Sum")
			}
			eachRawPair(t, func(o *side) {
				e := o.next()
				keeps := o.name == "origin of h2" && o.proto == alpn.H2
				sends := o.name == "origin of h2" && (o.proto == alpn.H2 || declared)
				if e.start == "POST /up" {
					assert.Equal(o.t, keeps && !declared || o.name != "origin of h2" || !declared, e.fields.Get("Content-Length") == "4")
					o.wantData("body")
					assert.Equal(o.t, sends, o.wantEnd().Get("X-Sum") == "1")
					o.head("200", 0)
					return
				}
				o.wantEnd()
				o.head("200", 4, fields...)
				o.data("body")
				if o.proto == alpn.H2 {
					o.end("X-Sum: 1")
				}
			}, func(t *testing.T, s *rawStage) {
				s.server.name = "origin of " + s.down
				if s.down == alpn.H2 {
					c := s.call()
					c.head("POST /up", 4, fields...)
					c.data("body")
					c.end("X-Sum: 1")
					c.wantHead("200")
					c.wantEnd()
				}
				if s.up == alpn.H2 {
					c := s.call()
					c.head("GET /down", nothing)
					h := c.wantHead("200")
					assert.Equal(t, s.down == alpn.H2 || !declared, h.Get("Content-Length") == "4")
					c.wantData("body")
					assert.Equal(t, s.down == alpn.H2 || declared, c.wantEnd().Get("X-Sum") == "1")
				}
			})
		})
	}
}

// Extended CONNECT (RFC 8441) is not offered, and a client that tries it all the
// same hears at once that it does not work. Other streams go on.
func TestExtendedConnectIsRefused(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		s := newRawStage(t, network, mitm.Config{}, alpn.H2, alpn.H2, func(o *side) {
			o.wantHead("GET /")
			o.head("200", 0)
		})
		client := s.client()
		ask := func() {
			c := client.call()
			c.head("GET /", nothing)
			c.wantHead("200")
			c.wantEnd()
		}
		ask()
		assert.NotContains(t, client.h2.stated, enableConnectProtocol)
		c := client.call()
		call := c.call.(*rawH2Call)
		call.protocol = "websocket"
		c.head("CONNECT /chat", unknown)
		e := c.next()
		assert.Equal(t, "reset PROTOCOL_ERROR", e.String())
		ask()
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Downstream)
	})
}

const enableConnectProtocol = 8 // SETTINGS_ENABLE_CONNECT_PROTOCOL

// Fields that belong to one connection are an origin's mistake on HTTP/2, and
// none of the business of other streams.
func TestConnectionFieldFromH2(t *testing.T) {
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			var release chan struct{}
			s := newRawStage(t, network, mitm.Config{}, down, alpn.H2, func(o *side) {
				if e := o.next(); e.start == "GET /slow" {
					o.head("200", unknown)
					o.await(release)
					o.data("slow")
					o.end()
					return
				}
				o.head("200", 0, "Connection: close", "Keep-Alive: timeout=1", "X-Kept: 1")
			})
			release = make(chan struct{})
			slow := s.call()
			slow.head("GET /slow", nothing)
			slow.wantHead("200")
			c := s.call()
			c.head("GET /", nothing)
			h := c.wantHead("200")
			assert.Equal(t, http.Header{"Content-Length": {"0"}, "X-Kept": {"1"}}, h)
			c.wantEnd()
			close(release)
			slow.wantData("slow")
			slow.wantEnd()
			netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Upstream)
		})
	}
}

// An origin that fails costs an http/1.1 client its answer, not its connection.
func TestConnectionLivesOnAfter502(t *testing.T) {
	eachRawPair(t, func(o *side) {
		if e := o.next(); e.start == "POST /fails" {
			o.wantData("body")
			hangUp(o)
			return
		}
		o.wantEnd()
		o.head("200", 0)
	}, func(t *testing.T, s *rawStage) {
		client := s.client()
		for range 2 {
			c := client.call()
			c.head("POST /fails", 4)
			c.data("body")
			finish(c)
			length := c.wantHead("502").Get("Content-Length")
			for got := 0; fmt.Sprint(got) != length; {
				got += len(c.next().data)
			}
			c.wantEnd()
			c = client.call()
			c.head("GET /", nothing)
			c.wantHead("200")
			c.wantEnd()
		}
		netlog.RequireConnections(t, s.proxy.Log(), 1, s.down, mitm.Downstream)
	})
}

// The rest of a request's body does not go to an origin of h2 that has answered with a
// status of 300 or more; below that it does.
func TestRestBehindAnAnswerThatRefusesIsNotPassedOnToH2(t *testing.T) {
	for _, status := range []string{"299", "300", "404", "503"} {
		t.Run(status, func(t *testing.T) {
			var sent, over chan struct{}
			eachRawPair(t, func(o *side) {
				defer close(over)
				o.wantHead("PUT /")
				o.wantData("begun")
				o.head(status, 5)
				if o.proto == alpn.H2 && status != "299" {
					o.await(sent)
					o.data("early")
					o.end()
					assert.Equal(o.t, "reset", o.next().kind)
					return
				}
				o.wantData("rest")
				o.wantEnd()
				o.data("early")
				finish(o)
			}, func(t *testing.T, s *rawStage) {
				sent, over = make(chan struct{}), make(chan struct{})
				c := s.call()
				c.head("PUT /", 9)
				c.data("begun")
				c.wantHead(status)
				c.data("rest")
				finish(c)
				close(sent)
				c.wantData("early")
				c.wantEnd()
				c.await(over)
			})
		})
	}
}

// A stream whose reader has stopped does not stop the others.
func TestStreamThatIsNotRead(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
			const large = 1 << 20
			s := newRawStage(t, network, mitm.Config{}, alpn.H2, up, func(o *side) {
				e := o.next()
				o.wantEnd()
				if e.start == "GET /large" {
					o.head("200", large)
					o.data(strings.Repeat("l", large))
					finish(o)
					return
				}
				o.head("200", 5)
				o.data("small")
				finish(o)
			})
			client := s.client()
			client.h2.write(func() { client.h2.framer.WriteWindowUpdate(0, 2*large) }) // for all streams together
			stuck := client.call()
			stuck.call.(*rawH2Call).slow = true
			stuck.head("GET /large", nothing)
			stuck.wantHead("200")
			for range 3 {
				c := client.call()
				c.head("GET /small", nothing)
				c.wantHead("200")
				c.wantData("small")
				c.wantEnd()
			}
			stuck.call.(*rawH2Call).resume(large)
			for got := len(stuck.left); got < large; {
				e := stuck.next()
				require.Equal(t, "data", e.kind, "%v", e)
				got += len(e.data)
			}
			stuck.wantEnd()
		})
	}
}

func TestEmptyUserAgentIsNotKept(t *testing.T) {
	up, _ := onHTTP1(t, "GET / HTTP/1.1\r\nHost: origin.test\r\nUser-Agent:\r\nAccept:\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	assert.Equal(t, "GET / HTTP/1.1\r\nHost: origin.test\r\nAccept: \r\n\r\n", up)
}

func TestTargetThatNeedsEscaping(t *testing.T) {
	for target, arrives := range map[string]string{
		`/a"b|c`:  `/a"b|c`,
		`//a"b|c`: `//a%22b%7Cc`,
		"/a?b\"c": "/a?b\"c",
	} {
		up, _ := onHTTP1(t, "GET "+target+" HTTP/1.1\r\nHost: origin.test\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		assert.Equal(t, "GET "+arrives+" HTTP/1.1\r\nHost: origin.test\r\n\r\n", up)
	}
}

func TestChunksAreCutAnew(t *testing.T) {
	_, down := onHTTP1(t, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;extension=1\r\n\r\n\r\n\r\n0\r\n\r\n")
	assert.Equal(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", down)
}

// An origin that does not say 100 gets the body after a second (RFC 9110, section
// 10.1.1), and the client's 100 is of that moment.
func TestContinueThatTheOriginDoesNotSay(t *testing.T) {
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(pairName(down, up), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newRawStage(t, linkdelay.NewNetwork(t, linkdelay.Link{}), mitm.Config{}, down, up, func(o *side) {
						o.wantHead("PUT /")
						o.wantData("body")
						o.wantEnd()
						o.head("200", 0)
					})
					c := s.call()
					start := time.Now()
					c.head("PUT /", 4, "Expect: 100-continue")
					c.wantHead("100")
					assert.Equal(t, time.Second, time.Since(start))
					c.data("body")
					finish(c)
					c.wantHead("200")
					c.wantEnd()
				})
			})
		}
	}
}

// The last part of an HTTP/2 body that states its length goes on when its end has
// come, though the length says that this is all.
func TestLastPartOfAStatedLengthWaitsForItsEnd(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		synctest.Test(t, func(t *testing.T) {
			var arrived time.Time
			s := newRawStage(t, linkdelay.NewNetwork(t, linkdelay.Link{}), mitm.Config{}, alpn.H2, up, func(o *side) {
				o.wantHead("POST /")
				o.wantData("body")
				arrived = time.Now()
				o.wantEnd()
				o.head("200", 0)
			})
			c := s.call()
			start := time.Now()
			c.head("POST /", 4)
			c.data("body")
			time.Sleep(time.Second)
			finish(c)
			c.wantHead("200")
			c.wantEnd()
			want := time.Second
			if up == alpn.HTTP11 {
				want = 0
			}
			assert.Equal(t, want, arrived.Sub(start), up)
		})
	}
}
