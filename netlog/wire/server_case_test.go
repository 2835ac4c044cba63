package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
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

func TestOutsideOfAHandlerThereIsNoRecord(t *testing.T) {
	req, err := http.NewRequest("GET", "http://origin.test/", nil)
	require.NoError(t, err)
	require.Nil(t, wire.RequestOf(req))
	require.Nil(t, wire.ConnectionOf(req))
}

// rawConn is a connection to the server on which a test writes by hand.
func (p *pair) rawConn() net.Conn {
	p.t.Helper()
	conn, err := p.dial(context.Background())
	require.NoError(p.t, err)
	p.t.Cleanup(func() { conn.Close() })
	return conn
}

// onPlainH1 runs body in both worlds over a server of plain HTTP/1.1.
func onPlainH1(t *testing.T, handler http.HandlerFunc, body func(t *testing.T, p *pair)) {
	t.Helper()
	eachWorld(t, func(t *testing.T, w *world) {
		body(t, (&pair{t: t, world: w, spoken: plainH1}).start(handler))
	})
}

func TestPipelinedRequestsKeepTheirRecords(t *testing.T) {
	onPlainH1(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s is %s\n", r.URL.Path, wire.RequestOf(r).Request().URL)
	}, func(t *testing.T, p *pair) {
		conn := p.rawConn()
		var all strings.Builder
		for i := range 5 {
			fmt.Fprintf(&all, "GET /%d HTTP/1.1\r\nHost: origin.test\r\n\r\n", i)
		}
		_, err := io.WriteString(conn, all.String())
		require.NoError(t, err)
		in := bufio.NewReader(conn)
		for i := range 5 {
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("/%d is http://origin.test/%d\n", i, i), string(body))
		}
	})
}

func TestUndeclaredTrailersReachHandlers(t *testing.T) {
	onPlainH1(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, r.Trailer.Get("Sum"))
	}, func(t *testing.T, p *pair) {
		conn := p.rawConn()
		_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: origin.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nSum: 42\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "42", string(body))
	})
}

func TestHijackedConnectionIsServedUntilItIsClosed(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		release, returned := make(chan struct{}), make(chan struct{})
		server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				return
			}
			go func() { // ends with the connection, which the test closes
				defer conn.Close()
				io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				line, _ := rw.ReadString('\n')
				io.WriteString(conn, "echo "+line)
				<-release
			}()
		})})
		near, far := connected(t, w)
		log := new(netlog.Log)
		go func() {
			server.ServeConn(far, log.Open(netlog.Connection{}))
			close(returned)
		}()
		c, err := wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(netlog.Connection{})})
		require.NoError(t, err)
		req, _ := http.NewRequest("GET", "http://origin.test/", nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := c.RoundTrip(req, nil)
		require.NoError(t, err)
		require.Equal(t, 101, resp.StatusCode)
		stream, ok := resp.Body.(io.ReadWriteCloser)
		require.True(t, ok, "the body of a 101 is %T", resp.Body)
		_, err = io.WriteString(stream, "hello\n")
		require.NoError(t, err)
		answer := make([]byte, len("echo hello\n"))
		_, err = io.ReadFull(stream, answer)
		require.NoError(t, err)
		require.Equal(t, "echo hello\n", string(answer))
		<-c.Done()
		require.Empty(t, returned, "the connection is open")
		close(release)
		<-returned
		require.NoError(t, server.Close(t.Context()))
		c.Close()
	})
}

func TestCloseClosesHijackedConnections(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		read, hijacked := make(chan error, 1), make(chan struct{})
		p := &pair{t: t, world: w, spoken: plainH1}
		p.start(func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			close(hijacked)
			go func() { // ends with the connection
				_, err := conn.Read(make([]byte, 1))
				read <- err
			}()
		})
		_, err := io.WriteString(p.rawConn(), "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n")
		require.NoError(t, err)
		<-hijacked
		require.NoError(t, p.server.Close(t.Context()))
		require.ErrorIs(t, <-read, net.ErrClosed)
	})
}

func TestPanicsHurtNobody(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		var out lockedBuffer
		p.config.ErrorLog = log.New(&out, "", 0)
		p.start(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/panic":
				panic("the handler's own")
			case "/abort":
				panic(http.ErrAbortHandler)
			}
		})
		for _, path := range []string{"/panic", "/abort"} {
			_, err := p.client().RoundTrip(p.get(path), nil)
			require.Error(t, err, path)
			fetch(t, p.client(), p.get("/"))
		}
		require.Equal(t, 1, strings.Count(out.String(), "panic serving"), "log: %s", out.String())
		require.Contains(t, out.String(), "the handler's own")
	})
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestCloseEndsStreamsAndStalledHandlers(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		begun := make(chan struct{}, 4)
		p.start(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/events" {
				fmt.Fprint(w, "data: 1\n\n")
				http.NewResponseController(w).Flush()
			}
			begun <- struct{}{}
			<-r.Context().Done()
		})
		events := p.client()
		resp, err := events.RoundTrip(p.get("/events"), nil)
		require.NoError(t, err)
		stalled := make(chan error, 1)
		go func() {
			_, err := p.connectAnd(p.get("/stalled"))
			stalled <- err
		}()
		<-begun
		<-begun
		begin := time.Now()
		require.NoError(t, p.server.Close(t.Context()))
		if !p.loopback {
			require.Zero(t, time.Since(begin))
		}
		require.Error(t, <-stalled)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err, "what was cut off must not look whole")
		resp.Body.Close()
		for _, c := range p.serverLog.Connections() {
			require.False(t, c.Closed.IsZero())
			require.NotEmpty(t, c.CloseReason)
		}
		for _, q := range p.serverLog.Requests() {
			require.NotEmpty(t, q.Err, q.URL)
		}
	})
}

// connectAnd sends req on a connection of its own.
func (p *pair) connectAnd(req *http.Request) (*http.Response, error) {
	c, err := p.connect(context.Background())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.RoundTrip(req, nil)
}

func TestCloseNamesWhatStillRuns(t *testing.T) {
	for _, s := range allSpoken {
		t.Run(s.name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				release := make(chan struct{})
				p := (&pair{t: t, world: w, spoken: s}).start(func(w http.ResponseWriter, r *http.Request) { <-release })
				go p.connectAnd(p.get("/slow?really"))
				synctest.Wait()
				time.Sleep(2 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				require.EqualError(t, p.server.Close(ctx), "wire: server: close: still running: GET /slow?really (2.1s)")
				close(release)
				require.NoError(t, p.server.Close(t.Context()))
				require.NoError(t, p.server.Close(t.Context()))
			})
		})
	}
}

func TestCloseNamesOnlySome(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		p := (&pair{t: t, world: w, spoken: plainH2}).start(func(w http.ResponseWriter, r *http.Request) { <-release })
		c := p.client()
		for i := range 10 {
			go c.RoundTrip(p.get(fmt.Sprintf("/%d", i)), nil)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.server.Close(ctx)
		require.ErrorContains(t, err, "GET /0 (1.0s), GET /1 (1.0s), ")
		require.ErrorContains(t, err, "GET /7 (1.0s), and 2 more")
		close(release)
	})
}

func TestCloseIsForEverybody(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.start(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { p.connectAnd(p.get("/")) })
		}
		for range 3 {
			all.Go(func() {
				if err := p.server.Close(context.Background()); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		all.Wait()
		conn, far := newMemConns("a", "b", 0)
		p.server.ServeConn(far, p.serverLog.Open(netlog.Connection{}))
		_, err := conn.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "a closed server closes what it is given")
	})
}

// A peer that reads nothing fills the buffers: neither the handler's write nor
// the alert that ends TLS can be sent.
func TestCloseDoesNotWaitForAPeerThatReadsNothing(t *testing.T) {
	for _, s := range allSpoken {
		t.Run(s.name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.listener.(*memListener).room = 1 << 16
				p := (&pair{t: t, world: w, spoken: s}).start(func(w http.ResponseWriter, r *http.Request) {
					for {
						if _, err := w.Write(make([]byte, 1<<14)); err != nil {
							return
						}
					}
				})
				resp, err := p.client().RoundTrip(p.get("/"), nil)
				require.NoError(t, err)
				time.Sleep(time.Second)
				begin := time.Now()
				require.NoError(t, p.server.Close(t.Context()))
				require.LessOrEqual(t, time.Since(begin), 250*time.Millisecond)
				resp.Body.Close()
			})
		})
	}
}

func TestServerStatesItsLimit(t *testing.T) {
	for asked, stated := range map[int]int{0: 256, 7: 7} {
		inMemory(t, func(t *testing.T, w *world) {
			p := &pair{t: t, world: w, spoken: plainH2}
			p.config.MaxConcurrentStreams = asked
			c := p.start(func(http.ResponseWriter, *http.Request) {}).client()
			<-c.Greeted()
			require.Equal(t, stated, c.Limit())
			require.Equal(t, stated, c.Record().Connection().StreamLimit)
		})
	}
}

func TestErrorLogGetsWhatNetHTTPSays(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var out lockedBuffer
		server := wire.NewServer(wire.ServerConfig{ErrorLog: log.New(&out, "", 0)})
		near, far := connected(t, w)
		over := make(chan struct{})
		go func() {
			defer close(over)
			server.ServeConn(far, new(netlog.Log).Open(netlog.Connection{ALPN: "h2"}))
		}()
		_, err := io.WriteString(near, strings.Repeat("no HTTP/2 ", 5))
		require.NoError(t, err)
		<-over
		require.Contains(t, out.String(), "bogus greeting")
		require.NoError(t, server.Close(t.Context()))
	})
}

func TestServerStatesItsWindows(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		server := wire.NewServer(wire.ServerConfig{StreamWindow: 1 << 18, ConnWindow: 1 << 19})
		near, far := connected(t, w)
		go server.ServeConn(far, new(netlog.Log).Open(netlog.Connection{ALPN: "h2"}))
		f := http2.NewFramer(near, near)
		_, err := io.WriteString(near, http2.ClientPreface)
		require.NoError(t, err)
		require.NoError(t, f.WriteSettings())
		var stream, conn uint32
		for stream == 0 || conn == 0 {
			frame, err := f.ReadFrame()
			require.NoError(t, err)
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if n, ok := frame.Value(http2.SettingInitialWindowSize); ok {
					stream = n
				}
			case *http2.WindowUpdateFrame:
				conn = frame.Increment + 65535
			}
		}
		require.Equal(t, uint32(1<<18), stream)
		require.Equal(t, uint32(1<<19), conn)
		require.NoError(t, server.Close(t.Context()))
	})
}

func TestNilHandlerAnswersNotFound(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		server := wire.NewServer(wire.ServerConfig{})
		near, far := connected(t, w)
		go server.ServeConn(far, nil)
		c, err := wire.NewClientConn(near, wire.ClientConfig{})
		require.NoError(t, err)
		req, _ := http.NewRequest("GET", "http://origin.test/", nil)
		resp, err := c.RoundTrip(req, nil)
		require.NoError(t, err)
		require.Equal(t, 404, resp.StatusCode)
		resp.Body.Close()
		c.Close()
		require.NoError(t, server.Close(t.Context()))
	})
}

// The records of both ends agree when the client goes away in the middle.
func TestHandlerSeesTheClientGo(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		begun, gone := make(chan struct{}), make(chan error, 1)
		p.start(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			gone <- r.Context().Err()
		})
		ctx, cancel := context.WithCancel(context.Background())
		c := p.client()
		failed := make(chan error, 1)
		go func() {
			_, err := c.RoundTrip(p.get("/").WithContext(ctx), nil)
			failed <- err
		}()
		<-begun
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.ErrorIs(t, <-gone, context.Canceled)
		if p.protocol == "h2" {
			select {
			case <-c.Done():
				t.Error("only the stream is to be reset, not the connection closed")
			default:
			}
		}
	})
}
