package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
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
		codes, begun := make(chan http2.ErrCode, 2), make(chan struct{})
		p := (&pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}).start(func(w http.ResponseWriter, r *http.Request) {
			s := wire.StreamOf(r)
			_, early := s.PeerReset()
			s.OnReset(func(code http2.ErrCode) {
				if !early && r.Context().Err() == nil {
					codes <- code
				}
			})
			close(begun)
			<-r.Context().Done()
			s.OnReset(func(code http2.ErrCode) { codes <- code })
		})
		c := p.strictClient()
		c.asks(1, "GET", "/", true) // the body has ended
		<-begun
		c.resets(1, http2.ErrCodeInadequateSecurity)
		require.Equal(t, http2.ErrCodeInadequateSecurity, <-codes)
		require.Equal(t, http2.ErrCodeInadequateSecurity, <-codes)
	})
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
	var calledLate atomic.Int32
	handler := func(w http.ResponseWriter, r *http.Request) {
		s := wire.StreamOf(r)
		switch r.URL.Path {
		case "/too-late":
			calledLate.Add(1)
		case "/last":
			s.Control().GoAway(s.ID(), http2.ErrCodeNo, "bye")
		case "/refused":
			s.Control().GoAway(max(0, s.ID()-2), http2.ErrCodeEnhanceYourCalm, "")
			<-r.Context().Done()
		}
		io.Copy(io.Discard, r.Body)
		hello(w, r)
	}
	for path, last := range map[string]int64{"/last": 3, "/refused": 1} {
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
				if last == 1 {
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
				require.Equal(t, last == 1, all[1].Err != "", all[1].Err)
				require.Empty(t, all[0].Err)
				require.Zero(t, calledLate.Load(), "calls of the handler for what was refused")
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
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		body, write := io.Pipe()
		req, _ := http.NewRequest("POST", "http://origin.test/", body)
		var stream *wire.Stream
		go func() {
			s.got("HEADERS 1 ")
			s.heads(1, false, ":status", "200")
		}()
		resp, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) { stream = c.Control().StreamOf(rec) })
		require.NoError(t, err)
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

// TestClientTrailers puts trailers behind a request and sees those of the
// answer.
func TestClientTrailers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var log netlog.Log
		s, c := newStrictServer(t, w, &log)
		body, write := io.Pipe()
		req, _ := http.NewRequest("POST", "http://origin.test/", body)
		var stream *wire.Stream
		go func() {
			s.got("HEADERS 1 ")
			s.heads(1, false, ":status", "200")
			s.over(1)
			s.data(1, false, "answer")
			s.heads(1, true, "nobody", "declared")
		}()
		resp, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) { stream = c.Control().StreamOf(rec) })
		require.NoError(t, err)
		require.ErrorContains(t, stream.SendTrailers(http.Header{"a b": {""}}), `trailer "a b" is no field name`)
		require.NoError(t, stream.SendTrailers(http.Header{"Sum": {"5"}, "Big": {strings.Repeat("x", 40<<10)}}))
		io.WriteString(write, "words")
		write.Close()
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "5", s.stream(1).trailer.Get("Sum"))
		require.Len(t, s.stream(1).trailer.Get("Big"), 40<<10)
		require.Equal(t, http.Header{"Nobody": {"declared"}}, stream.AnswerTrailers())
	})
}

func TestHeldSettings(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.MaxConcurrentStreams = 2
		p.config.Prepare = func(c *wire.Control) { c.HoldSettings(3 * time.Second) }
		p.start(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
		c := p.strictClient()
		begin := time.Now()
		for id := uint32(1); id <= 5; id += 2 {
			c.asks(id, "POST", "/", false)
		}
		require.Equal(t, http2.ErrCodeRefusedStream, c.wasReset(5), "sent before the limit was known")
		require.Equal(t, 3*time.Second, time.Since(begin))
		c.data(1, true, "one")
		c.data(3, true, "three")
		require.Equal(t, "one", string(c.over(1).body))
		require.Equal(t, "three", string(c.over(3).body))
		require.Contains(t, c.all()[0], "SETTINGS 0 [")
	})
}

func TestHeldSettingsAreReleased(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.Prepare = func(c *wire.Control) { c.HoldSettings(0) }
		p.start(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/release" {
				wire.ControlOf(r).ReleaseSettings()
			}
			hello(w, r)
		})
		c := p.strictClient()
		c.asks(1, "GET", "/", true)
		c.asks(3, "GET", "/release", true)
		require.Equal(t, "hello", string(c.over(3).body))
		require.Equal(t, "hello", string(c.over(1).body))
	})
}

func TestHeldSettingsEndWithTheConnection(t *testing.T) {
	for _, d := range []time.Duration{0, time.Nanosecond, time.Hour} {
		eachWorld(t, func(t *testing.T, w *world) {
			p := &pair{t: t, world: w, spoken: spoken{"h2", "h2", true}}
			p.config.Prepare = func(c *wire.Control) { c.HoldSettings(d) }
			p.start(hello)
			patience := 20 * time.Millisecond
			if d == time.Nanosecond {
				patience = time.Minute
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := p.client().RoundTrip(p.get("/").WithContext(ctx), nil)
			require.Equal(t, d != time.Nanosecond, err != nil, "%v", err)
		})
	}
}

func TestFurtherSettings(t *testing.T) {
	bent(t, func(w http.ResponseWriter, r *http.Request) {
		c := wire.ControlOf(r)
		errs := []error{
			c.SendSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10 << 10}),
			c.SendSettings(),
			c.Ping([8]byte{1, 2, 3}),
			c.SendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100}),
			c.SendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2 << 20}),
			c.SendSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1 << 20}),
			c.SendSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 7}),
		}
		io.Copy(io.Discard, r.Body)
		for _, err := range errs {
			fmt.Fprintln(w, err)
		}
	}, func(t *testing.T, p *pair, c *strict) {
		c.got("SETTINGS 0 ACK")
		c.asks(1, "POST", "/", false)
		c.got("SETTINGS 0 [MAX_CONCURRENT_STREAMS = 1] [INITIAL_WINDOW_SIZE = 10240]")
		c.got("PING 0")
		for i := range 3 { // more than the new window has, as it opens
			c.data(1, false, strings.Repeat("d", 5<<10))
			c.until("a wider window", func() bool { return count(c.frames, "WINDOW_UPDATE 1") > i })
		}
		c.data(1, true, "")
		require.Equal(t, `<nil>
<nil>
<nil>
wire: control: SendSettings: INITIAL_WINDOW_SIZE = 100: net/http can keep 8192 to 1048576
wire: control: SendSettings: INITIAL_WINDOW_SIZE = 2097152: net/http can keep 8192 to 1048576
wire: control: SendSettings: HEADER_TABLE_SIZE = 1048576: net/http can keep 0 to 4096
wire: control: SendSettings: ENABLE_PUSH = 7: connection error: PROTOCOL_ERROR
`, string(c.over(1).body))
		require.Equal(t, 1, p.serverLog.Connections()[0].StreamLimit)
	})
}

// TestSettingsBeforeNetHTTPs wants SETTINGS that were asked for first behind
// those of net/http, and the right acknowledgement kept from it.
func TestSettingsBeforeNetHTTPs(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.MaxConcurrentStreams = 1
		p.config.Prepare = func(c *wire.Control) {
			c.SendSettings(http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 5000})
		}
		p.start(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
		c := p.strictClient()
		c.got("SETTINGS 0 [MAX_HEADER_LIST_SIZE = 5000]")
		require.Contains(t, c.all()[0], "[MAX_CONCURRENT_STREAMS = 1]")
		c.asks(1, "POST", "/", false)
		c.got("SETTINGS 0 ACK")
		c.asks(3, "GET", "/", true)
		require.NotEmpty(t, c.wasReset(3).String())
		c.data(1, true, "echo")
		require.Equal(t, "echo", string(c.over(1).body))
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
		for i := range 300 {
			id := uint32(2*i + 1)
			c.asks(id, "GET", "/", true)
			require.Equal(t, "flushed", string(c.over(id).body), "answer %d", i)
			c.resets(id, http2.ErrCodeCancel)
		}
	})
}

// TestCalm has a server that takes four PINGs and no more.
func TestCalm(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.Prepare = func(c *wire.Control) {
			c.OnFrame(http2.FramePing, 5, func() {
				c.GoAway(0, http2.ErrCodeEnhanceYourCalm, "too many pings")
				c.Close()
			})
		}
		p.start(hello)
		c := p.strictClient()
		c.got("SETTINGS 0 ACK")
		for range 4 {
			c.do(func() { c.fr.WritePing(false, [8]byte{}) })
		}
		c.until("four answers", func() bool { return c.pings == 4 })
		c.do(func() { c.fr.WritePing(false, [8]byte{}) })
		c.untilClosed()
		require.Contains(t, c.all(), "GOAWAY 0 ENHANCE_YOUR_CALM last 0 too many pings")
		require.Equal(t, "GOAWAY ENHANCE_YOUR_CALM last stream 0, sent, debug \"too many pings\"", p.serverLog.Connections()[0].GoAway)
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

func TestFramesAreCountedAndListed(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var control *wire.Control
		p := &pair{t: t, world: w, spoken: spoken{"h2c", "h2", false}}
		p.config.Prepare = func(c *wire.Control) { control = c; c.ListFrames(12) }
		p.start(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			wire.ControlOf(r).GoAway(1, http2.ErrCodeEnhanceYourCalm, "bye")
			hello(w, r)
		})
		c := p.strictClient(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100})
		c.asks(1, "GET", "/", true)
		require.Equal(t, "hello", string(c.over(1).body))
		frames := control.Frames()
		require.Equal(t, map[http2.FrameType]int{http2.FrameSettings: 2, http2.FrameHeaders: 1}, frames.Up)
		require.Equal(t, map[http2.FrameType]int{http2.FrameSettings: 2, http2.FrameWindowUpdate: 1, http2.FrameGoAway: 1, http2.FrameHeaders: 1, http2.FrameData: 1}, frames.Down)
		table := control.Listed().String()
		require.Contains(t, table, "0s  client  SETTINGS       0       6                              INITIAL_WINDOW_SIZE=100\n")
		require.Contains(t, table, "1s  server  GOAWAY         0       11                             ENHANCE_YOUR_CALM last stream 1 bye\n")
		require.Contains(t, table, "1s  server  DATA           1       5      END_STREAM\n")
	})
}

// TestBendingIsRefusedWhereItCannotBe wants an error that says why.
func TestBendingIsRefusedWhereItCannotBe(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: spoken{"h1", "http/1.1", true}}).start(func(w http.ResponseWriter, r *http.Request) {
			s := wire.StreamOf(r)
			fmt.Fprintln(w, s.ID(), s.Reset(1))
			fmt.Fprintln(w, s.Control().GoAway(1, 0, ""))
		})
		require.Equal(t, "0 wire: control: Reset: only HTTP/2 has it\nwire: control: GoAway: only HTTP/2 has it\n", fetch(t, p.client(), p.get("/")))
	})
	var log netlog.Log
	inMemory(t, func(t *testing.T, w *world) {
		_, c := newStrictServer(t, w, &log)
		require.EqualError(t, c.Control().GoAway(-1, 0, ""), "wire: control: GoAway: last stream -1: want 0 to 2147483647")
		require.EqualError(t, c.Control().HoldSettings(0), "wire: control: HoldSettings: only a server can")
		c.Close()
		require.EqualError(t, c.Control().Ping([8]byte{}), "wire: control: Ping: the connection is closed")
	})
}

// TestBendingAmongMany bends one connection from many handlers at once, and
// wants those that were left alone, and net/http's client, to notice nothing.
func TestBendingAmongMany(t *testing.T) {
	big := strings.Repeat("0123456789", 5000)
	handler := func(w http.ResponseWriter, r *http.Request) {
		s := wire.StreamOf(r)
		c := s.Control()
		switch path.Base(r.URL.Path) {
		case "0":
			s.Reset(http2.ErrCodeEnhanceYourCalm)
		case "1":
			s.ResetAs(http2.ErrCodeEnhanceYourCalm)
			io.WriteString(w, "part")
			panic(http.ErrAbortHandler)
		case "2":
			s.SendTrailers(http.Header{"Un": {"declared"}})
		case "3":
			c.Ping([8]byte{})
			c.SendSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 200})
		case "4":
			http.NewResponseController(w).Flush()
			s.CloseWrite()
			s.Flushed(r.Context())
		}
		io.WriteString(w, big)
	}
	for _, s := range allSpoken {
		if s.protocol != "h2" {
			continue
		}
		eachWorld(t, func(t *testing.T, w *world) {
			p := (&pair{t: t, world: w, spoken: s}).start(handler)
			client := p.client()
			var all sync.WaitGroup
			for i := range 90 {
				all.Go(func() {
					what := i % 6
					resp, err := client.RoundTrip(p.get(fmt.Sprintf("/%d/%d", i, what)), nil)
					var body []byte
					if err == nil {
						body, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					switch what {
					case 0, 1:
						require.ErrorContains(t, err, "ENHANCE_YOUR_CALM")
					case 4:
						require.NoError(t, err)
						require.Zero(t, len(body))
					default:
						require.NoError(t, err)
						require.True(t, big == string(body), "%d bytes", len(body))
						require.Equal(t, what == 2, resp.Trailer.Get("Un") == "declared")
					}
				})
			}
			all.Wait()
			require.Equal(t, 90, p.serverLog.Connections()[0].Requests)
			require.Empty(t, p.serverLog.Connections()[0].GoAway)
		})
	}
}
