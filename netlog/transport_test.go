package netlog_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/netlog"
)

var page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "hello")
})

// serve starts a server over TLS, or h2 as well, or neither.
func serve(t *testing.T, scheme string, handler http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(handler)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	switch scheme {
	case "http":
		srv.Start()
	case "h2":
		srv.EnableHTTP2 = true
		fallthrough
	default:
		srv.StartTLS()
	}
	t.Cleanup(srv.Close)
	return srv
}

// recorded is a client of srv whose transport change may edit first.
func recorded(t *testing.T, srv *httptest.Server, change func(*http.Transport)) (*http.Client, *netlog.Log) {
	base := srv.Client().Transport.(*http.Transport).Clone()
	if change != nil {
		change(base)
	}
	return client(t, base)
}

func client(t *testing.T, base http.RoundTripper) (*http.Client, *netlog.Log) {
	log := netlog.New(t)
	c := &http.Client{Transport: netlog.NewTransport(base, log)}
	t.Cleanup(c.CloseIdleConnections)
	t.Cleanup(func() {
		for _, q := range log.Requests() {
			if q.End.IsZero() {
				t.Errorf("request %d never ended", q.ID)
			}
		}
	})
	return c, log
}

func get(t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}

// equal compares what is named.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestTransportRecordsConnections(t *testing.T) {
	for _, c := range []struct {
		name, scheme       string
		change             func(*http.Transport)
		protocol, alpn     string
		offered            string
		version            uint16
		bytes, bytesRecord bool
	}{
		{name: "http/1.1 in the clear", scheme: "http", protocol: "http/1.1", alpn: netlog.NoALPN, offered: "[]", bytes: true},
		{name: "http/1.1 over TLS without ALPN", scheme: "https", change: func(tr *http.Transport) {
			tr.ForceAttemptHTTP2, tr.TLSClientConfig.NextProtos = false, nil
		}, protocol: "http/1.1", alpn: netlog.NoALPN, offered: "[]", version: tls.VersionTLS13},
		{name: "http/1.1 chosen", scheme: "https", change: func(tr *http.Transport) { tr.ForceAttemptHTTP2 = true },
			protocol: "http/1.1", alpn: "http/1.1", offered: "[h2 http/1.1]", version: tls.VersionTLS13},
		{name: "h2", scheme: "h2", protocol: "h2", alpn: "h2", offered: "[h2 http/1.1]", version: tls.VersionTLS13},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := serve(t, c.scheme, page)
			client, log := recorded(t, srv, c.change)
			for range 3 {
				get(t, client, srv.URL)
			}
			netlog.RequireConnections(t, log, 1, c.protocol, netlog.Used())
			got := log.Connections()[0]
			equal(t, "host", got.Host, srv.Listener.Addr())
			equal(t, "remote", got.Remote, srv.Listener.Addr())
			equal(t, "network", got.Network, "tcp")
			equal(t, "ALPN", got.ALPN, c.alpn)
			equal(t, "offered", fmt.Sprint(got.Offered), c.offered)
			equal(t, "TLS version", got.TLSVersion, c.version)
			equal(t, "handshaken", !got.Handshaken.IsZero(), c.version != 0)
			equal(t, "requests", got.Requests, 3)
			equal(t, "most at once", got.MaxStreams, 1)
			equal(t, "opened for", got.OpenReason, "request 1")
			equal(t, "bytes known", got.BytesUp > 0 && got.BytesDown > 0, c.bytes)
			equal(t, "bytes unknown", got.BytesUp == -1 && got.BytesDown == -1, !c.bytes)
			equal(t, "header bytes", got.HeaderBytesUp, -1)
			client.CloseIdleConnections()
			equal(t, "why closed", log.Connections()[0].CloseReason, "closed by this side")
		})
	}
}

func TestTransportRecordsTheIssuerAndTheServerName(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, func(tr *http.Transport) {
		dial := tr.DialContext // httptest's, which knows example.com
		tr.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			if dial == nil {
				dial = new(net.Dialer).DialContext
			}
			return dial(ctx, network, srv.Listener.Addr().String())
		}
	})
	get(t, client, "https://user:secret@EXAMPLE.com/page?q=1#part")
	c, q := log.Connections()[0], log.Requests()[0]
	equal(t, "server name", c.ServerName, "EXAMPLE.com")
	equal(t, "host", c.Host, "example.com:443")
	equal(t, "issuer", c.Issuer, srv.Certificate().Issuer.CommonName)
	equal(t, "URL", q.URL, "https://EXAMPLE.com/page?q=1")
}

func TestTransportRecordsRequests(t *testing.T) {
	for _, scheme := range []string{"http", "https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			srv := serve(t, scheme, page)
			client, log := recorded(t, srv, nil)
			resp, err := client.Post(srv.URL+"/form", "text/plain", strings.NewReader("twelve bytes"))
			if err != nil {
				t.Fatal(err)
			}
			if q := log.Requests()[0]; !q.End.IsZero() || q.Status != 200 {
				t.Errorf("before the body was read: %+v", q)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
			q := log.Requests()[0]
			equal(t, "method", q.Method, "POST")
			equal(t, "URL", q.URL, srv.URL+"/form")
			equal(t, "status", q.Status, 200)
			equal(t, "sent", q.BodyBytesUp, 12)
			equal(t, "received", q.BodyBytesDown, 5)
			equal(t, "error", q.Err, "")
			equal(t, "protocol", q.Protocol, q.Connection.Protocol)
			inOrder := slices.IsSortedFunc([]time.Time{q.Start, q.Connection.Opened, q.Start.Add(q.Wait), q.Sent, q.FirstByte, q.End}, time.Time.Compare)
			if !inOrder || q.Sent.IsZero() {
				t.Errorf("times out of order: %+v", q)
			}
		})
	}
}

func TestAnswerWithoutBodyEndsAtOnce(t *testing.T) {
	for _, scheme := range []string{"http", "h2"} {
		srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }))
		client, log := recorded(t, srv, nil)
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		if q := log.Requests()[0]; q.End.IsZero() {
			t.Errorf("%s: still runs", scheme)
		}
		resp.Body.Close()
	}
}

func TestTransportKeepsTheResponse(t *testing.T) {
	srv := serve(t, "h2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		io.WriteString(w, "hello")
		w.Header().Set("Grpc-Status", "0")
	}))
	client, _ := recorded(t, srv, nil)
	req, _ := http.NewRequest("GET", srv.URL, nil)
	resp, err := client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.ReadAll(resp.Body)
	if resp.Request != req {
		t.Error("the response is to another request")
	}
	equal(t, "trailer", resp.Trailer.Get("Grpc-Status"), "0")
	equal(t, "offered", resp.Body.(interface{ OfferedALPN() []string }).OfferedALPN(), "[h2 http/1.1]")
}

func TestUsersOwnTraceStillWorks(t *testing.T) {
	srv := serve(t, "h2", page)
	client, _ := recorded(t, srv, nil)
	var reused []bool
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = append(reused, i.Reused) }}
	for range 2 {
		req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", srv.URL, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	equal(t, "reused", reused, "[false true]")
}

// The failure of a burst that a test forgot to expect: net/http opens many
// connections and uses one.
func TestColdBurstOverH2(t *testing.T) {
	const burst = 50
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, nil)
	var wg sync.WaitGroup
	for range burst {
		wg.Go(func() { get(t, client, srv.URL) })
	}
	wg.Wait()
	equal(t, "stalls", len(log.Stalls()), 0)
	equal(t, "requests", len(log.Requests(netlog.Status(200))), burst)
	total := 0
	for _, c := range log.Connections() {
		if total += c.Requests; c.MaxStreams > burst {
			t.Errorf("connection %d: %d streams", c.ID, c.MaxStreams)
		}
	}
	equal(t, "requests on connections", total, burst)
	if n := len(log.Connections(netlog.Used())); n > 2 { // a second only while the first's limit is not known
		t.Errorf("%d connections used:\n%v", n, log)
	}
	for _, c := range log.Connections() {
		if !c.Used() && !c.Closed.IsZero() && !c.Handshaken.IsZero() && c.CloseReason != "closed by this side: not needed, another connection speaks h2" {
			t.Errorf("unused connection %d: %q", c.ID, c.CloseReason)
		}
	}
}

func TestHTTP1PassesItsConnectionsOn(t *testing.T) {
	srv := serve(t, "https", page)
	client, log := recorded(t, srv, func(tr *http.Transport) { tr.MaxConnsPerHost, tr.MaxIdleConnsPerHost = 3, 3 })
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() { get(t, client, srv.URL) })
	}
	wg.Wait()
	total := 0
	for _, c := range log.Connections(netlog.Used()) {
		equal(t, "most at once", c.MaxStreams, 1)
		total += c.Requests
	}
	equal(t, "requests on connections", total, 60)
}

func TestReplayAfterTheServerClosed(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			srv := serve(t, scheme, page)
			client, log := recorded(t, srv, nil)
			get(t, client, srv.URL)
			srv.CloseClientConnections()
			get(t, client, srv.URL) // replayed if net/http had not noticed yet
			equal(t, "connections", len(log.Connections(netlog.Used())), 2)
			if why := log.Connections()[0].CloseReason; why != "closed by the peer" && why != "reset by the peer" {
				t.Errorf("first connection: %q", why)
			}
			q := log.Requests()[1]
			equal(t, "carried by", q.Connection.ID, 2)
			equal(t, "status", q.Status, 200)
		})
	}
}

// A connection that dies under a request is counted for the request's first
// try, and the one of the second try carries it.
func TestReplayCountsOnBothConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	client, log := client(t, new(http.Transport))
	for range 2 {
		get(t, client, "http://"+listener.Addr().String())
	}
	equal(t, "connections", len(log.Connections(netlog.Used())), 2)
	equal(t, "requests on the first", log.Connections()[0].Requests, 2)
	equal(t, "why closed", log.Connections()[0].CloseReason, "closed by the peer")
	equal(t, "requests", len(log.Requests()), 2)
	equal(t, "carried by", log.Requests()[1].Connection.ID, 2)
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
	srv := serve(t, "https", page)
	client, log := recorded(t, srv, func(tr *http.Transport) {
		tr.TLSClientConfig.ClientSessionCache, tr.DisableKeepAlives = tls.NewLRUClientSessionCache(1), true
	})
	get(t, client, srv.URL)
	get(t, client, srv.URL)
	c := log.Connections()
	equal(t, "resumed", []bool{c[0].Resumed, c[1].Resumed}, "[false true]")
	if why := c[0].CloseReason; why != "closed by this side: Connection: close" && why != "closed by the peer" { // both do
		t.Errorf("why closed: %q", why)
	}
}

func TestCancelledRequest(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			arrived := make(chan struct{})
			srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-r.Context().Done()
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

func TestEarlyHintsAreNotTheFirstByte(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			sent := make(chan time.Time, 1)
			release := make(chan struct{})
			srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 20 {
					w.Header().Set("Link", "</style.css>; rel=preload")
					w.WriteHeader(http.StatusEarlyHints)
				}
				<-release
				sent <- time.Now()
				io.WriteString(w, "hello")
			}))
			client, log := recorded(t, srv, nil)
			seen := 0
			req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
					if seen++; seen == 20 {
						close(release)
					}
					return nil
				},
			}), "GET", srv.URL, nil)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
			q := log.Requests()[0]
			if at := <-sent; q.Status != 200 || q.FirstByte.Before(at) {
				t.Errorf("status %d, first byte %v before it was sent", q.Status, at.Sub(q.FirstByte))
			}
		})
	}
}

// To listen for informational answers must not lift net/http's limit on them.
func TestInformationalAnswersStayLimited(t *testing.T) {
	for _, scheme := range []string{"https", "h2"} {
		srv := serve(t, scheme, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", strings.Repeat("x", 1000))
			for range 20 {
				w.WriteHeader(http.StatusEarlyHints)
			}
		}))
		client, _ := recorded(t, srv, func(tr *http.Transport) { tr.MaxResponseHeaderBytes = 10000 })
		if resp, err := client.Get(srv.URL); err == nil {
			resp.Body.Close()
			t.Errorf("%s: no error", scheme)
		}
	}
}

func TestUpgradedConnectionCanBeWritten(t *testing.T) {
	srv := serve(t, "https", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		line, _ := rw.ReadString('\n')
		io.WriteString(conn, line)
	}))
	client, log := recorded(t, srv, nil)
	req, _ := http.NewRequest("GET", srv.URL, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("body %T cannot be written", resp.Body)
	}
	io.WriteString(rwc, "line\n")
	if half, ok := rwc.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		t.Error("cannot be half closed")
	}
	echoed, err := io.ReadAll(rwc)
	equal(t, "echoed", fmt.Sprintf("%q %v", echoed, err), `"line\n" <nil>`)
	rwc.Close()
	equal(t, "status", log.Requests(netlog.Status(101))[0].Status, 101)
	equal(t, "closed", !log.Connections()[0].Closed.IsZero(), true)
}

func TestDefaultTransportSpeaksH2(t *testing.T) {
	srv := serve(t, "h2", page)
	for name, base := range map[string]*http.Transport{"fresh": {}, "used": used(t)} {
		// Only now, as a user of a shared transport would not: TLSClientConfig
		// set before would itself turn HTTP/2 off.
		log := new(netlog.Log)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		client.Get(srv.URL)
		if c := log.Connections()[0]; !slices.Equal(c.Offered, []string{"h2", "http/1.1"}) {
			t.Errorf("%s: offered %v", name, c.Offered)
		}
		client.CloseIdleConnections()
	}
}

func used(t *testing.T) *http.Transport {
	tr, srv := new(http.Transport), serve(t, "http", page)
	get(t, &http.Client{Transport: tr}, srv.URL)
	tr.CloseIdleConnections()
	return tr
}

func TestTransportWithoutH2StaysSo(t *testing.T) {
	srv := serve(t, "h2", page)
	for name, change := range map[string]func(*http.Transport){
		"own dialer":         func(tr *http.Transport) { tr.ForceAttemptHTTP2 = false },
		"empty TLSNextProto": func(tr *http.Transport) { tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} },
	} {
		base := srv.Client().Transport.(*http.Transport)
		base = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: base.TLSClientConfig.RootCAs}, DialContext: new(net.Dialer).DialContext}
		change(base)
		client, log := client(t, base)
		get(t, client, srv.URL)
		if c := log.Connections()[0]; c.Protocol != "http/1.1" || c.Offered != nil {
			t.Errorf("%s: %s, offered %v", name, c.Protocol, c.Offered)
		}
	}
}

func TestDialTLSContextOfTheUser(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, func(tr *http.Transport) {
		cfg := tr.TLSClientConfig.Clone()
		cfg.NextProtos = []string{"h2"}
		tr.DialTLSContext = (&tls.Dialer{Config: cfg}).DialContext
	})
	get(t, client, srv.URL)
	get(t, client, srv.URL)
	netlog.RequireConnections(t, log, 1, "h2", netlog.Used())
	c := log.Connections()[0]
	equal(t, "ALPN", c.ALPN, "h2")
	equal(t, "offered", c.Offered == nil, true)
	equal(t, "opened before handshaken", c.Opened.Before(c.Handshaken), true)
}

func TestOtherRoundTripper(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := client(t, other{srv.Client().Transport})
	get(t, client, srv.URL)
	get(t, client, srv.URL)
	netlog.RequireConnections(t, log, 1, "h2", netlog.Used())
	c := log.Connections()[0]
	equal(t, "requests", c.Requests, 2)
	equal(t, "host", c.Host, srv.Listener.Addr())
}

type other struct{ http.RoundTripper }

// A RoundTripper that has no connections is still one with requests.
func TestRoundTripperThatTellsNothing(t *testing.T) {
	client, log := client(t, canned{})
	get(t, client, "https://a.test/")
	equal(t, "connections", len(log.Connections()), 0)
	q := log.Requests(netlog.Status(203))[0]
	equal(t, "protocol", q.Protocol, "http/1.1")
}

type canned struct{}

func (canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 203, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader("x"))}, nil
}

func TestNilLogPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "netlog: NewTransport: log is nil") {
			t.Error(got)
		}
	}()
	netlog.NewTransport(nil, nil)
}

// connectProxy is an HTTP proxy that tunnels CONNECT and forwards the rest.
func connectProxy(t *testing.T, secure bool) *httptest.Server {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			io.WriteString(w, "by the proxy")
			return
		}
		out, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer out.Close()
		w.WriteHeader(http.StatusOK)
		in, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer in.Close()
		go func() { // ends when either side closes, as both are closed below
			defer out.Close()
			io.Copy(out, rw)
		}()
		io.Copy(in, out)
	})
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return serve(t, scheme, handler)
}

func TestThroughAProxy(t *testing.T) {
	for _, c := range []struct {
		name           string
		secure         bool // the proxy
		scheme         string
		offered        string
		protocol, alpn string
		bytes          bool
	}{
		{name: "https by an http proxy", scheme: "h2", offered: "[h2 http/1.1]", protocol: "h2", alpn: "h2"},
		{name: "https by an https proxy", secure: true, scheme: "h2", offered: "[]", protocol: "h2", alpn: "h2"},
		{name: "http by an http proxy", scheme: "http", offered: "[]", protocol: "http/1.1", alpn: netlog.NoALPN, bytes: true},
		{name: "http by an https proxy", secure: true, scheme: "http", offered: "[h2 http/1.1]", protocol: "http/1.1", alpn: "http/1.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv, proxy := serve(t, c.scheme, page), connectProxy(t, c.secure)
			client, log := recorded(t, srv, func(tr *http.Transport) {
				to, _ := url.Parse(proxy.URL)
				tr.Proxy, tr.ForceAttemptHTTP2 = http.ProxyURL(to), true
				tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			})
			get(t, client, srv.URL)
			get(t, client, srv.URL)
			netlog.RequireConnections(t, log, 1, c.protocol, netlog.Used())
			got := log.Connections()[0]
			equal(t, "connections", len(log.Connections()), 1)
			equal(t, "proxy", got.Proxy, proxy.Listener.Addr())
			equal(t, "host", got.Host, srv.Listener.Addr())
			equal(t, "offered", fmt.Sprint(got.Offered), c.offered)
			equal(t, "ALPN", got.ALPN, c.alpn)
			equal(t, "bytes known", got.BytesUp > 0, c.bytes)
		})
	}
}

func TestProxyThatRefuses(t *testing.T) {
	proxy := serve(t, "http", http.NotFoundHandler())
	to, _ := url.Parse(proxy.URL)
	client, log := client(t, &http.Transport{Proxy: http.ProxyURL(to)})
	if _, err := client.Get("https://a.test/"); err == nil {
		t.Fatal("no error")
	}
	c := log.Connections()[0]
	equal(t, "why closed", c.CloseReason, "closed by this side before TLS was established")
	equal(t, "used", c.Used(), false)
	equal(t, "proxy", c.Proxy, proxy.Listener.Addr())
}

// inMemory serves handler in a bubble and returns a transport to it; stop ends
// all.
func inMemory(cfg *tls.Config, handler http.Handler) (*http.Transport, func()) {
	listener := newMemory()
	srv := &http.Server{Handler: handler, TLSConfig: cfg, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() { // ends by stop, which waits
		defer close(done)
		if cfg == nil {
			srv.Serve(listener)
		} else {
			srv.ServeTLS(listener, "", "")
		}
	}()
	return &http.Transport{DialContext: listener.DialContext}, func() {
		srv.Close()
		listener.Close()
		<-done
	}
}

// Twenty requests that take 100 ms each over six connections: the figures of a
// queue, to the nanosecond.
func TestStallsOfMaxConnsPerHostInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			io.WriteString(w, "done")
		})
		base, stop := inMemory(nil, work)
		defer stop()
		base.MaxConnsPerHost, base.MaxIdleConnsPerHost = 6, 6
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { get(t, client, fmt.Sprintf("http://a.test/%d", i)) })
			synctest.Wait()
		}
		wg.Wait()
		netlog.RequireConnections(t, log, 6, "http/1.1")
		stalls := log.Stalls(netlog.Host("a.test:80"))
		equal(t, "stalls", len(stalls), 14)
		equal(t, "longest", stalls.Max(), 300*time.Millisecond)
		equal(t, "in all", stalls.Total(), (6*100+6*200+2*300)*time.Millisecond)
		for i, s := range stalls {
			equal(t, "kind", s.Kind, netlog.StalledMaxSocketsPerGroup)
			equal(t, "URL", s.URL, fmt.Sprintf("http://a.test/%d", 6+i))
			equal(t, "wait", log.Requests()[s.Request-1].Wait, s.Duration)
		}
		q := log.Requests()[19]
		equal(t, "time to first byte", q.TimeToFirstByte(), 100*time.Millisecond)
		equal(t, "end", q.End.Sub(q.Start), 400*time.Millisecond)
	})
}

// Without keep-alive a request that was queued dials for itself.
func TestStallsThatEndInADial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(100 * time.Millisecond) })
		base, stop := inMemory(nil, work)
		defer stop()
		base.MaxConnsPerHost, base.DisableKeepAlives = 2, true
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(10 * time.Millisecond) // a wait for one's own dial is no stall
			return dial(ctx, network, addr)
		}
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { get(t, client, "http://a.test/") })
			synctest.Wait()
		}
		wg.Wait()
		stalls := log.Stalls()
		equal(t, "stalls", len(stalls), 2)
		equal(t, "longest", stalls.Max(), 110*time.Millisecond)
		equal(t, "shortest", stalls.Total()-stalls.Max(), 110*time.Millisecond)
		equal(t, "wait with the dial", log.Requests()[3].Wait, 120*time.Millisecond)
	})
}

func TestStallThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) }))
		defer stop()
		base.MaxConnsPerHost = 1
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		defer client.CloseIdleConnections()
		var wg sync.WaitGroup
		wg.Go(func() { get(t, client, "http://a.test/") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.test/", nil)
		if _, err := client.Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wg.Wait()
		equal(t, "stalls", len(log.Stalls()), 1)
		equal(t, "longest", log.Stalls().Max(), 300*time.Millisecond)
		equal(t, "not used by it", log.Requests()[1].Connection == nil, true)
	})
}

// Requests one after the other never wait for a limit, however low.
func TestNoStallWithoutAQueue(t *testing.T) {
	for _, scheme := range []string{"http", "https", "h2"} {
		srv := serve(t, scheme, page)
		client, log := recorded(t, srv, func(tr *http.Transport) { tr.MaxConnsPerHost = 1 })
		for range 50 {
			get(t, client, srv.URL)
		}
		equal(t, scheme+" stalls", log.Stalls(), "no stalls\n")
	}
}

// The requests that come while the one connection is dialled wait for it; those
// that come later share it at once.
func TestStallForTheOneH2Connection(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	synctest.Test(t, func(t *testing.T) {
		base, stop := inMemory(&tls.Config{Certificates: certificate, NextProtos: []string{"h2"}}, page)
		defer stop()
		base.MaxConnsPerHost, base.ForceAttemptHTTP2 = 1, true
		base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(50 * time.Millisecond)
			return dial(ctx, network, addr)
		}
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(base, log)}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { get(t, client, "https://a.test/") })
			synctest.Wait()
		}
		wg.Wait()
		time.Sleep(time.Second)
		for range 5 {
			wg.Go(func() { get(t, client, "https://a.test/") })
		}
		wg.Wait()
		netlog.RequireConnections(t, log, 1, "h2")
		equal(t, "stalls", len(log.Stalls()), 4)
		equal(t, "longest", log.Stalls().Max(), 50*time.Millisecond)
		client.CloseIdleConnections()
		synctest.Wait()
		equal(t, "why closed", log.Connections()[0].CloseReason, "closed by this side")
	})
}

// The server ends TLS first; net/http closes before it has seen the end of the
// connection itself.
func TestIdleConnectionClosedByTheServer(t *testing.T) {
	certificate := serve(t, "https", page).TLS.Certificates
	for _, proto := range []string{"http/1.1", "h2"} {
		synctest.Test(t, func(t *testing.T) {
			base, stop := inMemory(&tls.Config{Certificates: certificate, NextProtos: []string{proto}}, page)
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
