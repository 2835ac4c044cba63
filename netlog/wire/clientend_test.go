package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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

func TestCancelResetsOneStream(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var log netlog.Log
		f, c := newFramed(t, w, &log)
		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		ask := func(ctx context.Context) {
			req, _ := http.NewRequestWithContext(ctx, "GET", "http://origin.test/", nil)
			resp, err := c.RoundTrip(req, nil)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			results <- err
		}
		go ask(ctx)
		synctest.Wait()
		go ask(t.Context())
		synctest.Wait()
		require.Equal(t, []uint32{1, 3}, f.streams())
		cancel()
		require.ErrorIs(t, <-results, context.Canceled)
		synctest.Wait()
		require.Equal(t, map[uint32]http2.ErrCode{1: http2.ErrCodeCancel}, f.resets)
		requireOpen(t, c)
		f.answer(3, "204", true)
		require.NoError(t, <-results)
		requireOpen(t, c)
	})
}

func requireOpen(t testing.TB, c *wire.ClientConn) {
	t.Helper()
	select {
	case <-c.Done():
		t.Fatalf("the connection is done: %s", c.Record().Connection().CloseReason)
	default:
	}
}

func TestDoneWhereTheServerSaysSo(t *testing.T) {
	for name, answer := range map[string]string{
		"Connection: close": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0":          "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"until the end":     "HTTP/1.1 200 OK\r\n\r\nhello",
		"nothing to read":   "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				c := scripted(t, w, answer)
				req, _ := http.NewRequest("GET", "http://origin.test/", nil)
				resp, err := c.RoundTrip(req, nil)
				require.NoError(t, err)
				select {
				case <-c.Done():
				default:
					t.Error("it is to be done as soon as the head says so")
				}
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				if resp.ContentLength != 0 {
					require.Equal(t, "hello", string(body), "what is in flight still comes")
				}
				resp.Body.Close()
			})
		})
	}
}

// scripted is a client of a server that reads one head, sends answer, and
// hangs up.
func scripted(t testing.TB, w *world, answer string) *wire.ClientConn {
	near, far := connected(t, w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		http.ReadRequest(bufio.NewReader(far))
		io.WriteString(far, answer)
		far.Close()
	}()
	c, err := wire.NewClientConn(near, wire.ClientConfig{Record: new(netlog.Log).Open(netlog.Connection{})})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); <-done })
	return c
}

func TestUnreadBodyEndsTheHTTP1ConnectionAlone(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			w.Write(make([]byte, 1<<20))
		})
		c := p.client()
		resp, err := c.RoundTrip(p.get("/"), nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		if p.protocol == "h2" {
			require.Len(t, fetch(t, c, p.get("/")), 1<<20)
			return
		}
		select {
		case <-c.Done():
		default:
			t.Error("who closes a body unread must see that the connection is done")
		}
	})
}

func TestReadBodyLeavesTheConnection(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/chunked":
				fmt.Fprint(w, "a")
				http.NewResponseController(w).Flush()
				fmt.Fprint(w, "b")
			case "/none":
				w.WriteHeader(http.StatusNoContent)
			default:
				fmt.Fprint(w, "ab")
			}
		})
		c := p.client()
		for range 3 {
			for _, path := range []string{"/chunked", "/none", "/sized"} {
				fetch(t, c, p.get(path))
				requireOpen(t, c)
			}
		}
		head := p.get("/sized")
		head.Method = "HEAD"
		fetch(t, c, head)
		requireOpen(t, c)
	})
}

// TestAnswerThatOvertakesTheWrite has the goroutine that writes away for longer
// than net/http waits for it, as on a busy machine.
func TestAnswerThatOvertakesTheWrite(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := (&pair{t: t, world: w, spoken: spoken{"h1-plain", "http/1.1", false}}).start(func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			w.Header().Set("Got", fmt.Sprint(n))
		})
		conn, err := p.dial(t.Context())
		require.NoError(t, err)
		c, err := wire.NewClientConn(&lateWriter{conn}, wire.ClientConfig{})
		require.NoError(t, err)
		defer c.Close()
		for _, body := range []string{"", "body"} {
			req := p.get("/")
			req.Method, req.Body, req.ContentLength = "PUT", io.NopCloser(strings.NewReader(body)), int64(len(body))
			resp, err := c.RoundTrip(req, nil)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(len(body)), resp.Header.Get("Got"))
			resp.Body.Close()
			requireOpen(t, c)
		}
	})
}

type lateWriter struct{ net.Conn }

func (c *lateWriter) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	time.Sleep(60 * time.Millisecond)
	return n, err
}

func TestClosedClient(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		begun := make(chan struct{})
		p.start(func(w http.ResponseWriter, r *http.Request) { close(begun); <-r.Context().Done() })
		c := p.client()
		failed := make(chan error, 1)
		go func() {
			_, err := c.RoundTrip(p.get("/"), nil)
			failed <- err
		}()
		<-begun
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { c.Close() })
		}
		all.Wait()
		require.Error(t, <-failed)
		<-c.Done()
		_, err := c.RoundTrip(p.get("/"), nil)
		require.Error(t, err)
		require.Equal(t, "closed by client", c.Record().Connection().CloseReason)
	})
}

// A connection that the server closes while it is idle is done, without a
// request that finds out.
func TestIdleConnectionThatIsClosed(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(http.ResponseWriter, *http.Request) {})
		c := p.client()
		fetch(t, c, p.get("/"))
		require.NoError(t, p.server.Close(t.Context()))
		<-c.Done()
	})
}
