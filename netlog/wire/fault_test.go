package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// TestGoAwayLosesNothing is twenty requests by a pool, the fifth of which meets
// a GOAWAY that refuses or serves it.
func TestGoAwayLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		do      wire.Action
		arrived int
	}{
		"refused": {wire.GoAway, 21},
		"served":  {wire.LastOne, 20},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				p := &pair{t: t, world: w, spoken: spoken{"h2", "h2", true}}
				p.config.Faults = []wire.Fault{{Request: 5, Do: c.do}}
				p.start(hello)
				tr := p.transport()
				client := &http.Client{Transport: tr}
				for i := range 20 {
					resp, err := client.Get(p.url(fmt.Sprintf("/order/%d", i)))
					require.NoError(t, err)
					body, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					require.Equal(t, "hello", string(body))
					resp.Body.Close()
				}
				tr.CloseIdleConnections()
				netlog.RequireConnections(t, &p.serverLog, 2, "h2", netlog.Used())
				require.Len(t, p.serverLog.Requests(netlog.Status(200)), 20)
				require.Len(t, p.requests(), c.arrived)
			})
		})
	}
}

// transport is net/http's own client of the server.
func (p *pair) transport() *http.Transport {
	tr := &http.Transport{
		DialContext:       p.dialContext,
		TLSClientConfig:   p.clientTLS,
		ForceAttemptHTTP2: p.protocol == "h2",
	}
	p.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func (p *pair) dialContext(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }

// until waits for what the server records behind its client's back.
func (p *pair) until(what string, recorded func() bool) {
	p.t.Helper()
	for range 30_000 {
		if recorded() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	p.t.Fatalf("for half a minute the server has not recorded that %s:\n%v\n%v", what, &p.serverLog, p.requests())
}

// ended waits until n requests have ended.
func (p *pair) ended(n int) {
	p.t.Helper()
	p.until(fmt.Sprintf("%d requests have ended", n), func() bool {
		over := 0
		for _, q := range p.requests() {
			if !q.End.IsZero() {
				over++
			}
		}
		return over == n
	})
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     wire.Action
		h1, h2 string // what the server records of the request
	}{
		{"goaway", wire.GoAway, "connection closed before the answer ended: closed by server", "refused by GOAWAY NO_ERROR last stream 1"},
		{"last", wire.LastOne, "", ""},
		{"refuse", wire.Refuse, "connection closed before the answer ended: closed by server", "RST_STREAM REFUSED_STREAM sent by server"},
		{"reset", wire.Reset, "connection closed before the answer ended: reset by server", "RST_STREAM INTERNAL_ERROR sent by server"},
		{"with code", wire.ResetWith(0xd), "connection closed before the answer ended: closed by server", "RST_STREAM HTTP_1_1_REQUIRED sent by server"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			for _, s := range allSpoken {
				eachWorld(t, func(t *testing.T, w *world) {
					p := &pair{t: t, world: w, spoken: s}
					p.config.Faults = []wire.Fault{{Request: 2, Do: c.do}, {Request: 3, Do: wire.Hang}}
					p.start(hello)
					client := p.client()
					require.Equal(t, "hello", fetch(t, client, p.get("/1")))
					want := c.h1
					if p.protocol == "h2" {
						want = c.h2
					}
					resp, err := client.RoundTrip(p.get("/2"), nil)
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					require.Equal(t, want == "", err == nil, "%v", err)
					client.Close()
					p.ended(2)
					require.Equal(t, want, p.requests()[1].Err)
				})
			}
		})
	}
}

// TestFaultsInTheAnswer cuts a body of ten bytes behind the fourth.
func TestFaultsInTheAnswer(t *testing.T) {
	type outcome struct{ body, h1, h2 string }
	for _, c := range []struct {
		name string
		do   wire.Action
		want outcome
	}{
		{"reset", wire.ResetAfter(4, 0xb), outcome{"0123", "reset by server", "RST_STREAM ENHANCE_YOUR_CALM sent by server"}},
		{"close", wire.CloseAfter(4), outcome{"0123", "closed by server", "closed by server"}},
		{"close at once", wire.CloseAfter(0), outcome{"", "closed by server", "closed by server"}},
		{"abort", wire.AbortAfter(4), outcome{"0123", "reset by server", "reset by server"}},
		{"not reached", wire.CloseAfter(10), outcome{"0123456789", "", ""}},
		{"behind", wire.CloseBehind, outcome{"0123456789", "", ""}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			for _, s := range allSpoken {
				eachWorld(t, func(t *testing.T, w *world) {
					p := &pair{t: t, world: w, spoken: s}
					p.config.Faults = []wire.Fault{{Do: c.do, Match: func(r *http.Request) bool { return r.URL.Path == "/it" }}}
					p.start(func(w http.ResponseWriter, r *http.Request) {
						io.WriteString(w, "01")
						io.WriteString(w, "23456789")
					})
					client := p.client()
					require.Equal(t, "0123456789", fetch(t, client, p.get("/1")))
					lossy := c.name == "abort" || c.name == "reset" // may take with it what is under way
					var body []byte
					resp, err := client.RoundTrip(p.get("/it"), nil)
					require.True(t, err == nil || lossy, "%v", err)
					if err == nil {
						body, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					want := c.want.h1
					if p.protocol == "h2" {
						want = c.want.h2
					}
					require.Equal(t, want != "", err != nil, "%v", err)
					require.True(t, strings.HasPrefix(c.want.body, string(body)), "%q", body)
					if !lossy {
						require.Equal(t, c.want.body, string(body))
					}
					if c.name == "behind" {
						<-client.Closed()
						p.until("its connection has closed", func() bool { return !p.serverLog.Connections()[0].Closed.IsZero() })
						require.Equal(t, "closed by server", p.serverLog.Connections()[0].CloseReason)
					}
					client.Close()
					p.ended(2)
					require.Contains(t, p.requests()[1].Err, want)
				})
			}
		})
	}
}

// TestNoContinue has a client wait in vain for 100, and then send its body
// without it.
func TestNoContinue(t *testing.T) {
	for _, faulty := range []bool{false, true} {
		for _, s := range allSpoken {
			inMemory(t, func(t *testing.T, w *world) {
				p := &pair{t: t, world: w, spoken: s}
				if faulty {
					p.config.Faults = []wire.Fault{{Do: wire.NoContinue}}
				}
				p.start(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
				client := p.client()
				for range 2 {
					req, err := http.NewRequest("POST", p.url("/"), strings.NewReader("body"))
					require.NoError(t, err)
					req.Header.Set("Expect", "100-continue")
					continued := 0
					req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{Got100Continue: func() { continued++ }}))
					begin := time.Now()
					require.Equal(t, "body", fetch(t, client, req))
					want := time.Duration(0)
					if faulty {
						want = time.Second
					}
					require.Equal(t, want, time.Since(begin).Round(time.Millisecond))
					require.Equal(t, faulty, continued == 0)
				}
			})
		}
	}
}

// TestFaultsAreCounted wants each on its request, and those that match in their
// own order.
func TestFaultsAreCounted(t *testing.T) {
	say := func(word string) wire.Action {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			io.WriteString(w, word+" ")
			next.ServeHTTP(w, r)
		}
	}
	img := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/img") }
	eachProtocol(t, func(t *testing.T, p *pair) {
		p.config.Faults = []wire.Fault{
			{Request: 2, Do: say("second")},
			{Request: 2, Match: img, Do: say("second image")},
			{Match: img, Do: say("image")},
			{Request: 5, Do: say("fifth")},
		}
		p.start(hello)
		a, b := p.client(), p.client()
		for i, c := range []struct {
			conn       *wire.ClientConn
			path, want string
		}{
			{a, "/", "hello"},
			{b, "/img1", "second image hello"},
			{a, "/", "hello"},
			{b, "/img2", "second image image hello"},
			{a, "/", "fifth hello"},
		} {
			require.Equal(t, c.want, fetch(t, c.conn, p.get(c.path)), "request %d", i+1)
		}
	})
}
