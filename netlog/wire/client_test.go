package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

func TestClientAddsNoHeader(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header) })
		c := p.client()
		require.Equal(t, "map[]", fetch(t, c, p.get("/")))
		req := p.get("/")
		req.Header = nil
		require.Equal(t, "map[]", fetch(t, c, req))
		require.Nil(t, req.Header, "the caller's request is not changed")
		req.Header = http.Header{"User-Agent": {"mine/1"}}
		require.Equal(t, "map[User-Agent:[mine/1]]", fetch(t, c, req))
	})
}

func TestClientDoesNotDecompress(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "not really")
		})
		req := p.get("/")
		req.Header.Set("Accept-Encoding", "gzip")
		require.Equal(t, "not really", fetch(t, p.client(), req))
	})
}

func TestAnswersRequestIsTheCallers(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(http.ResponseWriter, *http.Request) {})
		req := p.get("/")
		resp, err := p.client().RoundTrip(req, nil)
		require.NoError(t, err)
		require.Same(t, req, resp.Request)
		resp.Body.Close()
	})
}

func TestStartedGetsTheRequestsOwnRecord(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
		c := p.client()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				path := fmt.Sprintf("/%d", i)
				var got *netlog.RequestRecord
				resp, err := c.RoundTrip(p.get(path), func(rec *netlog.RequestRecord) { got = rec })
				if err != nil {
					t.Errorf("%s: %v", path, err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if got == nil || got.Request().URL != p.url(path) {
					t.Errorf("%s: started got %+v", path, got)
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, len(p.clientLog.Connections()))
		require.Len(t, p.clientLog.Requests(), 20)
	})
}

func TestStartedComesBeforeTheAnswer(t *testing.T) {
	for _, s := range allSpoken {
		t.Run(s.name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				p := (&pair{t: t, world: w, spoken: s}).start(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) })
				c := p.client()
				synctest.Wait()
				begin := time.Now()
				var at time.Duration
				resp, err := c.RoundTrip(p.get("/"), func(*netlog.RequestRecord) { at = time.Since(begin) })
				require.NoError(t, err)
				require.Zero(t, at)
				require.Equal(t, time.Second, time.Since(begin))
				resp.Body.Close()
			})
		})
	}
}

func TestStartedDoesNotComeForARequestThatIsNotSent(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(http.ResponseWriter, *http.Request) {})
		c := p.client()
		fetch(t, c, p.get("/"))
		bad := p.get("/")
		bad.Header["Bad Name"] = []string{"x"}
		never := func(rec *netlog.RequestRecord) { t.Errorf("started was called for %v", rec.Request()) }
		_, err := c.RoundTrip(bad, never)
		require.ErrorContains(t, err, "wire: client: "+p.protocol+": ")
		fetch(t, c, p.get("/")) // the connection is as good as before
		c.Close()
		_, err = c.RoundTrip(p.get("/"), never)
		require.Error(t, err)
	})
}

func TestTraceHooksAreTheRequestsOwnToo(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			for i := range 3 {
				w.Header().Set("Link", fmt.Sprintf("</%d>", i))
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.Header().Del("Link")
			w.WriteHeader(http.StatusTeapot)
		})
		var hints []string
		wrote, first := false, false
		req := p.get("/")
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			WroteHeaders:         func() { wrote = true },
			GotFirstResponseByte: func() { first = true },
			Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				hints = append(hints, fmt.Sprint(code, header.Get("Link")))
				return nil
			},
		}))
		resp, err := p.client().RoundTrip(req, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusTeapot, resp.StatusCode)
		require.Equal(t, []string{"103</0>", "103</1>", "103</2>"}, hints)
		require.True(t, wrote)
		require.True(t, first)
		resp.Body.Close()
	})
}

func TestBodiesAndTrailersPassBothWays(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 1 { // else net/http reads the rest before it answers
				http.NewResponseController(w).EnableFullDuplex()
			}
			w.Header().Set("Trailer", "Sum")
			n, _ := io.Copy(w, r.Body)
			w.Header().Set("Sum", fmt.Sprint(n, " ", r.Trailer.Get("Sent")))
		})
		body := strings.Repeat("0123456789", 30000)
		req := p.get("/")
		req.Method = "POST"
		req.Body = io.NopCloser(strings.NewReader(body))
		req.ContentLength = -1
		req.Trailer = http.Header{"Sent": {"yes"}}
		resp, err := p.client().RoundTrip(req, nil)
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.True(t, string(got) == body, "%d bytes came back of %d", len(got), len(body))
		require.Equal(t, "300000 yes", resp.Trailer.Get("Sum"))
		require.Equal(t, int64(300000), p.serverLog.Requests()[0].BodyBytesUp)
		require.Equal(t, int64(300000), p.clientLog.Requests()[0].BodyBytesDown)
	})
}

func TestEarlyAnswerComesBeforeTheBodyIsSent(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		})
		c := p.client()
		body, end := io.Pipe()
		req := p.get("/")
		req.Method, req.Body, req.ContentLength = "POST", body, 1<<20
		resp, err := c.RoundTrip(req, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		resp.Body.Close()
		end.Close()
		if p.protocol == "h2" {
			fetchStatus(t, c, p.get("/"), http.StatusRequestEntityTooLarge)
			return
		}
		<-c.Done() // half a request was sent
	})
}

func fetchStatus(t testing.TB, c *wire.ClientConn, req *http.Request, status int) {
	t.Helper()
	resp, err := c.RoundTrip(req, nil)
	require.NoError(t, err)
	require.Equal(t, status, resp.StatusCode)
	resp.Body.Close()
}

func TestExpectKeepsTheBodyBack(t *testing.T) {
	for _, s := range allSpoken {
		t.Run(s.name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				p := (&pair{t: t, world: w, spoken: s}).start(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/asks":
						io.Copy(w, r.Body) // sends 100
					case "/refuses":
						w.WriteHeader(http.StatusExpectationFailed)
					case "/waits":
						time.Sleep(2 * time.Second)
						io.Copy(w, r.Body)
					}
				})
				require.Zero(t, p.expect("/asks", "body"))
				require.Equal(t, int64(-1), int64(p.expect("/refuses", "")))
				require.Equal(t, time.Second, p.expect("/waits", "body"))
			})
		})
	}
}

// expect sends a body that is to be asked for, and returns when it was read; -1
// if never.
func (p *pair) expect(path, answer string) time.Duration {
	p.t.Helper()
	c := p.client()
	synctest.Wait()
	begin := time.Now()
	body := &noticed{Reader: strings.NewReader("body"), at: -1, begin: begin}
	req := p.get(path)
	req.Method, req.Body, req.ContentLength = "POST", io.NopCloser(body), 4
	req.Header.Set("Expect", "100-continue")
	require.Equal(p.t, answer, fetch(p.t, c, req))
	time.Sleep(time.Minute)
	c.Close()
	synctest.Wait()
	return body.at
}

type noticed struct {
	io.Reader
	begin time.Time
	at    time.Duration
}

func (n *noticed) Read(p []byte) (int, error) {
	if n.at < 0 {
		n.at = time.Since(n.begin)
	}
	return n.Reader.Read(p)
}

func TestChangesAreTold(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		near, far := connected(t, w)
		var mu sync.Mutex
		told := 0
		c, err := wire.NewClientConn(near, wire.ClientConfig{
			Record: new(netlog.Log).Open(netlog.Connection{ALPN: "h2"}),
			OnChange: func() {
				mu.Lock()
				defer mu.Unlock()
				told++
			},
		})
		require.NoError(t, err)
		count := func() int {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return told
		}
		fr := http2.NewFramer(far, far)
		require.Zero(t, count())
		require.Equal(t, 100, c.Limit(), "before the server stated one")
		require.NoError(t, fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 5}))
		require.Equal(t, 1, count())
		require.Equal(t, 5, c.Limit())
		require.NoError(t, fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 5}))
		require.Equal(t, 1, count(), "it is the same")
		require.NoError(t, fr.WriteGoAway(0, http2.ErrCodeNo, nil))
		require.Equal(t, 2, count())
		c.Close()
		require.Equal(t, 2, count(), "it was done already")
	})
}

func TestHTTP1RequestsTakeTurns(t *testing.T) {
	onPlainH1(t, sleeper, func(t *testing.T, p *pair) {
		c := p.client()
		busy := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		go func() {
			_, err := c.RoundTrip(p.get("/3600000000000").WithContext(ctx), func(*netlog.RequestRecord) { close(started) })
			busy <- err
		}()
		<-started
		why := errors.New("too long")
		waiting, giveUp := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { giveUp(why) })
		_, err := c.RoundTrip(p.get("/0").WithContext(waiting), nil)
		require.ErrorIs(t, err, why)
		cancel()
		require.ErrorIs(t, <-busy, context.Canceled)
		<-c.Done()
	})
}
