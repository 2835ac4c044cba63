package hotspot

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// The first way out: an origin that serves no HTTP/3. Who has never heard of any
// goes by TCP; who remembers it tries, fails, and falls back, once.
func TestFixWithoutHTTP3(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		s := arrive(t, linkdelay.NewNetwork(t, lossy(linkdelay.RTT(rtt), 1)), nil)
		s.visit("/small").wentByTCP(t)
		s.visit("/large").wentByTCP(t)
	})
	h3.Bubble(t, nil, func(t *testing.T) {
		s := arrive(t, linkdelay.NewNetwork(t, lossy(linkdelay.RTT(rtt), 1)), &origin.HTTP3{Dead: true})
		s.visit("/small") // the answer still says h3, as one from a cache might
		require.NoError(t, s.site.SetAltSvc(origin.AltSvc{Absent: true}))
		s.visit("/large").fellBack(t, 5*time.Second)
		again := s.visit("/large")
		assert.Zero(t, again.quic, "attempts while it is known to be broken")
		near(t, 3*rtt, again.took, "by TCP at once")
	})
}

// The second: Alt-Svc: clear. The headers of an answer pass where its body does
// not, and they say it: this request is stuck for the last time.
func TestFixClear(t *testing.T) {
	on(t, linkdelay.RTT(rtt), func(s *scene) {
		require.NoError(t, s.site.SetAltSvc(origin.AltSvc{Clear: true}))
		s.setLink(lossy(linkdelay.RTT(rtt), 1))
		s.visit("/large").isStuck(t)
		s.visit("/large").wentByTCP(t)
		assert.Empty(t, s.browser.Alternatives.Services())
	})
}

// The third: a proxy in the path takes Alt-Svc out, and the browser never learns
// that there is something to be stuck on.
func TestFixProxyThatStrips(t *testing.T) {
	for _, strip := range []bool{false, true} {
		h3.Bubble(t, nil, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			network.SetLink("phone.test", "site.test", lossy(linkdelay.RTT(rtt), 1))
			s := arrive(t, network, &origin.HTTP3{})
			gateway := mitm.New(t, &mitm.Config{
				Net: network.Host("gateway.test"), RootCAs: s.site.CA().Pool(), StripAltSvc: strip,
				Mode: mitm.Reverse, Origin: s.site.URL,
			})
			// The hotspot leads all of TCP to the gateway.
			tr := s.site.Transport(network.Host("phone.test"))
			tr.TLSClientConfig.RootCAs = gateway.CA().Pool()
			tr.DialContext = func(ctx context.Context, tcp, _ string) (net.Conn, error) {
				return network.Host("phone.test").DialContext(ctx, tcp, strings.TrimPrefix(gateway.URL, "https://"))
			}
			s.browser.Transport = tr

			assert.Equal(t, alpn.H2, s.visit("/small").protocol)
			is := s.visit("/large")
			if !strip {
				is.isStuck(t)
				return
			}
			assert.Equal(t, alpn.H2, is.protocol)
			assert.Equal(t, "whole", is.end)
			assert.Zero(t, is.quic)
			assert.Len(t, gateway.Log().Notes(mitm.AltSvcNote), 2)
		})
	}
}

// Server-sent events over HTTP/3 stay open for an hour, on the path that loses
// what is large: each is small. Only a pause longer than the idle timeout, with
// no keep-alive, ends such a stream.
func TestEventsOverHTTP3(t *testing.T) {
	h3.Bubble(t, nil, func(t *testing.T) {
		s := arrive(t, linkdelay.NewNetwork(t, lossy(linkdelay.RTT(rtt), 1)), &origin.HTTP3{})
		client := &http.Client{Transport: s.site.HTTP3Transport(s.network.Host("phone.test"))}
		start := time.Now()
		resp, err := client.Get(s.site.URL + "/events")
		require.NoError(t, err)
		defer resp.Body.Close()
		events := bufio.NewScanner(resp.Body)
		for n := range 360 {
			for events.Scan() && events.Text() != "" {
			}
			require.NoError(t, events.Err())
			near(t, 2*rtt+time.Duration(n)*10*time.Second, time.Since(start), "an event every ten seconds")
		}
		netlog.RequireConnections(t, s.site.Log(), 1, alpn.H3)
		assert.Equal(t, 1, s.site.Log().Connections()[0].Requests)
		assert.True(t, s.site.Log().Requests()[0].End.IsZero(), "the stream is still open")
	})
}
