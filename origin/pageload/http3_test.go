package pageload_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

const rtt = 100 * time.Millisecond

// visitor is a browser on phone.test that remembers alternatives.
type visitor struct {
	t       *testing.T
	network *linkdelay.Network
	site    *origin.Server
	cfg     pageload.Config
}

// visit is run in a bubble, with an origin at RTT 100 ms that serves HTTP/3.
func visit(t *testing.T, cfg *origin.Config, body func(*visitor)) {
	t.Helper()
	h3.Bubble(t, nil, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
		cfg.Net = network.Host("origin.test")
		site := origin.New(t, cfg)
		tr := site.HTTP3Transport(network.Host("phone.test"))
		tr.QUICConfig = &quic.Config{} // a browser lets an idle connection end
		body(&visitor{t: t, network: network, site: site, cfg: pageload.Config{
			Transport:    site.Transport(network.Host("phone.test")),
			HTTP3:        h3.Browser(tr),
			Alternatives: new(pageload.Alternatives),
		}})
	})
}

func (v *visitor) page() *pageload.Result {
	v.t.Helper()
	page, err := v.load(pageload.Config{URL: v.site.URL})
	require.NoError(v.t, err)
	return page
}

func (v *visitor) load(what pageload.Config) (*pageload.Result, error) {
	cfg := v.cfg
	cfg.URL, cfg.URLs = what.URL, what.URLs
	return pageload.Load(v.t.Context(), &cfg)
}

// decisions are the notes of a load, without the reasons' details.
func decisions(log *netlog.Log) (all []string) {
	for _, n := range log.Notes(pageload.AlternativeNote) {
		all = append(all, fmt.Sprintf("%v: %v", n.Params["decision"], n.Params["reason"]))
	}
	return all
}

func small() *origin.Page { return &origin.Page{Images: 10} }

// TCP first, as nothing is known; what the document names goes by HTTP/3, since
// the document said that there is one; the next visit begins with it.
func TestAltSvcIsFollowedAndRemembered(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{}}, func(v *visitor) {
		first := v.page()
		netlog.RequireConnections(t, first.Log, 1, alpn.H2, netlog.Protocol(alpn.H2))
		netlog.RequireConnections(t, first.Log, 1, alpn.H3, netlog.Protocol(alpn.H3))
		assert.Len(t, first.Log.Requests(netlog.Protocol(alpn.H2)), 1)
		assert.Len(t, first.Log.Requests(netlog.Protocol(alpn.H3)), 10)
		assert.Equal(t, []string{
			"remembered: Alt-Svc, for 720h0m0s", "tried: it is advertised, and not known to be broken", "connected: the handshake succeeded",
		}, decisions(first.Log))
		assert.InDelta(t, 5*rtt.Seconds(), first.Duration.Seconds(), 0.002, "TCP, TLS, document, QUIC, images")

		second := v.page()
		netlog.RequireConnections(t, second.Log, 1, alpn.H3)
		assert.InDelta(t, 3*rtt.Seconds(), second.Duration.Seconds(), 0.002, "QUIC, document, images")
		known := v.cfg.Alternatives.Services()
		require.Len(t, known, 1)
		assert.Equal(t, v.site.Addr, known[0].Host)
		assert.Equal(t, v.site.Addr, known[0].Alternative)
		assert.Equal(t, 21, known[0].Requests)
		assert.False(t, known[0].Broken)
		c := second.Log.Connections()[0]
		assert.Equal(t, "Alt-Svc", c.OpenReason)
		assert.Equal(t, "origin.test", c.ServerName)
		assert.Equal(t, "closed by client: H3_NO_ERROR (0x100)", c.CloseReason)
	})
}

func TestNoHTTP3WithoutATransportForIt(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{}}, func(v *visitor) {
		v.cfg.HTTP3 = nil
		page := v.page()
		netlog.RequireConnections(t, page.Log, 1, alpn.H2)
		assert.Empty(t, decisions(page.Log))
	})
}

// Nothing answers on UDP: one attempt, then everything by TCP; and no further
// attempt for five minutes, then for ten.
func TestBrokenAlternative(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{Dead: true}}, func(v *visitor) {
		first := v.page()
		attempts := func(log *netlog.Log) int {
			n := 0
			for _, c := range log.Connections() {
				if c.Network == "udp" {
					n++
					assert.Equal(t, "QUIC handshake: idle timeout: nothing came from the server", c.CloseReason)
				}
			}
			return n
		}
		assert.Equal(t, 1, attempts(first.Log))
		assert.Len(t, first.Log.Requests(netlog.Protocol(alpn.H2), netlog.Status(200)), 11)
		assert.InDelta(t, (4*rtt + 5*time.Second).Seconds(), first.Duration.Seconds(), 0.002, "5 s is quic-go's patience with a handshake")
		told := decisions(first.Log)
		require.Len(t, told, 3)
		assert.Contains(t, told[2], "broken: for 5m0s: ")
		assert.True(t, v.cfg.Alternatives.Services()[0].Broken)
		found := first.Log.Findings()
		require.Len(t, found, 1)
		assert.Equal(t, netlog.FoundBrokenQUIC, found[0].Kind)
		assert.Equal(t, "QUIC broken, fell back to h2", found[0].Text)

		second := v.page()
		assert.Empty(t, second.Log.Findings())
		assert.Zero(t, attempts(second.Log))
		assert.Contains(t, decisions(second.Log)[0], "passed over: broken for ")

		for _, period := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
			time.Sleep(period / 2)
			again := v.page()
			assert.Equal(t, 1, attempts(again.Log), "after %v", period/2)
			assert.Contains(t, strings.Join(decisions(again.Log), "\n"), fmt.Sprintf("broken: for %v: ", period))
		}
		for range 20 {
			time.Sleep(48 * time.Hour)
			v.page()
		}
		assert.Contains(t, strings.Join(decisions(v.page().Log), "\n"), "passed over: broken for 48h0m0s more")
	})
}

func TestHeadStart(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{Dead: true}}, func(v *visitor) {
		v.cfg.HeadStart = 300 * time.Millisecond
		page := v.page()
		assert.InDelta(t, (4*rtt + 300*time.Millisecond).Seconds(), page.Duration.Seconds(), 0.002)
		assert.Len(t, page.Log.Requests(netlog.Protocol(alpn.H2), netlog.Status(200)), 11)
		assert.Contains(t, decisions(page.Log), "passed over: no handshake within 300ms")
		assert.Contains(t, decisions(page.Log), "given up: the load is over")
		assert.False(t, v.cfg.Alternatives.Services()[0].Broken)
	})
}

// What fails behind the handshake is not sent again, over nothing.
func TestFailureAfterTheHandshakeIsNotRetried(t *testing.T) {
	flushed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux := http.NewServeMux()
	mux.Handle("/stall", flushed)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	visit(t, &origin.Config{Handler: mux, HTTP3: &origin.HTTP3{}}, func(v *visitor) {
		v.page()
		cut := time.AfterFunc(time.Second, func() {
			link := linkdelay.RTT(rtt)
			link.Down.UDP, link.Up.UDP = &linkdelay.Path{Loss: 1}, &linkdelay.Path{Loss: 1}
			v.network.SetLink("phone.test", "origin.test", link)
		})
		defer cut.Stop()
		page, err := v.load(pageload.Config{URL: v.site.URL + "/stall"})
		assert.ErrorContains(t, err, "timeout: no recent network activity")
		require.Len(t, page.Log.Requests(), 1)
		assert.Equal(t, "connection closed before the answer ended: idle timeout: nothing came from the server", page.Log.Requests()[0].Err)
		told := decisions(page.Log)
		assert.Contains(t, told[len(told)-1], "not retried: GET https://"+v.site.Addr+"/stall failed after the handshake")
		assert.False(t, v.cfg.Alternatives.Services()[0].Broken, "only a handshake breaks an alternative")
	})
}

// A server that leaves while requests are on their way rejects them, for it has not
// processed them (RFC 9114, section 5.2): they are sent again, here by TCP, since
// nobody is there anymore.
func TestWhatGoAwayLeavesOutOverHTTP3IsSentAgain(t *testing.T) {
	visit(t, &origin.Config{Page: small()}, func(v *visitor) {
		const port = 4433
		socket, err := v.network.Host("origin.test").ListenPacket(v.t.Context(), "udp", fmt.Sprintf(":%d", port))
		require.NoError(v.t, err)
		server := &http3.Server{TLSConfig: http3.ConfigureTLSConfig(v.site.CA().ServerTLS("origin.test")), Handler: http.NotFoundHandler()}
		var serving sync.WaitGroup
		serving.Go(func() { server.Serve(socket) })
		require.NoError(v.t, v.site.SetAltSvc(origin.AltSvc{Port: port}))
		v.page()

		leaving := time.NewTimer(rtt + rtt/4) // the connection is there in one, and the requests half of one later
		serving.Go(func() {
			<-leaving.C
			server.Shutdown(v.t.Context())
		})
		page, err := v.load(pageload.Config{URLs: v.site.Assets()})
		assert.NoError(v.t, err)
		byHTTP3 := page.Log.Requests(netlog.Protocol(alpn.H3))
		assert.Len(v.t, byHTTP3, 10)
		for _, q := range byHTTP3 {
			assert.Equal(v.t, "reset by server: H3_REQUEST_REJECTED (0x10b)", q.Err)
		}
		assert.Len(v.t, page.Log.Requests(netlog.Protocol(alpn.H2), netlog.Status(200)), 10)
		socket.Close()
		serving.Wait()
	})
}

// What a server rejects over HTTP/3, and stays, is sent again on the same connection,
// but not for ever.
func TestWhatIsRejectedOverHTTP3IsSentAgain(t *testing.T) {
	image := func(r *http.Request) bool { return r.URL.Path != "/" }
	for _, c := range []struct{ request, tries int }{{1, 2}, {0, 3}} {
		cfg := &origin.Config{
			Page: &origin.Page{Images: 1}, HTTP3: &origin.HTTP3{},
			Faults: []origin.Fault{{Request: c.request, Match: image, Do: origin.Refuse}},
		}
		visit(t, cfg, func(v *visitor) {
			page, err := v.load(pageload.Config{URL: v.site.URL})
			if c.request == 0 {
				assert.EqualError(v.t, err, "pageload: GET "+v.site.Assets()[0]+": reset by server: H3_REQUEST_REJECTED (0x10b)")
			} else {
				assert.NoError(v.t, err)
			}
			assert.Len(v.t, page.Log.Requests(netlog.Protocol(alpn.H3)), c.tries)
			netlog.RequireConnections(v.t, page.Log, 1, alpn.H3, netlog.Protocol(alpn.H3))
		})
	}
}

// A connection that has ended before anything was sent over it costs another one,
// and nothing else.
func TestConnectionThatEndedUnused(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{}}, func(v *visitor) {
		v.page()
		open, dials := v.cfg.HTTP3, 0
		v.cfg.HTTP3 = func(ctx context.Context, host, alternative string, rec *netlog.ConnectionRecord) (pageload.HTTP3Conn, error) {
			conn, err := open(ctx, host, alternative, rec)
			if dials++; dials == 1 && err == nil {
				conn.Close()
			}
			return conn, err
		}
		page := v.page()
		netlog.RequireConnections(t, page.Log, 2, "")
		netlog.RequireConnections(t, page.Log, 1, alpn.H3, netlog.Used())
		assert.Len(t, page.Log.Requests(netlog.Status(200)), 11)
		assert.NotContains(t, strings.Join(decisions(page.Log), "\n"), "not retried")
		assert.False(t, v.cfg.Alternatives.Services()[0].Broken)
	})
}

func TestClearAndExpiry(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{AltSvc: origin.AltSvc{MaxAge: time.Minute}}}, func(v *visitor) {
		v.page()
		netlog.RequireConnections(t, v.page().Log, 1, alpn.H3)
		time.Sleep(2 * time.Minute)
		late := v.page()
		assert.Equal(t, "passed over: expired", decisions(late.Log)[0])
		netlog.RequireConnections(t, late.Log, 1, alpn.H2, netlog.Protocol(alpn.H2))

		require.NoError(t, v.site.SetAltSvc(origin.AltSvc{Clear: true}))
		cleared := v.page()
		assert.Contains(t, decisions(cleared.Log), "forgotten: Alt-Svc: clear")
		assert.Empty(t, v.cfg.Alternatives.Services())
		netlog.RequireConnections(t, v.page().Log, 1, alpn.H2)
	})
}

func TestThroughAProxyThereIsNoHTTP3(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{}}, func(v *visitor) {
		v.page()
		v.cfg.Transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.test:1"})
		page, err := v.load(pageload.Config{URL: v.site.URL})
		assert.ErrorContains(t, err, "proxy.test")
		assert.Equal(t, []string{"passed over: the requests go through a proxy"}, decisions(page.Log))
	})
}

// A visit later the ticket is there, and so the document is asked for with the
// first packet: one round trip less.
func TestSecondVisitIn0RTT(t *testing.T) {
	visit(t, &origin.Config{Page: small(), HTTP3: &origin.HTTP3{}}, func(v *visitor) {
		tr := v.site.HTTP3Transport(v.network.Host("phone.test"))
		tr.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
		v.cfg.HTTP3 = h3.Browser(tr)
		v.page()
		second := v.page()
		assert.InDelta(t, 2*rtt.Seconds(), second.Duration.Seconds(), 0.002, "document, images")
		c := second.Log.Connections()[0]
		assert.True(t, c.Resumed)
		assert.True(t, c.EarlyData)
		assert.Equal(t, "connected: 0-RTT, before the handshake has ended", decisions(second.Log)[1])

		v.site.RotateTickets() // what was sent in 0-RTT is refused, and sent again by the client
		third := v.page()
		assert.InDelta(t, 3*rtt.Seconds(), third.Duration.Seconds(), 0.002, "QUIC, document, images")
		assert.Len(t, third.Log.Requests(netlog.Status(200)), 11)
		assert.Equal(t, "0-RTT rejected", third.Log.Requests()[0].Err)
		assert.False(t, third.Log.Connections()[0].EarlyData)

		v.site.Close() // and to one that is gone it is a handshake that fails
		_, err := v.load(pageload.Config{URL: v.site.URL})
		assert.Error(t, err)
		assert.True(t, v.cfg.Alternatives.Services()[0].Broken)
	})
}

func TestBothWorldsOverHTTP3(t *testing.T) {
	body := func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), HTTP3: &origin.HTTP3{}, Page: &origin.Page{Scripts: 50, Images: 60, API: 60, DelayMin: 10 * time.Millisecond, DelayMax: 40 * time.Millisecond}})
		pc := network.Host("pc.test")
		cfg := pageload.Config{URL: site.URL, Transport: site.Transport(pc), HTTP3: h3.Browser(site.HTTP3Transport(pc)), Log: netlog.New(t)}
		page, err := pageload.Load(t.Context(), &cfg)
		require.NoError(t, err)
		netlog.RequireConnections(t, page.Log, 1, alpn.H3, netlog.Protocol(alpn.H3), netlog.Used())
		netlog.RequireConnections(t, site.Log(), 1, alpn.H3, netlog.Protocol(alpn.H3), netlog.Used())
		assert.Len(t, site.Log().Requests(netlog.Protocol(alpn.H3), netlog.Status(200)), 170)
	}
	t.Run("memory", func(t *testing.T) {
		h3.Bubble(t, nil, func(t *testing.T) { body(t, linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))) })
	})
	t.Run("loopback", func(t *testing.T) { body(t, linkdelay.NewLoopback(t, linkdelay.RTT(10*time.Millisecond))) })
}
