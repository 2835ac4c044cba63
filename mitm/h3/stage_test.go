package h3_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// TestMain looks, when all tests are over, for goroutines that a proxy left.
func TestMain(m *testing.M) {
	code := m.Run()
	left := ""
	for range 1000 {
		if left = ownStacks(); left == "" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines that no Close has ended:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

func ownStacks() string {
	buffer := make([]byte, 16<<20)
	buffer = buffer[:runtime.Stack(buffer, true)]
	var own []string
	for stack := range strings.SplitSeq(string(buffer), "\n\n") {
		if strings.Contains(stack, "wiretest/mitm.") || strings.Contains(stack, "wiretest/mitm/h3.") || strings.Contains(stack, "netlog/h3.") || strings.Contains(stack, "quic-go.") {
			own = append(own, stack)
		}
	}
	return strings.Join(own, "\n\n")
}

// stage is a client, a reverse proxy and an origin, of which at least one leg
// speaks HTTP/3.
type stage struct {
	network  *linkdelay.Network
	down, up string // protocols of the legs
	site     *origin.Server
	proxy    *mitm.Proxy
	client   *http.Client
	url      string
}

// setting is what a test is about.
type setting struct {
	proxy  mitm.Config
	origin origin.Config
	link   linkdelay.Link
}

// setUp has the legs speak down and up.
func (s setting) setUp(t *testing.T, network *linkdelay.Network, down, up string) *stage {
	t.Helper()
	s.origin.Net = network.Host("origin.test")
	if up == alpn.H3 {
		s.origin.HTTP3 = new(origin.HTTP3)
		s.proxy.Upstream.HTTP3 = h3.Upstream(nil)
	} else {
		s.origin.ALPN = alpn.Only(up)
	}
	site := origin.New(t, &s.origin)
	s.proxy.Mode, s.proxy.Origin, s.proxy.Net = mitm.Reverse, site.URL, network.Host("proxy.test")
	if s.proxy.RootCAs == nil {
		s.proxy.RootCAs = site.CA().Pool()
	}
	if down == alpn.H3 {
		s.proxy.HTTP3 = h3.Downstream(nil)
	} else {
		s.proxy.Downstream.ALPN = alpn.Only(down)
	}
	proxy := mitm.New(t, &s.proxy)
	return &stage{network, down, up, site, proxy, clientOf(t, network, proxy, down), proxy.URL}
}

func clientOf(t *testing.T, network *linkdelay.Network, proxy *mitm.Proxy, proto string) *http.Client {
	if proto != alpn.H3 {
		return &http.Client{Transport: proxy.Transport(network.Host("pc.test"))}
	}
	tr := h3.Transport(proxy, network.Host("pc.test"))
	t.Cleanup(func() { tr.Close() })
	return &http.Client{Transport: tr}
}

// in runs body with these protocols of the legs, in both worlds.
func (s setting) in(t *testing.T, down, up string, body func(*testing.T, *stage)) {
	t.Helper()
	t.Run(strings.ReplaceAll(down+" to "+up, "/", ""), func(t *testing.T) {
		t.Run("memory", func(t *testing.T) {
			recording.Bubble(t, nil, func(t *testing.T) {
				body(t, s.setUp(t, linkdelay.NewNetwork(t, s.link), down, up))
			})
		})
		t.Run("loopback", func(t *testing.T) { body(t, s.setUp(t, linkdelay.NewLoopback(t, s.link), down, up)) })
	})
}

// eachPair runs body for every pair of which one is HTTP/3.
func eachPair(t *testing.T, cfg mitm.Config, serve http.HandlerFunc, body func(*testing.T, *stage)) {
	t.Helper()
	s := setting{proxy: cfg, origin: origin.Config{Handler: serve}}
	for _, pair := range [][2]string{{alpn.H3, alpn.HTTP11}, {alpn.H3, alpn.H2}, {alpn.H3, alpn.H3}, {alpn.H2, alpn.H3}, {alpn.HTTP11, alpn.H3}} {
		s.in(t, pair[0], pair[1], body)
	}
}

// eachStage runs body for clients of HTTP/3, and each protocol of the origin.
func eachStage(t *testing.T, cfg mitm.Config, serve http.HandlerFunc, body func(*testing.T, *stage)) {
	t.Helper()
	s := setting{proxy: cfg, origin: origin.Config{Handler: serve}}
	for _, up := range []string{alpn.HTTP11, alpn.H2, alpn.H3} {
		s.in(t, alpn.H3, up, body)
	}
}

func (s *stage) do(t *testing.T, ctx context.Context, method, path string, body io.Reader) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	require.NoError(t, err)
	resp, err := s.client.Do(req)
	require.NoError(t, err, "%s", s.proxy.Log())
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err, "%s", s.proxy.Log())
	return resp, string(got)
}
