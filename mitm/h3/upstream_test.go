package h3_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// inMemory runs body with a client of h2 and an origin of HTTP/3, in virtual time.
func (s setting) inMemory(t *testing.T, body func(*testing.T, *stage)) {
	t.Helper()
	recording.Bubble(t, nil, func(t *testing.T) {
		body(t, s.setUp(t, linkdelay.NewNetwork(t, s.link), alpn.H2, alpn.H3))
	})
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) }
}

// settled are the requests of a leg when all that was to happen has.
func settled(t *testing.T, s *stage, leg netlog.Leg, n int) []netlog.Request {
	t.Helper()
	synctest.Wait()
	all := s.proxy.Log().Requests(leg)
	require.Len(t, all, n, "%s", s.proxy.Log())
	return all
}

// Trailers of requests go to the origin, which tells its handler nothing of them.
func TestTrailersOfRequests(t *testing.T) {
	for _, declared := range []bool{true, false} {
		setting{origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, r.Body)
		})}}.inMemory(t, func(t *testing.T, s *stage) {
			trailer := http.Header{"X-Sum": {strings.Repeat("~", 5000)}}
			req, err := http.NewRequestWithContext(t.Context(), "POST", s.url, nil)
			require.NoError(t, err)
			req.Trailer = http.Header{}
			if declared {
				req.Trailer["X-Sum"] = nil
			}
			body := io.MultiReader(strings.NewReader("body"), atEnd(func() { req.Trailer["X-Sum"] = trailer["X-Sum"] }))
			req.Body, req.ContentLength = io.NopCloser(body), -1
			resp, err := s.client.Do(req)
			require.NoError(t, err)
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			assert.Equal(t, "body", string(got))
			synctest.Wait()
			q := s.site.Log().Requests()[0]
			assert.Equal(t, int64(4), q.BodyBytesUp)
			if q.HeaderBytesUp < 3000 { // QPACK's Huffman code makes it shorter
				t.Errorf("declared %v: the origin got %d bytes of header: no trailers", declared, q.HeaderBytesUp)
			}
		})
	}
}

type atEnd func()

func (f atEnd) Read([]byte) (int, error) { f(); return 0, io.EOF }

// A body that the origin does not want is not sent, and one that it only reads is,
// after a second: quic-go's server never says 100.
func TestExpect(t *testing.T) {
	setting{origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "100-continue", r.Header.Get("Expect"))
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		io.Copy(w, r.Body)
	})}}.inMemory(t, func(t *testing.T, s *stage) {
		tr := s.client.Transport.(*http.Transport)
		tr.ExpectContinueTimeout = time.Hour
		for path, want := range map[string][]any{"/refused": {417, "", int64(0)}, "/read": {200, "body", int64(4)}} {
			req, err := http.NewRequestWithContext(t.Context(), "PUT", s.url+path, strings.NewReader("body"))
			require.NoError(t, err)
			req.Header.Set("Expect", "100-continue")
			start := time.Now()
			resp, err := s.client.Do(req)
			require.NoError(t, err)
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			took := time.Since(start).Truncate(time.Second)
			synctest.Wait()
			all := s.proxy.Log().Requests(mitm.Upstream)
			assert.Equal(t, want, []any{resp.StatusCode, string(got), all[len(all)-1].BodyBytesUp}, path)
			assert.Equal(t, path == "/read", took == time.Second, "%s took %v", path, took)
		}
	})
}

// The code by which a client resets a request goes on to the origin, but over HTTP/3
// where the request has a body.
func TestClientsResets(t *testing.T) {
	for _, pair := range [][2]string{{alpn.H2, alpn.H3}, {alpn.H3, alpn.H2}, {alpn.H3, alpn.H3}} {
		recording.Bubble(t, nil, func(t *testing.T) {
			s := setting{origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
			})}}.setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), pair[0], pair[1])
			conn, reset := resetting(t, s)
			defer conn.Close()
			for i, c := range []struct {
				code          http2.ErrCode
				body          io.Reader
				asH2, asHTTP3 string
			}{
				{http2.ErrCodeEnhanceYourCalm, nil, "ENHANCE_YOUR_CALM", "H3_EXCESSIVE_LOAD (0x107)"},
				{http2.ErrCodeCancel, nil, "CANCEL", "H3_REQUEST_CANCELLED (0x10c)"},
				{http2.ErrCodeEnhanceYourCalm, strings.NewReader("body"), "", "H3_REQUEST_CANCELLED (0x10c)"},
			} {
				if c.body != nil && s.down == alpn.H3 {
					continue // the client's own says no other code
				}
				req, err := http.NewRequestWithContext(t.Context(), "POST", s.url, c.body)
				require.NoError(t, err)
				_, err = conn.RoundTrip(req, func(rec *netlog.RequestRecord) { reset(rec, c.code) })
				require.Error(t, err)
				time.Sleep(time.Second)
				want := map[string]string{alpn.H2: "RST_STREAM " + c.asH2 + " sent by client", alpn.H3: "reset by client: " + c.asHTTP3}[s.up]
				assert.Equal(t, want, s.proxy.Log().Requests(mitm.Upstream)[i].Err, "%v: %v", pair, c.code)
				assert.Equal(t, want, s.site.Log().Requests()[i].Err, "%v: %v", pair, c.code)
			}
			netlog.RequireConnections(t, s.proxy.Log(), 1, s.up, mitm.Upstream)
		})
	}
}

// resetting is a client that resets a request, a second after it was sent, with a code
// of the test's choice.
func resetting(t *testing.T, s *stage) (conn *wire.ClientConn, reset func(*netlog.RequestRecord, http2.ErrCode)) {
	cfg := &tls.Config{RootCAs: s.proxy.CA().Pool(), ServerName: "proxy.test", NextProtos: []string{alpn.H2}}
	var err error
	if s.down == alpn.H3 {
		conn, err = recording.Connect(t.Context(), recording.ClientConfig{
			Address: s.proxy.Addr, ListenPacket: s.network.Host("pc.test").ListenPacket, TLS: cfg, Record: new(netlog.Log).Open(netlog.Connection{}),
		})
		require.NoError(t, err)
		return conn, func(rec *netlog.RequestRecord, code http2.ErrCode) {
			time.AfterFunc(time.Second, func() { conn.ForeignOf(rec).Reset(code) })
		}
	}
	plain, err := s.network.Host("pc.test").DialContext(t.Context(), "tcp", s.proxy.Addr)
	require.NoError(t, err)
	secured := tls.Client(plain, cfg)
	require.NoError(t, secured.HandshakeContext(t.Context()))
	conn, err = wire.NewClientConn(secured, wire.ClientConfig{})
	require.NoError(t, err)
	return conn, func(rec *netlog.RequestRecord, code http2.ErrCode) {
		stream := conn.Control().StreamOf(rec)
		time.AfterFunc(time.Second, func() { stream.Reset(code) })
	}
}

// Any number of 1xx answers passes to a request without a body; to one with a body
// five do.
func TestManyHints(t *testing.T) {
	setting{origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 20 {
			w.WriteHeader(http.StatusEarlyHints)
		}
		io.WriteString(w, "final")
	})}}.inMemory(t, func(t *testing.T, s *stage) {
		hints := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
			hints++
			return nil
		}})
		_, body := s.do(t, ctx, "GET", "/", nil)
		assert.Equal(t, []any{20, "final"}, []any{hints, body})
		resp, body := s.do(t, t.Context(), "POST", "/", strings.NewReader("body"))
		assert.Equal(t, 502, resp.StatusCode)
		assert.Contains(t, body, "too many 1xx informational responses")
	})
}

// Faults of the leg happen to requests over QUIC as well.
func TestFaultsOfTheLeg(t *testing.T) {
	large := strings.Repeat("0123456789", 20_000) // so that a part of it is under way
	for _, c := range []struct {
		name   string
		do     wire.Action
		status int    // 0 is a broken answer
		reason string // of the request to the origin
	}{
		{"reset", wire.ResetWith(http2.ErrCodeEnhanceYourCalm), 502, "reset by client: H3_EXCESSIVE_LOAD (0x107)"},
		{"reset in the answer", wire.ResetAfter(2, http2.ErrCodeEnhanceYourCalm), 0, "reset by client: H3_EXCESSIVE_LOAD (0x107)"},
		{"GOAWAY", wire.GoAway, 502, "reset by client: H3_REQUEST_REJECTED (0x10b)"},
		{"close", wire.CloseAfter(2), 0, "connection closed before the answer ended: closed by client: H3_NO_ERROR (0x100)"},
		{"last one", wire.LastOne, 200, ""},
	} {
		for _, down := range []string{alpn.H2, alpn.H3} {
			recording.Bubble(t, nil, func(t *testing.T) {
				s := setting{
					proxy:  mitm.Config{Upstream: mitm.Leg{Faults: []wire.Fault{{Request: 1, Do: c.do}}}},
					origin: origin.Config{Handler: answer(large)},
				}.setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), down, alpn.H3)
				status := 0
				if resp, err := s.client.Get(s.url); err == nil {
					if _, err = io.ReadAll(resp.Body); err == nil {
						status = resp.StatusCode
					}
					resp.Body.Close()
				}
				assert.Equal(t, c.status, status, "%s, %s", c.name, down)
				up := settled(t, s, mitm.Upstream, 1)
				assert.Equal(t, c.reason, up[0].Err, "%s, %s", c.name, down)
				_, body := s.do(t, t.Context(), "GET", "/", nil)
				assert.Len(t, body, len(large))
			})
		}
	}
}

// Not only Reverse has it.
func TestExplicit(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), HTTP3: new(origin.HTTP3), Handler: answer("hello")})
		proxy := mitm.New(t, &mitm.Config{Net: network.Host("proxy.test"), RootCAs: site.CA().Pool(), Upstream: mitm.Leg{HTTP3: h3.Upstream(nil)}})
		resp, err := (&http.Client{Transport: proxy.Transport(network.Host("pc.test"))}).Get(site.URL)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		assert.Equal(t, "hello", string(body))
		netlog.RequireConnections(t, proxy.Log(), 1, alpn.H3, mitm.Upstream)
		assert.Equal(t, "origin.test", proxy.Log().Connections(mitm.Upstream)[0].ServerName)
	})
}

func TestCertificateThatIsNotTrusted(t *testing.T) {
	var told []mitm.TLSFailure // in one bubble after the other
	s := setting{origin: origin.Config{Handler: answer("hello")}}
	s.proxy.RootCAs = origin.New(t, nil).CA().Pool() // of another
	s.proxy.Hooks.TLSFailure = func(f mitm.TLSFailure) { told = append(told, f) }
	s.inMemory(t, func(t *testing.T, s *stage) {
		resp, body := s.do(t, t.Context(), "GET", "/", nil)
		assert.Equal(t, 502, resp.StatusCode)
		assert.Contains(t, body, "mitm: upstream leg: QUIC with "+s.site.Addr+": QUIC handshake: closed by client: CRYPTO_ERROR")
		assert.Contains(t, body, "certificate signed by unknown authority")
		require.Len(t, told, 1)
		assert.Equal(t, []any{mitm.Upstream, mitm.CertificateRefused}, []any{told[0].Leg, told[0].Cause})
	})
}

// A body goes on while the answer has ended, and is given up with the exchange.
func TestAnswerBeforeTheRequestEnds(t *testing.T) {
	setting{origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.ReadFull(r.Body, make([]byte, 5))
		io.WriteString(w, "enough")
	})}}.inMemory(t, func(t *testing.T, s *stage) {
		body, more := io.Pipe()
		go io.WriteString(more, "begun")
		resp, got := s.do(t, t.Context(), "POST", "/", body)
		assert.Equal(t, []any{200, "enough"}, []any{resp.StatusCode, got})
		more.Close()
		up := settled(t, s, mitm.Upstream, 1)
		assert.Equal(t, []any{int64(5), ""}, []any{up[0].BodyBytesUp, up[0].Err})
	})
}

// A slow origin slows its client: what is between is bounded.
func TestBackpressure(t *testing.T) {
	setting{
		origin: origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			io.Copy(io.Discard, r.Body)
		}), StreamWindow: 100_000, ConnWindow: 100_000},
	}.inMemory(t, func(t *testing.T, s *stage) {
		const size = 4_000_000
		var sent, before atomic.Int64
		body := readerFunc(func(p []byte) (int, error) {
			n := min(int64(len(p)), size-sent.Load())
			if n == 0 {
				return 0, io.EOF
			}
			sent.Add(n)
			return int(n), nil
		})
		time.AfterFunc(30*time.Second, func() { before.Store(sent.Load()) })
		resp, _ := s.do(t, t.Context(), "POST", "/", body)
		assert.Equal(t, []any{200, int64(size)}, []any{resp.StatusCode, sent.Load()})
		if n := before.Load(); n == 0 || n > size/2 {
			t.Errorf("%d bytes were taken while the origin read none", n)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
