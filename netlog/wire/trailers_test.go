package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

func TestTrailersThatNobodyDeclared(t *testing.T) {
	bent(t, func(w http.ResponseWriter, r *http.Request) {
		s := wire.StreamOf(r)
		io.Copy(io.Discard, r.Body)
		got := s.RequestTrailers()
		got.Set("Answer", r.URL.Path)
		if err := s.SendTrailers(got); err != nil {
			panic(err)
		}
		switch r.URL.Path {
		case "/body":
			hello(w, r)
		case "/own":
			w.Header().Set("Trailer", "Own")
			hello(w, r)
			w.Header().Set("Own", "trailer")
		}
	}, func(t *testing.T, p *pair, c *strict) {
		for i, path := range []string{"/body", "/none", "/own"} {
			id := uint32(2*i + 1)
			c.asks(id, "POST", path, false)
			c.data(id, false, "body")
			c.heads(id, true, "sum", "4")
			st := c.over(id)
			want := http.Header{"Sum": {"4"}, "Answer": {path}}
			if path == "/own" {
				want.Set("Own", "trailer")
			}
			require.Equal(t, want, st.trailer, path)
			require.Equal(t, "200", st.status)
		}
	})
}

// TestHalfClose ends the answer of a tunnel while its request goes on.
func TestHalfClose(t *testing.T) {
	bent(t, func(w http.ResponseWriter, r *http.Request) {
		s := wire.StreamOf(r)
		if r.URL.Path == "/before-the-head" {
			s.CloseWrite()
		}
		io.WriteString(w, "first words")
		http.NewResponseController(w).Flush()
		if err := s.CloseWrite(); err != nil && r.URL.Path != "/before-the-head" {
			panic(err)
		}
		s.Flushed(r.Context())
		more := make([]byte, 10<<10)
		for range 20 { // more than the window: it is swallowed, and given back
			w.Write(more)
			http.NewResponseController(w).Flush()
		}
		got, err := io.ReadAll(r.Body)
		s.Record().Update(func(q *netlog.Request) { q.URL = fmt.Sprint(string(got), err) })
	}, func(t *testing.T, p *pair, c *strict) {
		c.asks(1, "POST", "/", false)
		c.data(1, false, "still ")
		st := c.over(1)
		require.Equal(t, "first words", string(st.body))
		c.data(1, true, "here")
		c.asks(3, "POST", "/before-the-head", false)
		c.over(3)
		c.data(3, true, "second")
		c.asks(5, "POST", "/", false)
		require.Equal(t, "first words", string(c.over(5).body))
		c.data(5, true, "third")
		for i, want := range []string{"still here<nil>", "second<nil>", "third<nil>"} {
			p.until("the trailers are "+want, func() bool { return p.requests()[i].URL == want })
		}
		require.Equal(t, 3, p.serverLog.Connections()[0].Requests)
	})
}

// TestClientHalfClose ends a request whose body goes on for net/http.
func TestClientHalfClose(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s, resp, stream, write := uploading(t, w)
		io.WriteString(write, "words")
		s.got("DATA 1 5")
		require.NoError(t, stream.CloseWrite())
		s.got("DATA 1 0 END")
		require.EqualError(t, stream.SendTrailers(nil), "wire: control: SendTrailers: the end of the stream was sent")
		io.WriteString(write, "swallowed")
		write.Close()
		s.data(1, true, "answer")
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "answer", string(got))
		require.Equal(t, "words", string(s.stream(1).body))
	})
}

// uploading has begun a request on stream 1 of a strict server, which has answered
// with a head. The request's body is what is written.
func uploading(t *testing.T, w *world) (s *strict, resp *http.Response, stream *wire.Stream, write *io.PipeWriter) {
	s, c := newStrictServer(t, w, new(netlog.Log))
	body, write := io.Pipe()
	req, _ := http.NewRequest("POST", "http://origin.test/", body)
	go func() { // ends with the connection
		s.got("HEADERS 1 ")
		s.heads(1, false, ":status", "200")
	}()
	resp, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) { stream = c.Control().StreamOf(rec) })
	require.NoError(t, err)
	return s, resp, stream, write
}

// TestClientTrailers puts trailers behind a request and sees those of the
// answer.
func TestClientTrailers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		s, resp, stream, write := uploading(t, w)
		require.ErrorContains(t, stream.SendTrailers(http.Header{"a b": {""}}), `trailer "a b" is no field name`)
		require.NoError(t, stream.SendTrailers(http.Header{"Sum": {"5"}, "Big": {strings.Repeat("x", 40<<10)}}))
		io.WriteString(write, "words")
		write.Close()
		s.over(1)
		s.data(1, false, "answer")
		s.heads(1, true, "nobody", "declared")
		_, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "5", s.stream(1).trailer.Get("Sum"))
		require.Len(t, s.stream(1).trailer.Get("Big"), 40<<10)
		require.Equal(t, http.Header{"Nobody": {"declared"}}, stream.AnswerTrailers())
	})
}

// TestCloseWriteKeepsWhatWasFlushed ends many answers right behind a flush.
func TestCloseWriteKeepsWhatWasFlushed(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "flushed")
			http.NewResponseController(w).Flush()
			wire.StreamOf(r).CloseWrite()
			<-r.Context().Done()
		})
		c := p.strictClient()
		for i := range 100 {
			id := uint32(2*i + 1)
			c.asks(id, "GET", "/", true)
			require.Equal(t, "flushed", string(c.over(id).body), "answer %d", i)
			c.resets(id, http2.ErrCodeCancel)
		}
	})
}
