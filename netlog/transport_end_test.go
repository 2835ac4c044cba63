package netlog_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/netlog"
)

// The request behind the close goes over a second connection, replayed if net/http
// had not noticed yet. On sockets a busy machine may have it give up the first one
// before the server does.
func TestReplayAfterTheServerClosed(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	for name, cfg := range map[string]*tls.Config{
		"in the clear": nil,
		"TLS 1.2":      {Certificates: certificate, MaxVersion: tls.VersionTLS12},
		"TLS 1.3":      {Certificates: certificate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, stopFirst := inMemory(cfg.Clone(), page)
				second, stopSecond := inMemory(cfg.Clone(), page)
				defer stopSecond()
				url, dials := "http://a.test/", []*http.Transport{first, second}
				if cfg != nil {
					url = "https://a.test/"
				}
				client, log := client(t, &http.Transport{
					TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
					DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
						server := dials[0]
						dials = dials[1:]
						return server.DialContext(ctx, network, addr)
					},
				})
				get(t, client, url)
				stopFirst()
				get(t, client, url)
				netlog.RequireConnections(t, log, 2, "http/1.1", netlog.Used())
				equal(t, "why the first closed", log.Connections()[0].CloseReason, "closed by the peer")
				q := log.Requests()[1]
				equal(t, "carried by", q.Connection.ID, 2)
				equal(t, "status", q.Status, 200)
			})
		})
	}
}

func TestConnectionResetByTheServer(t *testing.T) {
	srv := serve(t, "http", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}))
	client, log := recorded(t, srv, nil)
	if _, err := client.Get(srv.URL); err == nil {
		t.Fatal("no error")
	}
	equal(t, "connections", len(log.Connections()), 1)
	equal(t, "why closed", log.Connections()[0].CloseReason, "reset by the peer")
}

// A connection that dies under a request is counted for the request's first
// try, and the one of the second try carries it.
func TestReplayCountsOnBothConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newMemory()
		defer listener.Close()
		go func() { // ends with the listener
			for first := true; ; first = false {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				serveTwo(conn, first)
			}
		}()
		client, log := client(t, &http.Transport{DialContext: listener.DialContext})
		for range 2 {
			get(t, client, "http://a.test/")
		}
		equal(t, "connections", len(log.Connections(netlog.Used())), 2)
		equal(t, "requests on the first", log.Connections()[0].Requests, 2)
		equal(t, "why closed", log.Connections()[0].CloseReason, "closed by the peer")
		equal(t, "requests", len(log.Requests()), 2)
		equal(t, "carried by", log.Requests()[1].Connection.ID, 2)
	})
}

// serveTwo reads two requests and answers one, or both.
func serveTwo(conn net.Conn, drop bool) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for i := range 2 {
		if _, err := http.ReadRequest(in); err != nil || drop && i == 1 {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	}
}

func TestFailedDialIsNoConnection(t *testing.T) {
	client, log := client(t, &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no route")
	}})
	if _, err := client.Get("https://a.test/"); err == nil {
		t.Fatal("no error")
	}
	equal(t, "connections", len(log.Connections()), 0)
	q := log.Requests()[0]
	if !strings.Contains(q.Err, "no route") || q.Connection != nil || q.End.IsZero() {
		t.Errorf("request %+v", q)
	}
}

func TestFailedHandshakeIsUnusedConnection(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, func(tr *http.Transport) { tr.TLSClientConfig.RootCAs = nil })
	if _, err := client.Get(srv.URL); err == nil {
		t.Fatal("no error")
	}
	netlog.RequireConnections(t, log, 0, "", netlog.Used())
	netlog.RequireConnections(t, log, 1, netlog.Unknown)
	c := log.Connections()[0]
	if !strings.HasPrefix(c.CloseReason, "TLS handshake failed: tls: failed to verify certificate") || !c.Handshaken.IsZero() {
		t.Errorf("closed because %q, handshaken at %v", c.CloseReason, c.Handshaken)
	}
	equal(t, "offered", c.Offered, "[h2 http/1.1]")
}

func TestResumption(t *testing.T) {
	cfg := &tls.Config{Certificates: serve(t, "https", page).TLS.Certificates}
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(cfg, page)
		defer stop()
		base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		base.DisableKeepAlives = true
		client, log := client(t, base)
		get(t, client, "https://a.test/")
		get(t, client, "https://a.test/")
		synctest.Wait() // net/http closes behind the answer
		c := log.Connections()
		equal(t, "resumed", []bool{c[0].Resumed, c[1].Resumed}, "[false true]")
		if why := c[0].CloseReason; why != "closed by this side: Connection: close" && why != "closed by the peer" { // both do
			t.Errorf("why closed: %q", why)
		}
	})
}

func TestCancelledRequest(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			arrived, over := make(chan struct{}), make(chan struct{})
			defer close(over)
			srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-over // not when it is cancelled: that answer might still come through
			}))
			client, log := recorded(t, srv, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-arrived; cancel() }() // ends with the test: the handler is called
			req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
			if _, err := client.Do(req); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			q := log.Requests()[0]
			equal(t, "error", q.Err, "context canceled")
			equal(t, "connection used", q.Connection.Used(), true)
			if scheme == "https" {
				equal(t, "why closed", log.Connections()[0].CloseReason, "closed by this side: request 1 failed: context canceled")
			}
		})
	}
}

func TestBodyThatFails(t *testing.T) {
	srv := serve(t, "http", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "short")
	}))
	client, log := recorded(t, srv, nil)
	resp, err := client.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadAll(resp.Body)
	resp.Body.Close()
	q := log.Requests()[0]
	equal(t, "error", q.Err, "unexpected EOF")
	equal(t, "status", q.Status, 200)
	equal(t, "received", q.BodyBytesDown, 5)
}

// The server ends TLS first; net/http closes before it has seen the end of the
// connection itself.
func TestIdleConnectionClosedByTheServer(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	for _, proto := range []string{"http/1.1", "h2", "http/1.1 over TLS 1.2"} {
		synctest.Test(t, func(t *testing.T) {
			cfg := &tls.Config{Certificates: certificate, NextProtos: []string{proto}}
			if name, old := strings.CutSuffix(proto, " over TLS 1.2"); old {
				cfg.NextProtos, cfg.MaxVersion = []string{name}, tls.VersionTLS12
			}
			base, stop := inMemory(cfg, page)
			base.TLSClientConfig, base.ForceAttemptHTTP2 = &tls.Config{InsecureSkipVerify: true}, true
			log := netlog.New(t)
			client := &http.Client{Transport: netlog.NewTransport(base, log)}
			get(t, client, "https://a.test/")
			synctest.Wait()
			stop()
			synctest.Wait()
			equal(t, proto+" why closed", log.Connections()[0].CloseReason, "closed by the peer")
		})
	}
}

func TestConnectionsThatThePoolHasNoRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) }))
		defer stop()
		base.MaxIdleConnsPerHost = 1
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { get(t, client, "http://a.test/") })
		}
		wg.Wait()
		synctest.Wait()
		reasons := log.Connections()[0].CloseReason + log.Connections()[1].CloseReason
		equal(t, "why closed", reasons, "closed by this side: too many idle connections for host")
	})
}

func TestNothingIsLeftRunning(t *testing.T) {
	srv := serve(t, "h2", page)
	client, _ := recorded(t, srv, nil)
	get(t, client, srv.URL)
	client.CloseIdleConnections()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if strings.Contains(string(stacks), "created by example.com/wiretest/netlog.") {
		t.Errorf("goroutines of netlog:\n%s", stacks)
	}
}
