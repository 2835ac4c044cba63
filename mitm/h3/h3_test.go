package h3_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"strings"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

func TestMessagesPassWhole(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 20_000)
	eachPair(t, mitm.Config{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/hints":
			w.Header().Set("Link", "</a.css>")
			w.WriteHeader(http.StatusEarlyHints)
			io.WriteString(w, "hinted")
		case "/trailers":
			w.Header().Set("Trailer", "Declared")
			io.WriteString(w, large)
			w.Header().Set("Declared", "sent last")
			w.Header().Set(http.TrailerPrefix+"Undeclared", "too")
		default:
			got, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.RequestURI, got)
		}
	}, func(t *testing.T, s *stage) {
		ctx := t.Context()
		host := strings.TrimPrefix(s.url, "https://")
		resp, body := s.do(t, ctx, "GET", "/a%2Fb?c=d%20e", nil)
		assert.Equal(t, "GET "+host+" /a%2Fb?c=d%20e ", body)
		assert.Equal(t, map[string]string{alpn.HTTP11: "HTTP/1.1", alpn.H2: "HTTP/2.0", alpn.H3: "HTTP/3.0"}[s.down], resp.Proto)
		_, body = s.do(t, ctx, "POST", "/", strings.NewReader(large))
		assert.True(t, "POST "+host+" / "+large == body, "%.100q", body)
		_, body = s.do(t, ctx, "PUT", "/", io.MultiReader(strings.NewReader(large))) // of unknown length
		assert.True(t, "PUT "+host+" / "+large == body, "%.100q", body)
		resp, body = s.do(t, ctx, "HEAD", "/", nil)
		assert.Equal(t, []any{200, ""}, []any{resp.StatusCode, body})
		resp, _ = s.do(t, ctx, "GET", "/204", nil)
		assert.Equal(t, 204, resp.StatusCode)
		hints := 0
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints++
			assert.Equal(t, []any{103, "</a.css>"}, []any{code, h.Get("Link")})
			return nil
		}})
		_, body = s.do(t, traced, "GET", "/hints", nil)
		assert.Equal(t, []any{1, "hinted"}, []any{hints, body})
		resp, body = s.do(t, ctx, "GET", "/trailers", nil)
		assert.Len(t, body, len(large))
		assert.Equal(t, http.Header{"Declared": {"sent last"}, "Undeclared": {"too"}}, resp.Trailer)

		netlog.RequireConnections(t, s.proxy.Log(), 1, s.down, mitm.Downstream)
		netlog.RequireConnections(t, s.proxy.Log(), 1, s.up, mitm.Upstream)
		assert.Len(t, s.proxy.Log().Pairs(), 7)
		down := s.proxy.Log().Connections(mitm.Downstream)[0]
		up := s.proxy.Log().Connections(mitm.Upstream)[0]
		assert.Equal(t, []any{networkOf(s.down), s.site.Addr, "wiretest mitm CA"}, []any{down.Network, down.Host, down.Issuer})
		assert.Equal(t, []any{networkOf(s.up), s.site.Addr, "wiretest origin CA", "first request to it"}, []any{up.Network, up.Host, up.Issuer, up.OpenReason})
		for _, pair := range s.proxy.Log().Pairs() {
			assert.Equal(t, []int64{pair.Client.BodyBytesUp, pair.Client.BodyBytesDown}, []int64{pair.Origin.BodyBytesUp, pair.Origin.BodyBytesDown}, pair.Client.URL)
		}
	})
}

func networkOf(proto string) string {
	if proto == alpn.H3 {
		return "udp"
	}
	return "tcp"
}

func TestFirstByteBeforeTheLast(t *testing.T) {
	eachPair(t, mitm.Config{}, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		rc.EnableFullDuplex()
		rc.Flush()
		buffer := make([]byte, 10)
		for {
			n, err := r.Body.Read(buffer)
			w.Write(buffer[:n])
			rc.Flush()
			if err != nil {
				return
			}
		}
	}, func(t *testing.T, s *stage) {
		body, words := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/", body)
		require.NoError(t, err)
		resp, err := s.client.Do(req)
		require.NoError(t, err)
		for _, word := range []string{"one", "two", "three"} {
			io.WriteString(words, word)
			got := make([]byte, len(word))
			_, err := io.ReadFull(resp.Body, got)
			require.NoError(t, err)
			assert.Equal(t, word, string(got))
		}
		words.Close()
		rest, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Empty(t, rest)
	})
}

func TestCancelReachesTheOrigin(t *testing.T) {
	var arrived, gone chan struct{} // of the test that runs
	eachPair(t, mitm.Config{}, func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(gone)
	}, func(t *testing.T, s *stage) {
		arrived, gone = make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/", nil)
		require.NoError(t, err)
		_, err = s.client.Do(req)
		assert.Error(t, err)
		<-gone
	})
}

// What the origin breaks off is broken off, and what it does not answer is a 502.
func TestFailingOrigin(t *testing.T) {
	eachPair(t, mitm.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/part" {
			io.WriteString(w, "part")
			http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}, func(t *testing.T, s *stage) {
		resp, err := s.client.Get(s.url + "/part")
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil { // QUIC's reset has overtaken the answer's head
			assert.Equal(t, []any{alpn.H3, 502}, []any{s.up, resp.StatusCode})
		}
		resp, err = s.client.Get(s.url + "/nothing")
		if err != nil { // a reset of the origin's stream
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		assert.Equal(t, 502, resp.StatusCode)
		assert.Contains(t, string(body), "mitm: upstream leg: ")
	})
}

// Codes of the origin's resets are what the client's protocol has for them.
func TestResetCodes(t *testing.T) {
	want := map[http2.ErrCode]http3.ErrCode{
		http2.ErrCodeEnhanceYourCalm: http3.ErrCodeExcessiveLoad,
		http2.ErrCodeCancel:          http3.ErrCodeRequestCanceled,
		http2.ErrCodeInternal:        http3.ErrCodeInternalError,
		http2.ErrCodeProtocol:        http3.ErrCodeGeneralProtocolError,
	}
	eachPair(t, mitm.Config{}, func(w http.ResponseWriter, r *http.Request) {
		var code http2.ErrCode
		fmt.Sscanf(r.URL.Path, "/%d", &code)
		wire.ResetWith(code)(w, r, nil)
	}, func(t *testing.T, s *stage) {
		if s.up == alpn.HTTP11 || s.down == alpn.HTTP11 {
			return // which has no codes
		}
		for code, asHTTP3 := range want {
			if s.down == alpn.H2 && code == http2.ErrCodeProtocol {
				continue // net/http's client repeats that for ever
			}
			_, err := s.client.Get(fmt.Sprintf("%s/%d", s.url, code))
			var reset http2.StreamError
			var resetHTTP3 *http3.Error
			if s.down == alpn.H3 && assert.ErrorAs(t, err, &resetHTTP3, "%v", code) {
				assert.Equal(t, asHTTP3, resetHTTP3.ErrorCode)
			}
			if s.down == alpn.H2 && assert.ErrorAs(t, err, &reset, "%v", code) {
				assert.Equal(t, code, reset.Code)
			}
		}
	})
}

// Limits, windows and certificates are the leg's.
func TestTheLegRules(t *testing.T) {
	cfg := mitm.Config{
		Downstream: mitm.Leg{MaxConcurrentStreams: 3, ALPN: alpn.Only(alpn.HTTP11)}, // which is about TCP
		Rules:      []mitm.Rule{{Host: "*", Leaf: func(leaf *x509.Certificate) { leaf.Subject.CommonName = "by a rule" }}},
	}
	eachStage(t, cfg, func(w http.ResponseWriter, r *http.Request) {}, func(t *testing.T, s *stage) {
		resp, _ := s.do(t, t.Context(), "GET", "/", nil)
		assert.Equal(t, "by a rule", resp.TLS.PeerCertificates[0].Subject.CommonName)
		assert.Equal(t, "*", s.proxy.Log().Connections(mitm.Downstream)[0].Rule)
		assert.Equal(t, 3, s.proxy.Log().Connections(mitm.Downstream)[0].StreamLimit)
	})
}

// Close ends what is under way, and is not waited for by a client.
func TestCloseEndsWhatIsInFlight(t *testing.T) {
	var begun chan struct{} // of the test that runs
	eachPair(t, mitm.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begin" {
			io.WriteString(w, "begun")
			http.NewResponseController(w).Flush()
		}
		begun <- struct{}{}
		<-r.Context().Done()
	}, func(t *testing.T, s *stage) {
		begun = make(chan struct{}, 3)
		failed := make(chan error, 3)
		silent, more := io.Pipe()
		defer more.Close()
		for path, body := range map[string]io.Reader{"/wait": nil, "/begin": nil, "/upload": silent} {
			go func() {
				req, _ := http.NewRequest("POST", s.url+path, body)
				resp, err := s.client.Do(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				failed <- err
			}()
		}
		for range 3 {
			<-begun
		}
		require.NoError(t, s.proxy.Close())
		more.Close()
		for range 3 {
			assert.Error(t, <-failed)
		}
		for _, c := range s.proxy.Log().Connections() {
			assert.NotEmpty(t, c.CloseReason, "%s leg", c.Leg)
		}
	})
}

func TestMistakesAreNamedAtStart(t *testing.T) {
	old := mitm.Leg{TLS: &tls.Config{MaxVersion: tls.VersionTLS12}}
	for want, cfg := range map[string]mitm.Config{
		"mitm: Config.HTTP3: only Reverse has it, and Mode is Explicit":                {},
		"mitm: Config.HTTP3: Mirror is for TLS over TCP":                               {Mode: mitm.Reverse, Origin: "https://a.test", Downstream: mitm.Leg{Mirror: true}},
		"mitm: Config.HTTP3: Downstream.TLS.MaxVersion is TLS 1.2: QUIC needs TLS 1.3": {Mode: mitm.Reverse, Origin: "https://a.test", Downstream: old},
	} {
		cfg.HTTP3 = h3.Downstream(nil)
		_, err := mitm.Start(&cfg)
		assert.EqualError(t, err, want)
	}
	recording.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		_, err := mitm.Start(&mitm.Config{
			Mode: mitm.Reverse, Origin: "https://a.test", Net: network.Host("proxy.test"), HTTP3: h3.Downstream(&quic.Config{InitialPacketSize: 1350}),
		})
		assert.ErrorContains(t, err, "mitm: Config.HTTP3: h3: InitialPacketSize 1350: in memory no more than 1280")
	})
}

// A browser that is told to speak HTTP/3 loads the page of 171 requests on one
// connection.
func TestChromium(t *testing.T) {
	if _, err := chrome.Find(); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	authority := ca.New(t, nil)
	site := origin.New(t, &origin.Config{CA: authority, Page: &origin.Page{Scripts: 50, Images: 60, API: 60}})
	proxy := mitm.New(t, &mitm.Config{
		CA: authority, RootCAs: authority.Pool(), Mode: mitm.Reverse, Origin: site.URL, HTTP3: h3.Downstream(nil),
	})
	leaf, err := authority.Leaf("127.0.0.1")
	require.NoError(t, err)
	_, err = chrome.Run(t.Context(), proxy.URL+"/", &chrome.Config{
		Trust:     []*x509.Certificate{leaf.Leaf},
		ForceQUIC: []string{proxy.Addr},
		Done: func(ctx context.Context) error {
			_, err := site.Report(ctx)
			return err
		},
	})
	require.NoError(t, err, "%s", proxy.Log())
	ok := 0
	for _, q := range proxy.Log().Requests(mitm.Downstream) {
		if q.Status == http.StatusOK && !strings.HasSuffix(q.URL, origin.ReportPath) {
			ok++
		}
	}
	assert.Equal(t, 171, ok)
	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H3, mitm.Downstream, netlog.Used())
	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Upstream, netlog.Used())
}

// A client that has no place in the proxy's network is told so when it dials; nobody
// else is asked where the name leads.
func TestTransportFromNowhere(t *testing.T) {
	recording.Bubble(t, nil, func(t *testing.T) {
		s := setting{}.setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), alpn.H3, alpn.H2)
		for want, from := range map[string]mitm.Net{
			"mitm/h3: Transport: " + s.proxy.Addr + " is a name in Config.Net, which a plain dialer cannot reach: use Transport(host)": nil,
			"mitm/h3: Transport: typed nil *linkdelay.Host": (*linkdelay.Host)(nil),
		} {
			tr := h3.Transport(s.proxy, from)
			_, err := (&http.Client{Transport: tr}).Get(s.url)
			assert.ErrorContains(t, err, want)
			assert.NoError(t, tr.Close())
		}
	})
}
