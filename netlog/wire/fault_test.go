package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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

// ended waits until n requests have ended.
func (p *pair) ended(n int) {
	for {
		over := 0
		for _, q := range p.requests() {
			if !q.End.IsZero() {
				over++
			}
		}
		if over == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     wire.Action
		h1, h2 string // what the server records of the request
	}{
		{"goaway", wire.GoAway, "connection closed before the answer ended: closed by server", "refused by GOAWAY NO_ERROR last stream 2"},
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
