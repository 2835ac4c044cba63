package origin_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/origin"
)

// eachProtocol runs f in virtual time against an origin that answers so.
func eachProtocol(t *testing.T, h http.Handler, f func(t *testing.T, s *origin.Server, client *http.Client, proto string)) {
	t.Helper()
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: h})
			f(t, s, &http.Client{Transport: s.Transport(network.Host("pc.test"))}, proto)
		})
	}
}

func content(n int64) string { return string(must(io.ReadAll(origin.Content(n)))) }

func TestBodyComesInItsTime(t *testing.T) {
	body := origin.Body{Size: 1000, Chunk: 300, Every: time.Second, Wait: 2 * time.Second, First: 3 * time.Second}
	eachProtocol(t, body, func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
		start := time.Now()
		resp := must(client.Get(s.URL))
		defer resp.Body.Close()
		assert.Equal(t, 2*time.Second, time.Since(start), "head over %s", proto)
		assert.EqualValues(t, 1000, resp.ContentLength)
		var got bytes.Buffer
		for i, size := range []int{300, 300, 300, 100} {
			chunk := make([]byte, size)
			require.NoError(t, errors.Join(second(io.ReadFull(resp.Body, chunk))))
			assert.Equal(t, time.Duration(5+i)*time.Second, time.Since(start), "chunk %d over %s", i, proto)
			got.Write(chunk)
		}
		assert.Equal(t, content(1000), got.String())
	})
}

func second[T any](_ T, err error) error { return err }

func TestBodyIsNotWhatItSays(t *testing.T) {
	for name, c := range map[string]struct {
		body origin.Body
		got  int64
		err  map[string]string // of the client, by protocol
	}{
		"no length": {origin.Body{Size: 10, Length: -1}, 10, map[string]string{alpn.H2: "", alpn.HTTP11: ""}},
		"short":     {origin.Body{Size: 10, Length: 20}, 10, map[string]string{alpn.H2: "unexpected EOF", alpn.HTTP11: "unexpected EOF"}},
		"cut":       {origin.Body{Size: 10, Cut: origin.At(4)}, 4, map[string]string{alpn.H2: "stream error: stream ID 1; INTERNAL_ERROR; received from peer", alpn.HTTP11: "unexpected EOF"}},
		"cut by code": {
			origin.Body{Size: 10, Cut: origin.At(4), Then: origin.ResetWith(0xb)}, 4,
			map[string]string{alpn.H2: "stream error: stream ID 1; ENHANCE_YOUR_CALM; received from peer", alpn.HTTP11: "unexpected EOF"},
		},
		"stalled": {origin.Body{Size: 10, Stall: origin.At(4)}, 4, map[string]string{alpn.H2: "context deadline exceeded", alpn.HTTP11: "context deadline exceeded"}},
	} {
		eachProtocol(t, c.body, func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
			client.Timeout = time.Minute
			resp, err := client.Get(s.URL)
			require.NoError(t, err, "%s over %s", name, proto)
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			assert.Equal(t, content(c.got), string(got), "%s over %s", name, proto)
			if want := c.err[proto]; want == "" {
				assert.NoError(t, err)
				assert.EqualValues(t, -1, resp.ContentLength)
			} else {
				assert.ErrorContains(t, err, want, "%s over %s", name, proto)
			}
		})
	}
}

// All of the body is there, and then no end, or the wrong one. Who knows the length
// does not notice on HTTP/1.1.
func TestBodyFailsAtItsEnd(t *testing.T) {
	const stalled, reset = "context deadline exceeded", "INTERNAL_ERROR; received from peer"
	for _, c := range []struct {
		body      origin.Body
		h2, http1 string
	}{
		{origin.Body{Size: 10, Stall: origin.At(10)}, stalled, ""},
		{origin.Body{Size: 10, Stall: origin.At(10), Length: -1}, stalled, stalled},
		{origin.Body{Size: 10, Cut: origin.At(10)}, reset, ""},
		{origin.Body{Size: 10, Cut: origin.At(10), Length: -1}, reset, "unexpected EOF"},
	} {
		eachProtocol(t, c.body, func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
			client.Timeout = time.Minute
			resp := must(client.Get(s.URL))
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			assert.Equal(t, content(10), string(got), "%+v over %s", c.body, proto)
			if want := map[string]string{alpn.H2: c.h2, alpn.HTTP11: c.http1}[proto]; want != "" {
				assert.ErrorContains(t, err, want, "%+v over %s", c.body, proto)
			} else {
				assert.NoError(t, err, "%+v over %s", c.body, proto)
			}
		})
	}
}

func TestRanges(t *testing.T) {
	eachProtocol(t, origin.Ranges(5000), func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
		req := must(http.NewRequest("GET", s.URL, nil))
		req.Header.Set("Range", "bytes=1000-1999")
		resp := must(client.Do(req))
		defer resp.Body.Close()
		assert.Equal(t, http.StatusPartialContent, resp.StatusCode)
		assert.Equal(t, "bytes 1000-1999/5000", resp.Header.Get("Content-Range"))
		assert.Equal(t, content(2000)[1000:], string(must(io.ReadAll(resp.Body))))
		whole, _ := get(t, client, s.URL)
		assert.Equal(t, content(5000), whole)
	})
}

func TestHintsAndTrailers(t *testing.T) {
	h := origin.EarlyHints(time.Second, origin.Trailers(http.Header{"checksum": {"7"}}, hello), "</a.css>", "</b.css>", "</c.js>")
	eachProtocol(t, h, func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
		var hints []string
		start := time.Now()
		req := must(http.NewRequest("GET", s.URL, nil))
		req = req.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			assert.Equal(t, time.Duration(len(hints))*time.Second, time.Since(start))
			hints = append(hints, h.Get("Link"))
			return nil
		}}))
		resp := must(client.Do(req))
		defer resp.Body.Close()
		assert.Equal(t, []string{"</a.css>", "</b.css>", "</c.js>"}, hints, proto)
		assert.Empty(t, resp.Header.Get("Link"))
		assert.Equal(t, "hello", string(must(io.ReadAll(resp.Body))))
		assert.Equal(t, http.Header{"Checksum": {"7"}}, resp.Trailer, proto)
	})
}

func TestEvents(t *testing.T) {
	eachProtocol(t, origin.Events(3, time.Minute), func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
		start := time.Now()
		req := must(http.NewRequest("GET", s.URL, nil))
		req.Header.Set("Last-Event-ID", "7")
		resp := must(client.Do(req))
		defer resp.Body.Close()
		var ids []string
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			if in.Text() != "" {
				ids = append(ids, in.Text())
			}
		}
		assert.Equal(t, []string{"id: 8", "data: event 8", "id: 9", "data: event 9", "id: 10", "data: event 10"}, ids)
		assert.Equal(t, 2*time.Minute, time.Since(start), proto)
	})
}

// Events without a pause and without an end, for a client that leaves.
func TestEventsEndWithTheirClient(t *testing.T) {
	leavesNothing(t)
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		returned := make(chan struct{})
		s := origin.New(t, &origin.Config{ALPN: alpn.Only(proto), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(returned)
			origin.Events(0, 0).ServeHTTP(w, r)
		})})
		resp := must(s.Client().Get(s.URL))
		resp.Body.Close()
		select {
		case <-returned:
		case <-time.After(10 * time.Second):
			t.Errorf("over %s events are made for nobody", proto)
		}
	}
}

func TestOnlyHosts(t *testing.T) {
	eachProtocol(t, origin.OnlyHosts(hello, "origin.test"), func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
		_, resp := get(t, client, s.URL)
		assert.Equal(t, 200, resp.StatusCode)
		req := must(http.NewRequest("GET", s.URL, nil))
		req.Host = "other.test:443"
		resp = must(client.Do(req))
		defer resp.Body.Close()
		assert.Equal(t, http.StatusMisdirectedRequest, resp.StatusCode, proto)
		assert.Equal(t, "origin: other.test is not served here\n", string(must(io.ReadAll(resp.Body))))
	})
}

func TestEcho(t *testing.T) {
	eachProtocol(t, http.HandlerFunc(origin.Echo), func(t *testing.T, s *origin.Server, client *http.Client, proto string) {
		resp := must(client.Post(s.URL+"/path?q=1", "text/plain", bytes.NewReader([]byte("body"))))
		defer resp.Body.Close()
		var e origin.Echoed
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&e))
		q := s.Log().Requests()[0]
		assert.Equal(t, origin.Echoed{
			Method: "POST", URL: "/path?q=1", Host: s.Addr, Protocol: map[string]string{alpn.H2: "HTTP/2.0", alpn.HTTP11: "HTTP/1.1"}[proto],
			Connection: 1, Stream: q.Stream, ServerName: "origin.test", HeaderBytes: q.HeaderBytesUp, Body: []byte("body"), Header: e.Header, Line: e.Line, Fields: e.Fields,
		}, e)
		assert.Equal(t, "text/plain", e.Header.Get("Content-Type"))
		assert.Positive(t, e.HeaderBytes)
	})
}

func TestChanceIsOfTheSeed(t *testing.T) {
	hits := func(seed uint64) (all []int) {
		match := origin.Chance(0.25, seed)
		for i := range 4000 {
			r := must(http.NewRequest("GET", "/"+string(rune('a'+i%26))+"?"+string(rune(0x4e00+i)), nil))
			if match(r) {
				all = append(all, i)
			}
		}
		return all
	}
	assert.InDelta(t, 1000, len(hits(1)), 120)
	assert.Equal(t, hits(1), hits(1))
	assert.NotEqual(t, hits(1), hits(2))
}
