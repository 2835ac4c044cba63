package mitm_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/mitm/h3"
	"example.com/wiretest/netlog"
	recording "example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// TestMain looks, when all tests are over, for goroutines that a proxy left.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftovers(); left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines that no Close has ended:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leftovers are the stacks of goroutines that run code of the proxy, after
// they had time to end.
func leftovers() (left string) {
	for range 1000 {
		if left = ownStacks(); left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

func ownStacks() string {
	var own []string
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if strings.Contains(stack, "wiretest/mitm.") || strings.Contains(stack, "netlog/wire.") {
			own = append(own, stack)
		}
	}
	return strings.Join(own, "\n\n")
}

// stacks are those of all goroutines.
func stacks() string {
	all := make([]byte, 64<<20)
	return string(all[:runtime.Stack(all, true)])
}

// stage is an origin, a proxy and a client on three hosts of one network.
type stage struct {
	network  *linkdelay.Network
	site     *origin.Server
	proxy    *mitm.Proxy
	tr       *http.Transport
	client   *http.Client
	down, up string // protocols of the legs
	stalled  io.Reader
}

type setting struct {
	down, up string
	link     linkdelay.Link
	origin   origin.Config
	proxy    mitm.Config
}

func setUp(t *testing.T, network *linkdelay.Network, s setting) *stage {
	t.Helper()
	s.origin.Net = network.Host("origin.test")
	switch s.up {
	case "":
	case alpn.H3:
		if s.origin.HTTP3 == nil {
			s.origin.HTTP3 = &origin.HTTP3{AltSvc: origin.AltSvc{Absent: true}}
		}
		s.proxy.Upstream.HTTP3 = h3.Upstream(nil)
	default:
		s.origin.ALPN = alpn.Only(s.up)
	}
	site := origin.New(t, &s.origin)
	if s.proxy.Net == nil {
		s.proxy.Net = network.Host("proxy.test")
	}
	if s.proxy.RootCAs == nil {
		s.proxy.RootCAs = site.CA().Pool()
	}
	if s.down != "" {
		s.proxy.Downstream.ALPN = alpn.Only(s.down)
	}
	proxy := mitm.New(t, &s.proxy)
	tr := proxy.Transport(network.Host("pc.test"))
	return &stage{network, site, proxy, tr, &http.Client{Transport: tr}, s.down, s.up, nil}
}

// eachPair runs body for every pair of protocols of the legs, in both worlds; with
// an origin of HTTP/3 in memory alone, as package mitm/h3 has sockets.
func eachPair(t *testing.T, s setting, body func(*testing.T, *stage)) {
	t.Helper()
	eachPairOverTCP(t, s, body)
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(pairName(down, alpn.H3), func(t *testing.T) {
			s := s
			s.down, s.up = down, alpn.H3
			recording.Bubble(t, nil, func(t *testing.T) { body(t, setUp(t, linkdelay.NewNetwork(t, s.link), s)) })
		})
	}
}

func eachPairOverTCP(t *testing.T, s setting, body func(*testing.T, *stage)) {
	t.Helper()
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(pairName(down, up), func(t *testing.T) {
				s := s
				s.down, s.up = down, up
				inWorldsOf(t, down, up, s.link, func(t *testing.T, network *linkdelay.Network) { body(t, setUp(t, network, s)) })
			})
		}
	}
}

// inWorldsOf is linkdelay.EachWorld for a pair. The race detector sees what is mixed
// on sockets alone: in memory it is the same code as on sockets, and the legs by
// themselves as in the pairs that are not.
func inWorldsOf(t *testing.T, down, up string, link linkdelay.Link, body func(*testing.T, *linkdelay.Network)) {
	t.Helper()
	if raceDetector && down != up {
		t.Run("loopback", func(t *testing.T) { body(t, linkdelay.NewLoopback(t, link)) })
		return
	}
	linkdelay.EachWorld(t, link, body)
}

func pairName(down, up string) string { return strings.ReplaceAll(down+" to "+up, "/", "") }

// inVirtualTime reports which of linkdelay.EachWorld's two worlds the test is in.
func inVirtualTime(t *testing.T) bool { return strings.HasSuffix(t.Name(), "/memory") }

// requireInTurn wants requests that came one after the other to have shared a
// connection. On sockets net/http gives up one of http/1.1 whose answer is there for
// 50 ms before it learns that the request was written, as it may be on a machine that is
// busy: there each but the last may have been closed by who asks.
func requireInTurn(t *testing.T, log *netlog.Log, proto string, filters ...netlog.Filter) {
	t.Helper()
	if proto != alpn.HTTP11 || inVirtualTime(t) {
		netlog.RequireConnections(t, log, 1, proto, filters...)
		return
	}
	all := log.Connections(filters...)
	netlog.RequireConnections(t, log, max(1, len(all)), proto, filters...)
	for i := range all[1:] {
		synctestSettle(t, func() bool { return log.Connections(filters...)[i].CloseReason != "" })
		assert.Equal(t, "closed by client", log.Connections(filters...)[i].CloseReason, "\n%v", log)
	}
}

// givenUp reports whether net/http has given up the connection of the first of two
// requests: see requireInTurn. What is about their sharing one is then to be skipped.
func givenUp(t *testing.T, asked netlog.Requests, proto string) bool {
	return proto == alpn.HTTP11 && !inVirtualTime(t) && asked[0].Connection.ID != asked[1].Connection.ID
}

const tooBusy = "the machine was too busy: net/http gave up a connection, as it does 50 ms after an answer to what it has not heard to be written"

// requireOpen wants a leg to have n connections open now, and in virtual time, where
// net/http gives none up, to have had no others.
func requireOpen(t *testing.T, log *netlog.Log, n int, proto string, leg netlog.Leg) {
	t.Helper()
	synctestSettle(t, func() bool {
		now := time.Now()
		return len(log.Connections(leg, netlog.Between(now, now))) == n
	})
	if inVirtualTime(t) {
		netlog.RequireConnections(t, log, n, proto, leg)
	}
}

func eachWorld(t *testing.T, s setting, body func(*testing.T, *stage)) {
	t.Helper()
	linkdelay.EachWorld(t, s.link, func(t *testing.T, network *linkdelay.Network) {
		body(t, setUp(t, network, s))
	})
}

func (s *stage) request(t *testing.T, method, path string, body io.Reader, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.site.URL+path, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return req
}

func (s *stage) do(t *testing.T, req *http.Request) *http.Response {
	t.Helper()
	resp, err := s.client.Do(req)
	require.NoError(t, err, "ledger of the proxy:\n%s", s.proxy.Log())
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s *stage) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	resp := s.do(t, s.request(t, http.MethodGet, path, nil))
	return resp, text(t, resp)
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

type handler = http.HandlerFunc

var hello = handler(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

func replaceAddr(s, addr string) string { return strings.ReplaceAll(s, "ADDR", addr) }

// replaceHost keeps the port.
func replaceHost(url, host string) string {
	return url[:len("https://")] + host + url[strings.LastIndexByte(url, ':'):]
}

// short leaves out what a network adds to its "no such host".
func short(reason string) string {
	return regexp.MustCompile(`no such host[^\n]*`).ReplaceAllString(reason, "no such host")
}
