package wire

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
)

// talk is a client and a server of net/http or x/net/http2 with a tap on each
// end of their one connection. The client of HTTP/1.1 has no pool.
type talk struct {
	t                  *testing.T
	proto              string
	atClient, atServer netlog.Log
	client, server     *Tap
	streams            chan int64 // that marks named, in order of handlers
	served             chan struct{}

	rt    http.RoundTripper
	close func()
}

func (k *talk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id, ok := streamMark(r); ok {
		k.streams <- id
	}
	switch r.URL.Path {
	case "/echo":
		body, _ := io.ReadAll(r.Body) // HTTP/1.1 answers only then
		w.Write(body)
	case "/early":
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNoContent)
	case "/trailers":
		w.Header().Set("Trailer", "Sum")
		io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "first")
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "second")
		w.Header().Set("Sum", "2")
	case "/abort":
		fmt.Fprint(w, "some")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("X-Mark", strings.Join(r.Header["Wiretest-Stream"], ","))
		http.NotFound(w, r)
	}
}

func (k *talk) start(client, server net.Conn, mark bool) {
	k.streams, k.served = make(chan int64, 100), make(chan struct{})
	k.client = NewTap(client, TapConfig{Side: ClientSide, Protocol: k.proto, Record: k.atClient.Open(netlog.Connection{})})
	k.server = NewTap(server, TapConfig{Side: ServerSide, Protocol: k.proto, Record: k.atServer.Open(netlog.Connection{}), Mark: mark})
	if k.proto == "h2" {
		k.startH2()
		return
	}
	srv := &http.Server{Handler: k, ErrorLog: discardLog()}
	go func() { // ends when the connection is closed, and is waited for by finish
		defer close(k.served)
		srv.Serve(listenOnce(k.server))
	}()
	k.rt = &asker{k.client, bufio.NewReader(k.client)}
	k.close = func() { require.NoError(k.t, k.client.Close()) }
}

// asker sends one request of HTTP/1.1 after the other. An http.Transport closes
// the connection where its writing goroutine, on a busy machine, is not heard of
// within 50 ms of the answer; then there is nothing to compare.
type asker struct {
	conn   net.Conn
	answer *bufio.Reader
}

func (a *asker) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Write(a.conn); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(a.answer, req)
		if err != nil || resp.StatusCode >= 200 {
			return resp, err
		}
	}
}

func (k *talk) startH2() {
	base := &http.Server{Handler: k, ErrorLog: discardLog()}
	srv := new(http2.Server)
	require.NoError(k.t, http2.ConfigureServer(base, srv))
	go func() { // ends when the connection is closed, and is waited for by finish
		defer close(k.served)
		srv.ServeConn(k.server.HTTPConn(), &http2.ServeConnOpts{BaseConfig: base, Handler: k})
	}()
	tr := &http2.Transport{AllowHTTP: true, DisableCompression: true}
	cc, err := tr.NewClientConn(k.client.HTTPConn())
	require.NoError(k.t, err)
	k.rt = cc
	k.close = func() {
		require.NoError(k.t, cc.Ping(k.t.Context())) // so that nothing is under way when it closes
		require.NoError(k.t, cc.Close())
	}
}

func (k *talk) do(method, path, body string) string {
	req, err := http.NewRequestWithContext(k.t.Context(), method, "https://a.test"+path, strings.NewReader(body))
	require.NoError(k.t, err)
	if body == "" {
		req.Body = nil
	}
	if strings.Contains(path, "trailers") {
		req.ContentLength = -1
		req.Trailer = http.Header{"Done": {"yes"}}
	}
	resp, err := k.rt.RoundTrip(req)
	require.NoError(k.t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	require.Empty(k.t, resp.Header.Get("X-Mark"))
	return fmt.Sprint(resp.StatusCode, " ", len(got))
}

// finish closes the connection and wants both ends to have recorded the same.
func (k *talk) finish() string {
	k.close()
	<-k.served
	client, server := summary(&k.atClient), summary(&k.atServer)
	require.Equal(k.t, client, server, "client's record, server's record")
	return server
}

func (k *talk) exchange() {
	k.t.Helper()
	require.Equal(k.t, "404 19", k.do("GET", "/nothing", ""))
	require.Equal(k.t, "200 200000", k.do("POST", "/echo", strings.Repeat("e", 200_000)))
	require.Equal(k.t, "404 0", k.do("HEAD", "/head", ""))
	require.Equal(k.t, "204 0", k.do("GET", "/early?hints", ""))
	require.Equal(k.t, "200 11", k.do("PUT", "/trailers", "up"))
	if k.proto == "h2" {
		require.Contains(k.t, k.do("GET", "/abort", ""), "INTERNAL_ERROR")
	}
	got := k.finish()
	for _, want := range k.want() {
		require.Regexp(k.t, want, got)
	}
}

func (k *talk) want() []string {
	all := []string{
		"GET https://a.test/nothing: 404 up [1-9][0-9]*.0 down [1-9][0-9]*.19 ok",
		"POST https://a.test/echo: 200 up [1-9][0-9]*.200000 down [1-9][0-9]*.200000 ok",
		"HEAD https://a.test/head: 404 up [1-9][0-9]*.0 down [1-9][0-9]*.0 ok",
		`GET https://a.test/early\?hints: 204 up [1-9][0-9]*.0 down [1-9][0-9]*.0 ok`,
		"PUT https://a.test/trailers: 200 up [1-9][0-9]*.2 down [1-9][0-9]*.11 ok",
	}
	if k.proto == "h2" {
		return append(all, "h2 requests 6 most 1 .* limit 250: closed by client",
			"11 h2 GET https://a.test/abort: 200 up .* down [1-9][0-9]*.4 RST_STREAM INTERNAL_ERROR sent by server")
	}
	return append(all, "http/1.1 requests 5 most 1 up .*: closed by client")
}

// TestTapRealExchanges wants both ends to agree, with TLS and without, in
// memory and on loopback, marked and not.
func TestTapRealExchanges(t *testing.T) {
	authority, err := ca.Generate(nil)
	require.NoError(t, err)
	for _, proto := range []string{"http/1.1", "h2"} {
		for _, secure := range []bool{false, true} {
			body := func(t *testing.T, client, server net.Conn) {
				if secure {
					client, server = handshaken(t, authority, client, server)
				}
				k := &talk{t: t, proto: proto}
				k.start(client, server, proto == "h2")
				k.exchange()
				if proto == "h2" {
					requireStreams(t, k, 1, 3, 5, 7, 9, 11)
				}
			}
			name := fmt.Sprintf("%s tls=%v ", proto, secure)
			t.Run(name+"memory", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					a, b := net.Pipe()
					body(t, a, b)
				})
			})
			t.Run(name+"loopback", func(t *testing.T) {
				a, b := loopback(t)
				body(t, a, b)
			})
		}
	}
}

func requireStreams(t *testing.T, k *talk, want ...int64) {
	var got []int64
	for range want {
		got = append(got, <-k.streams)
	}
	require.Equal(t, want, got)
	require.Empty(t, k.server.h2.streams)
	require.Empty(t, k.client.h2.streams)
}

func loopback(t *testing.T) (client, server net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	server, err = ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func handshaken(t *testing.T, authority *ca.Authority, client, server net.Conn) (net.Conn, net.Conn) {
	c := authority.ClientTLS()
	c.ServerName = "a.test"
	tc, ts := tls.Client(client, c), tls.Server(server, authority.ServerTLS("a.test"))
	failed := make(chan error, 1)
	go func() { failed <- ts.HandshakeContext(t.Context()) }()
	require.NoError(t, tc.HandshakeContext(t.Context()))
	require.NoError(t, <-failed)
	return tc, ts
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// oneListener accepts one connection and ends with it.
type oneListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func listenOnce(conn *Tap) *oneListener {
	ln := &oneListener{conns: make(chan net.Conn, 1), done: make(chan struct{})}
	ln.conns <- &lastConn{Tap: conn, done: ln.done}
	return ln
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneListener) Close() error   { return nil }
func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{} }

type lastConn struct {
	*Tap
	once sync.Once
	done chan struct{}
}

func (c *lastConn) Close() error {
	defer c.once.Do(func() { close(c.done) })
	return c.Tap.Close()
}
