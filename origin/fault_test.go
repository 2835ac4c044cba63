package origin_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// ask says how a request ended for net/http's client.
func ask(client *http.Client, req *http.Request) string {
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return resp.Status + " " + string(body)
}

// What net/http's client makes of each fault: three requests, one after the
// other, of which the second meets it. A GET that was refused is sent again by
// the client itself, over HTTP/1.1 also one whose connection closed before an
// answer, because it had been used before.
func TestWhatNetHTTPMakesOfFaults(t *testing.T) {
	type outcome struct {
		told           string // of the second request; "" is 200 OK hello
		arrived, conns int
	}
	ok := outcome{arrived: 4, conns: 2}
	for name, c := range map[string]struct {
		do     origin.Action
		h2, h1 outcome
	}{
		"GoAway":       {origin.GoAway, ok, ok},
		"GoAwayWith":   {origin.GoAwayWith(http2.ErrCodeEnhanceYourCalm, "too_many_pings"), ok, ok},
		"LastOne":      {origin.LastOne, outcome{"", 3, 2}, outcome{"", 3, 2}},
		"Refuse":       {origin.Refuse, outcome{"", 4, 1}, ok},
		"Reset":        {origin.Reset, outcome{"stream error: stream ID 3; INTERNAL_ERROR; received from peer", 3, 1}, outcome{"", 4, 2}},
		"ResetWith":    {origin.ResetWith(http2.ErrCodeEnhanceYourCalm), outcome{"stream error: stream ID 3; ENHANCE_YOUR_CALM; received from peer", 3, 1}, ok},
		"HTTP11":       {origin.ResetWith(http2.ErrCodeHTTP11Required), outcome{"stream error: stream ID 3; HTTP_1_1_REQUIRED; received from peer", 3, 1}, ok},
		"Hang":         {origin.Hang, outcome{"context deadline exceeded", 3, 1}, outcome{"context deadline exceeded", 3, 2}},
		"SettingsLess": {origin.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}), outcome{"", 3, 1}, outcome{"", 3, 1}},
		"CloseBehind":  {origin.CloseBehind, outcome{"", 3, 2}, outcome{"", 3, 2}},
		"ResetAfter":   {origin.ResetAfter(3, http2.ErrCodeCancel), outcome{"stream error: stream ID 3; CANCEL; received from peer", 3, 1}, outcome{"connection reset by peer", 3, 2}},
		"CloseAfter":   {origin.CloseAfter(3), outcome{"EOF", 3, 2}, outcome{"unexpected EOF", 3, 2}},
		"AbortAfter":   {origin.AbortAfter(3), outcome{"connection reset by peer", 3, 2}, outcome{"connection reset by peer", 3, 2}},
		"Pings":        {origin.Pings(1000), outcome{"", 3, 1}, outcome{"", 3, 1}},
	} {
		for proto, want := range map[string]outcome{alpn.H2: c.h2, alpn.HTTP11: c.h1} {
			synctest.Test(t, func(t *testing.T) {
				network := linkdelay.NewNetwork(t, linkdelay.Link{})
				s := origin.New(t, &origin.Config{
					Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: hello,
					Faults: []origin.Fault{{Request: 2, Do: c.do}},
				})
				client := &http.Client{Transport: s.Transport(network.Host("pc.test")), Timeout: time.Minute}
				for i := range 3 {
					told := ask(client, must(http.NewRequest("GET", fmt.Sprintf("%s/%d", s.URL, i), nil)))
					if i == 1 && want.told != "" {
						assert.Contains(t, told, want.told, "%s over %s", name, proto)
					} else {
						assert.Equal(t, "200 OK hello", told, "%s over %s, request %d", name, proto, i+1)
					}
					synctest.Wait() // or the next request may go where the client has not seen the end yet
				}
				assert.Len(t, s.Log().Requests(), want.arrived, "%s over %s: requests that arrived", name, proto)
				netlog.RequireConnections(t, s.Log(), want.conns, proto, netlog.Used())
			})
		}
	}
}

// The client waits for 100 as long as its transport says, and then sends the
// body without.
func TestNoContinue(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Faults: []origin.Fault{{Request: 2, Do: origin.NoContinue}},
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }),
			})
			tr := s.Transport(network.Host("pc.test"))
			tr.ExpectContinueTimeout = 3 * time.Second
			client := &http.Client{Transport: tr}
			for i, want := range []time.Duration{0, 3 * time.Second} {
				req := must(http.NewRequest("POST", s.URL, strings.NewReader("body")))
				req.Header.Set("Expect", "100-continue")
				start := time.Now()
				assert.Equal(t, "200 OK body", ask(client, req), proto)
				assert.Equal(t, want, time.Since(start), "request %d over %s", i+1, proto)
			}
		})
	}
}

// A POST may have had its effect: what was refused is sent again, what broke is
// not.
func TestWhatNetHTTPSendsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		do   origin.Action
		told string
	}{
		"GoAway": {origin.GoAway, "200 OK hello"},
		"Refuse": {origin.Refuse, "200 OK hello"},
		"Reset":  {origin.Reset, "INTERNAL_ERROR"},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Handler: hello,
				Faults: []origin.Fault{{Request: 2, Do: c.do}},
			})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			get(t, client, s.URL)
			told := ask(client, must(http.NewRequest("POST", s.URL, strings.NewReader("order"))))
			assert.Contains(t, told, c.told, name)
		})
	}
}

// A budget of three: the fourth on each connection is one too many.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Handler: origin.Calm(3, hello)})
		client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
		for range 10 {
			get(t, client, s.URL)
		}
		netlog.RequireConnections(t, s.Log(), 4, alpn.H2, netlog.Used())
		assert.Len(t, s.Log().Requests(netlog.Status(200)), 10)
		assert.Contains(t, s.Log().Connections()[0].GoAway, "ENHANCE_YOUR_CALM")
	})
}

// Ten at once, whose handlers begin in any order: of each connection no more than
// four are served, of the first just four, and what is served is served once.
func TestCalmInAnyOrder(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			s := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Plain: true, ALPN: alpn.Only(alpn.H2), Handler: origin.Calm(4, hello)})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			get(t, client, s.URL)
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					assert.Equal(t, "200 OK hello", ask(client, must(http.NewRequest("GET", fmt.Sprintf("%s/%d", s.URL, i), nil))))
				})
			}
			all.Wait()
			served := make(map[int64]int)
			for _, q := range s.Log().Requests(netlog.Status(200)) {
				served[q.Connection.ID]++
			}
			assert.Equal(t, 4, served[1])
			sum := 0
			for id, n := range served {
				sum += n
				assert.LessOrEqual(t, n, 4, "connection %d", id)
			}
			assert.Equal(t, 11, sum)
		})
	}
}

// Close with everything in flight that a fault can leave.
func TestCloseEndsFaults(t *testing.T) {
	leavesNothing(t)
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		s, err := origin.Start(&origin.Config{
			ALPN: alpn.Only(proto), Handler: origin.Body{Size: 10, Stall: origin.At(4)},
			Faults: []origin.Fault{{Request: 1, Do: origin.Hang}, {Request: 2, Do: origin.Pings(1000)}},
		})
		require.NoError(t, err)
		queue, err := origin.Start(&origin.Config{ALPN: alpn.Only(proto), Handler: origin.Workers(1, time.Hour, hello)})
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { ask(s.Client(), must(http.NewRequest("GET", fmt.Sprintf("%s/%d", s.URL, i), nil))) })
			all.Go(func() { ask(queue.Client(), must(http.NewRequest("GET", fmt.Sprintf("%s/%d", queue.URL, i), nil))) })
		}
		for len(s.Log().Requests()) < 6 || len(queue.Log().Requests()) < 6 {
			<-time.After(time.Millisecond)
		}
		assert.NoError(t, s.Close())
		assert.NoError(t, queue.Close())
		all.Wait()
	}
}

func TestMistakenFaults(t *testing.T) {
	_, err := origin.Start(&origin.Config{Faults: []origin.Fault{{Do: origin.Hang}, {Request: 3}}})
	assert.EqualError(t, err, "origin: Config.Faults[1]: Do is nil: nothing would go wrong")
	_, err = origin.Start(&origin.Config{Faults: []origin.Fault{{Request: -2, Do: origin.Hang}}})
	assert.EqualError(t, err, "origin: Config.Faults[0]: Request: -2 is negative")
}
