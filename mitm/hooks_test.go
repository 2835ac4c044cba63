package mitm_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// hooked is a proxy with hooks, before an origin that answers what it was asked.
func hooked(h mitm.Hooks) setting {
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Asked", r.Method+" "+r.URL.RequestURI()+" of "+r.Host+r.Header.Get("X-Hook"))
		w.Write(body)
	})
	s.proxy.Hooks = h
	return s
}

func TestHooksThatDoNothingChangeNothing(t *testing.T) {
	s := hooked(mitm.Hooks{
		Request:  func(*http.Request) (*http.Response, error) { return nil, nil },
		Response: func(*http.Response) error { return nil },
		Tunnel:   func(*mitm.Tunnel) error { return nil },
	})
	eachPair(t, s, func(t *testing.T, s *stage) {
		for _, path := range []string{"/", "/a%2Fb?c", "/?", "//a/b"} {
			resp := s.do(t, s.request(t, "POST", path, strings.NewReader("body")))
			assert.Equal(t, "POST "+path+" of "+s.site.Addr, resp.Header.Get("X-Asked"))
			assert.Equal(t, "body", text(t, resp))
		}
	})
}

func TestRequestHookChanges(t *testing.T) {
	eachPair(t, hooked(mitm.Hooks{Request: func(r *http.Request) (*http.Response, error) {
		r.Method, r.URL.Path, r.Host = "PUT", "/changed", "other.test"
		r.Header.Set("X-Hook", ", was here")
		body, err := mitm.RequestBody(r)
		r.Body = io.NopCloser(bytes.NewReader(bytes.ToUpper(body)))
		return nil, err
	}}), func(t *testing.T, s *stage) {
		resp := s.do(t, s.request(t, "POST", "/?q", strings.NewReader("body")))
		assert.Equal(t, "PUT /changed?q of other.test, was here", resp.Header.Get("X-Asked"))
		assert.Equal(t, "BODY", text(t, resp))
	})
}

func TestRequestHookAnswers(t *testing.T) {
	eachPair(t, hooked(mitm.Hooks{Request: func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 418, Header: http.Header{"X-By": {"hook"}}, Body: io.NopCloser(strings.NewReader("short and stout"))}, nil
	}}), func(t *testing.T, s *stage) {
		resp, body := s.get(t, "/")
		assert.Equal(t, []any{418, "hook", "short and stout"}, []any{resp.StatusCode, resp.Header.Get("X-By"), body})
		assert.Empty(t, s.proxy.Log().Connections(mitm.Upstream))
	})
}

func TestRequestHookLeadsElsewhere(t *testing.T) {
	eachWorld(t, hooked(mitm.Hooks{Request: func(r *http.Request) (*http.Response, error) {
		r.URL.Host, r.Host = r.Header.Get("X-To"), "as-before.test"
		return nil, nil
	}}), func(t *testing.T, s *stage) {
		elsewhere := origin.New(t, &origin.Config{Net: s.network.Host("elsewhere.test"), CA: s.site.CA(), Handler: hello})
		resp := s.do(t, s.request(t, "GET", "/", nil, "X-To", elsewhere.Addr))
		assert.Equal(t, "hello", text(t, resp))
		assert.Equal(t, elsewhere.Addr, s.proxy.Log().Connections(mitm.Upstream)[0].Host)
	})
}

func TestHooksFail(t *testing.T) {
	fails := errors.New("not today")
	for want, h := range map[string]mitm.Hooks{
		"mitm: request hook: not today\n":  {Request: func(*http.Request) (*http.Response, error) { return nil, fails }},
		"mitm: response hook: not today\n": {Response: func(*http.Response) error { return fails }},
	} {
		eachPair(t, hooked(h), func(t *testing.T, s *stage) {
			for range 2 {
				resp, body := s.get(t, "/")
				assert.Equal(t, []any{502, want}, []any{resp.StatusCode, body})
			}
		})
	}
}

func TestHooksBreakOff(t *testing.T) {
	for _, h := range []mitm.Hooks{
		{Request: func(*http.Request) (*http.Response, error) { return nil, http.ErrAbortHandler }},
		{Response: func(*http.Response) error { return http.ErrAbortHandler }},
	} {
		eachPair(t, hooked(h), func(t *testing.T, s *stage) {
			_, err := s.tr.RoundTrip(s.request(t, "POST", "/", nil))
			assert.Error(t, err)
		})
	}
}

func TestHooksDelay(t *testing.T) {
	s := hooked(mitm.Hooks{
		Request:  func(*http.Request) (*http.Response, error) { time.Sleep(30 * time.Millisecond); return nil, nil },
		Response: func(*http.Response) error { time.Sleep(50 * time.Millisecond); return nil },
	})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		start := time.Now()
		s.get(t, "/")
		assert.GreaterOrEqual(t, time.Since(start), 80*time.Millisecond)
	})
}

func TestResponseHookChanges(t *testing.T) {
	eachPair(t, hooked(mitm.Hooks{Response: func(resp *http.Response) error {
		body, err := mitm.ResponseBody(resp)
		resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(body), strings.NewReader(" and more"))), int64(len(body))+9
		resp.StatusCode = 203
		resp.Header.Set("X-Seen", resp.Request.Method+" "+resp.Request.URL.Path)
		return err
	}}), func(t *testing.T, s *stage) {
		resp := s.do(t, s.request(t, "POST", "/path", strings.NewReader("body")))
		assert.Equal(t, []any{203, "POST /path", int64(13)}, []any{resp.StatusCode, resp.Header.Get("X-Seen"), resp.ContentLength})
		assert.Equal(t, "body and more", text(t, resp))
	})
}

// A hook that looks at heads alone holds up no body.
func TestBodiesStreamPastHooks(t *testing.T) {
	s := hooked(mitm.Hooks{
		Request:  func(r *http.Request) (*http.Response, error) { r.Header.Set("X-Hook", "head"); return nil, nil },
		Response: func(resp *http.Response) error { resp.Header.Set("X-Hook", "head"); return nil },
	})
	s.origin.Handler = handler(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		io.CopyN(w, r.Body, 3)
		http.NewResponseController(w).Flush()
		io.Copy(w, r.Body)
	})
	eachPair(t, s.fullDuplex(), func(t *testing.T, s *stage) {
		r, w := io.Pipe()
		resp := s.do(t, s.request(t, "POST", "/", r))
		io.WriteString(w, "one")
		first := make([]byte, 3)
		_, err := io.ReadFull(resp.Body, first)
		require.NoError(t, err)
		io.WriteString(w, "two")
		w.Close()
		assert.Equal(t, "onetwo", string(first)+text(t, resp))
	})
}

func TestTunnelHookRefuses(t *testing.T) {
	s := hooked(mitm.Hooks{Tunnel: func(tunnel *mitm.Tunnel) error { return errors.New("not to " + tunnel.Host) }})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		_, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", s.site.Addr)
		assert.EqualError(t, err, "mitm: CONNECT "+s.site.Addr+": 403 Forbidden: mitm: tunnel hook: not to "+s.site.Addr)
	})
}

// RFC 1928, section 6, tells a refusal from a failure.
func TestTunnelHookRefusesBySOCKS(t *testing.T) {
	s := hooked(mitm.Hooks{Tunnel: func(*mitm.Tunnel) error { return errors.New("not today") }})
	s.proxy.Mode = mitm.SOCKS5
	eachWorld(t, s, func(t *testing.T, s *stage) {
		_, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", s.site.Addr)
		assert.EqualError(t, err, "mitm: SOCKS5 "+s.site.Addr+": reply 2: connection not allowed by ruleset")
		assert.Equal(t, "SOCKS5: tunnel hook: not today", s.proxy.Log().Connections(mitm.Downstream)[0].CloseReason)
	})
}

func TestTunnelHookLetsPass(t *testing.T) {
	s := hooked(mitm.Hooks{Tunnel: func(tunnel *mitm.Tunnel) error { tunnel.Passthrough = true; return nil }})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.tr.TLSClientConfig.RootCAs = s.site.CA().Pool()
		s.get(t, "/")
		assert.True(t, s.proxy.Log().Connections(mitm.Downstream)[0].Tunnel)
	})
}

func TestTLSFailures(t *testing.T) {
	var failures chan mitm.TLSFailure
	for _, c := range []struct {
		name  string
		cause mitm.TLSCause
		leg   netlog.Leg
		set   func(*setting)
		do    func(*testing.T, *stage)
	}{
		{"client does not trust", mitm.CertificateRefused, mitm.Downstream, nil, func(t *testing.T, s *stage) {
			s.tr.TLSClientConfig.RootCAs = s.site.CA().Pool()
			_, err := s.tr.RoundTrip(s.request(t, "GET", "/", nil))
			assert.Error(t, err)
		}},
		{"client offers nothing we speak", mitm.NoCommonProtocol, mitm.Downstream, func(s *setting) { s.down = alpn.H2 }, func(t *testing.T, s *stage) {
			s.tr.TLSClientConfig.NextProtos, s.tr.ForceAttemptHTTP2 = []string{alpn.HTTP11}, false
			_, err := s.tr.RoundTrip(s.request(t, "GET", "/", nil))
			assert.Error(t, err)
		}},
		{"client leaves", mitm.ClosedAfterHandshake, mitm.Downstream, nil, func(t *testing.T, s *stage) {
			conn := s.secured(t)
			require.NoError(t, conn.Close())
		}},
		{"origin is not trusted", mitm.CertificateRefused, mitm.Upstream, func(s *setting) { s.proxy.RootCAs = mitmPool() }, func(t *testing.T, s *stage) { s.get(t, "/") }},
		{"origin speaks nothing we offer", mitm.NoCommonProtocol, mitm.Upstream, func(s *setting) {
			s.up, s.proxy.Upstream.ALPN = alpn.H2, alpn.Only(alpn.HTTP11)
		}, func(t *testing.T, s *stage) { s.get(t, "/") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := hooked(mitm.Hooks{TLSFailure: func(f mitm.TLSFailure) { failures <- f }})
			if c.set != nil {
				c.set(&s)
			}
			eachWorld(t, s, func(t *testing.T, s *stage) {
				failures = make(chan mitm.TLSFailure, 8)
				c.do(t, s)
				f := <-failures
				assert.Equal(t, []any{c.cause, c.leg, s.site.Addr}, []any{f.Cause, f.Leg, f.Connection.Host}, "%v", f.Err)
				assert.Equal(t, c.cause == mitm.ClosedAfterHandshake, f.Err == nil)
			})
		})
	}
}
