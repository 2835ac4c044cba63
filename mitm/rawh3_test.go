package mitm_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// rawH3Call is a request of HTTP/3 at the origin's end, as far as http3's server has
// words for it: here alone that end is not by hand.
type rawH3Call struct {
	w      http.ResponseWriter
	r      *http.Request
	headed bool // the request's head was given
	asked  bool // and its end
	broken bool // by reset
	buffer [32 << 10]byte
}

func (c *rawH3Call) head(start string, size int64, fields ...string) {
	h := c.w.Header()
	clear(h)
	for _, field := range fields {
		name, value := splitField(field)
		h.Add(name, value)
	}
	status, _ := strconv.Atoi(start)
	if status >= 200 {
		h["Date"] = nil
	}
	if size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	c.w.WriteHeader(status)
	if size != 0 && size != nothing {
		c.flush()
	}
}

func (c *rawH3Call) flush() { http.NewResponseController(c.w).Flush() }

func (c *rawH3Call) data(s string) {
	io.WriteString(c.w, s) // a peer that has gone is seen by next
	c.flush()
}

// end leaves the end of the stream to that of the handler.
func (c *rawH3Call) end(trailers ...string) {
	declared := strings.Join(c.w.Header()["Trailer"], ",")
	for _, field := range trailers {
		name, value := splitField(field)
		if !strings.Contains(declared, name) {
			name = http.TrailerPrefix + name
		}
		c.w.Header().Add(name, value)
	}
}

func (c *rawH3Call) reset(code http2.ErrCode) {
	c.broken = true
	defer func() { recover() }() // which is how the handler would end
	wire.ResetWith(code)(c.w, c.r, nil)
}

func (c *rawH3Call) next() event {
	if !c.headed {
		c.headed = true
		fields := c.r.Header.Clone()
		fields.Set("Host", c.r.Host)
		for name := range c.r.Trailer {
			fields.Add("Trailer", name)
		}
		return event{kind: "head", start: c.r.Method + " " + c.r.RequestURI, fields: fields}
	}
	if c.asked {
		<-c.r.Context().Done() // whose cause is not the code
		c.w.Write(c.buffer[:1])
		return resetBy(http.NewResponseController(c.w).Flush())
	}
	n, err := c.r.Body.Read(c.buffer[:])
	switch {
	case n > 0:
		return event{kind: "data", data: string(c.buffer[:n])}
	case err == io.EOF:
		c.asked = true
		return event{kind: "end"}
	case err == nil:
		return c.next()
	}
	return resetBy(err)
}

func resetBy(cause error) event {
	var told *quic.StreamError
	switch {
	case !errors.As(cause, &told):
		return event{kind: "closed"}
	case http3.ErrCode(told.ErrorCode) == http3.ErrCodeRequestCanceled:
		return event{kind: "reset", code: http2.ErrCodeCancel}
	case http3.ErrCode(told.ErrorCode) == http3.ErrCodeExcessiveLoad:
		return event{kind: "reset", code: http2.ErrCodeEnhanceYourCalm}
	}
	return event{kind: "reset", code: http2.ErrCodeInternal}
}

// newRawStageHTTP3 has an origin of HTTP/3.
func newRawStageHTTP3(t testing.TB, network *linkdelay.Network, down string, serve func(*side)) *rawStage {
	t.Helper()
	authority := ca.New(t, nil)
	server := &rawServer{t: t, name: "origin", proto: alpn.H3, serve: serve}
	site := origin.New(t, &origin.Config{
		CA:    authority,
		Net:   network.Host("origin.test"),
		HTTP3: &origin.HTTP3{AltSvc: origin.AltSvc{Absent: true}},
		Handler: handler(func(w http.ResponseWriter, r *http.Request) {
			call := &rawH3Call{w: w, r: r}
			whole := finishes(func() { serve(&side{call: call, t: t, name: server.name, proto: alpn.H3}) })
			if !whole || call.broken {
				panic(http.ErrAbortHandler)
			}
		}),
	})
	cfg := mitm.Config{Net: network.Host("proxy.test"), RootCAs: authority.Pool(), CA: authority}
	cfg.Downstream.ALPN, cfg.Upstream.HTTP3 = alpn.Only(down), h3.Upstream(nil)
	return &rawStage{t, network, authority, mitm.New(t, &cfg), down, alpn.H3, site.Addr, server}
}

// eachRawPairHTTP3 runs body for clients of each protocol, in both worlds.
func eachRawPairHTTP3(t *testing.T, serve func(*side), body func(*testing.T, *rawStage)) {
	t.Helper()
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(pairName(down, alpn.H3), func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				body(t, newRawStageHTTP3(t, network, down, serve))
			})
		})
	}
}

// notOverHTTP3 reports whether http3's server cannot be the origin of a cell: of a
// request's trailers it tells nothing, and what it allows a head is less where
// QPACK's Huffman code makes it longer, as that of "~".
func notOverHTTP3(c cell) bool {
	return c.origin == nil || slices.Contains([]string{
		"trailers, declared, behind more than a window", "trailers that nobody declared", "a head of nearly a megabyte",
	}, c.name)
}

// TestMatrixOverHTTP3 is TestMatrix with an origin of HTTP/3. The race detector sees
// each cell with one protocol of the client.
func TestMatrixOverHTTP3(t *testing.T) {
	for i, c := range append(cells(), moreCells()...) {
		if notOverHTTP3(c) {
			continue
		}
		for j, down := range []string{alpn.HTTP11, alpn.H2} {
			if raceDetector && (i+j)%2 != 0 {
				continue
			}
			t.Run(c.name+"/"+pairName(down, alpn.H3), func(t *testing.T) {
				serve, run := c.ends()
				recording.Bubble(t, nil, func(t *testing.T) {
					run(t, newRawStageHTTP3(t, linkdelay.NewNetwork(t, linkdelay.Link{}), down, serve))
				})
			})
		}
	}
}
