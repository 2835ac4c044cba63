package wire_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// bent runs body with a Server over plain HTTP/2 and a strict client of it.
func bent(t *testing.T, handler http.HandlerFunc, body func(t *testing.T, p *pair, c *strict)) {
	t.Helper()
	eachWorld(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(handler)
		body(t, p, p.strictClient())
	})
}

func (p *pair) strictClient(settings ...http2.Setting) *strict {
	conn, err := p.dial(context.Background())
	require.NoError(p.t, err)
	return newStrict(p.t, conn, true, settings...)
}

func hello(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }

func (p *pair) requests() netlog.Requests { return p.serverLog.Requests() }

func TestResetWithACode(t *testing.T) {
	gone := make(chan error, 2)
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reset":
			if err := wire.StreamOf(r).Reset(http2.ErrCodeEnhanceYourCalm); err != nil {
				panic(err)
			}
			<-r.Context().Done()
			io.WriteString(w, "too late")
			gone <- wire.StreamOf(r).Reset(http2.ErrCodeNo)
		default:
			hello(w, r)
		}
	}
	eachWorld(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(handler)
		c := p.strictClient()
		c.asks(1, "POST", "/reset", false)
		require.Equal(t, http2.ErrCodeEnhanceYourCalm, c.wasReset(1))
		require.EqualError(t, <-gone, "wire: control: Reset: the stream is over")
		c.data(1, false, "on its way")
		c.heads(1, true, "late", "trailer")
		c.asks(3, "GET", "/", true)
		require.Equal(t, "hello", string(c.over(3).body))
		require.Equal(t, "RST_STREAM ENHANCE_YOUR_CALM sent by server", p.requests()[0].Err)
	})
}

func TestResetAs(t *testing.T) {
	bent(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "part")
		http.NewResponseController(w).Flush()
		wire.StreamOf(r).ResetAs(http2.ErrCodeConnect)
		panic(http.ErrAbortHandler)
	}, func(t *testing.T, p *pair, c *strict) {
		c.asks(1, "GET", "/", true)
		st := c.over(1)
		require.Equal(t, http2.ErrCodeConnect, st.code)
		require.Equal(t, "part", string(st.body))
		require.Equal(t, "RST_STREAM CONNECT_ERROR sent by server", p.requests()[0].Err)
	})
}

func TestOnReset(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		codes := make(chan http2.ErrCode, 2)
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(func(w http.ResponseWriter, r *http.Request) {
			s := wire.StreamOf(r)
			_, early := s.PeerReset()
			s.OnReset(func(code http2.ErrCode) {
				if !early && r.Context().Err() == nil {
					codes <- code
				}
			})
			<-r.Context().Done()
			s.OnReset(func(code http2.ErrCode) { codes <- code })
		})
		c := p.strictClient()
		c.asks(1, "GET", "/", true) // the body has ended
		p.untilAsked(1)
		c.resets(1, http2.ErrCodeInadequateSecurity)
		require.Equal(t, http2.ErrCodeInadequateSecurity, <-codes)
		require.Equal(t, http2.ErrCodeInadequateSecurity, <-codes)
	})
}

// untilAsked waits until the server's handlers run for n requests: it has
// begun as many records, and they are not over.
func (p *pair) untilAsked(n int) {
	for len(p.requests()) < n {
		time.Sleep(time.Millisecond)
	}
}

func TestClientResetsAs(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", "http://origin.test/", nil)
		require.NoError(t, err)
		_, err = c.RoundTrip(req, func(rec *netlog.RequestRecord) {
			require.NoError(t, c.Control().StreamOf(rec).ResetAs(http2.ErrCodeHTTP11Required))
			cancel()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, http2.ErrCodeHTTP11Required, s.wasReset(1))
	})
}

func newStrictServer(t testing.TB, w *world, log *netlog.Log, settings ...http2.Setting) (*strict, *wire.ClientConn) {
	near, far := connected(t, w)
	c, err := wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(netlog.Connection{ALPN: "h2", Host: "origin.test:443"})})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return newStrict(t, far, false, settings...), c
}

func TestClientSeesCodes(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		codes := make(chan http2.ErrCode, 1)
		req, _ := http.NewRequest("GET", "http://origin.test/", nil)
		go func() {
			s.got("HEADERS 1  END")
			s.resets(1, http2.ErrCodeEnhanceYourCalm)
		}()
		_, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) {
			c.Control().StreamOf(rec).OnReset(func(code http2.ErrCode) { codes <- code })
		})
		require.Error(t, err)
		require.Equal(t, http2.ErrCodeEnhanceYourCalm, <-codes)
	})
}

func TestClientReset(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		req, _ := http.NewRequest("POST", "http://origin.test/", io.MultiReader(neverEnds{}))
		var stream *wire.Stream
		go func() {
			s.got("HEADERS 1 ")
			s.heads(1, false, ":status", "200", "x", "y")
		}()
		resp, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) { stream = c.Control().StreamOf(rec) })
		require.NoError(t, err)
		require.NoError(t, stream.Reset(http2.ErrCodeSettingsTimeout))
		_, err = io.ReadAll(resp.Body)
		require.ErrorContains(t, err, "CANCEL")
		require.Equal(t, http2.ErrCodeSettingsTimeout, s.wasReset(1))
		s.data(1, true, "late") // is ignored
		go func() {
			s.got("HEADERS 3  END")
			s.heads(3, true, ":status", "204", "x", "y")
		}()
		req, _ = http.NewRequest("GET", "http://origin.test/", nil)
		resp, err = c.RoundTrip(req, nil)
		require.NoError(t, err)
		require.Equal(t, 204, resp.StatusCode)
	})
}

type neverEnds struct{}

func (neverEnds) Read(p []byte) (int, error) { return len(p), nil }

func TestGoAwayBeforeAndUpTo(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		s := wire.StreamOf(r)
		switch r.URL.Path {
		case "/last":
			s.Control().GoAway(s.ID(), http2.ErrCodeNo, "bye")
		case "/refused":
			s.Control().GoAway(s.ID()-1, http2.ErrCodeEnhanceYourCalm, "")
			<-r.Context().Done()
		}
		io.Copy(io.Discard, r.Body)
		hello(w, r)
	}
	for path, last := range map[string]int64{"/last": 3, "/refused": 2} {
		t.Run(path[1:], func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(handler)
				c := p.strictClient()
				c.asks(1, "POST", "/slow", false)
				c.asks(3, "POST", path, false)
				c.until("GOAWAY", func() bool { return c.goneAway == last })
				c.asks(5, "POST", "/too-late", false, "new", "field")
				c.data(5, false, "which is ignored")
				c.heads(5, true, "a", "trailer", "new", "other")
				if last == 2 {
					c.heads(3, true, "a", "trailer", "new", "third")
				}
				c.data(1, true, "and the first is served")
				require.Equal(t, "hello", string(c.over(1).body))
				if last == 3 {
					c.data(3, true, "")
					require.Equal(t, "hello", string(c.over(3).body))
				}
				begin := time.Now()
				c.untilClosed()
				if !w.loopback {
					require.Equal(t, time.Second, time.Since(begin).Round(time.Millisecond), "until the connection closed")
				}
				all := p.requests()
				require.Len(t, all, 3)
				require.Contains(t, all[2].Err, "refused by GOAWAY")
				require.Equal(t, last == 2, all[1].Err != "", all[1].Err)
				require.Empty(t, all[0].Err)
			})
		})
	}
}

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
