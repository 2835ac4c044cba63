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

func newStrictServer(t testing.TB, w *world, log *netlog.Log, settings ...http2.Setting) (*strict, *wire.ClientConn) {
	near, far := connected(t, w)
	c, err := wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(netlog.Connection{ALPN: "h2", Host: "origin.test:443"})})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return newStrict(t, far, false, settings...), c
}

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
			for i := range 42 {
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
			require.Equal(t, 42, p.serverLog.Connections()[0].Requests)
			require.Empty(t, p.serverLog.Connections()[0].GoAway)
		})
	}
}
