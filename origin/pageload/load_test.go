package pageload_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// eachProtocol runs body for both protocols in both worlds.
func eachProtocol(t *testing.T, body func(t *testing.T, network *linkdelay.Network, proto string)) {
	for _, proto := range []string{alpn.HTTP11, alpn.H2} {
		t.Run(proto, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.RTT(10*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
				body(t, network, proto)
			})
		})
	}
}

func connectionsFor(proto string) int {
	if proto == alpn.H2 {
		return 1
	}
	return pageload.DefaultPerHost
}

// TestPage: the document first, then each subresource once, in the order of
// the document; as many connections as the protocol needs; the server's record
// says the same.
func TestPage(t *testing.T) {
	eachProtocol(t, func(t *testing.T, network *linkdelay.Network, proto string) {
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
			Page:   &origin.Page{Scripts: 4, Images: 9, API: 4, DelayMin: 20 * time.Millisecond, DelayMax: 40 * time.Millisecond},
			Faults: []origin.Fault{{Match: func(r *http.Request) bool { return r.URL.Path != "/" }, Do: together(pageload.DefaultPerHost)}},
		})
		log := netlog.New(t)
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test")), Log: log})
		require.NoError(t, err)
		assert.Same(t, log, page.Log)
		require.Equal(t, connectionsFor(proto), page.Log.Connections().MostOpen(), page.Log)
		n := len(page.Log.Connections())
		for _, l := range []*netlog.Log{page.Log, site.Log()} {
			netlog.RequireConnections(t, l, n, proto)
			netlog.RequireConnections(t, l, n, proto, netlog.Used())
			assert.Len(t, l.Requests(netlog.Status(200)), 18)
		}
		assert.Equal(t, append([]string{site.URL + "/"}, site.Assets()...), urls(page.Log))
	})
}

// together has the first n requests wait for each other, so that one connection of
// HTTP/1.1 cannot serve them all while others are dialled.
func together(n int32) origin.Action {
	var came atomic.Int32
	all := make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if came.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
		next.ServeHTTP(w, r)
	}
}

func urls(log *netlog.Log) (all []string) {
	for _, q := range log.Requests() {
		all = append(all, q.URL)
	}
	return all
}

// TestRoundTrips: fifty answers that take no time, 100 ms away, over cold TLS
// 1.3. Two round trips set a connection up; then a connection of HTTP/1.1
// brings one answer a round trip, and one of HTTP/2 all of them. With the
// document first, the other five connections are dialled only after it.
func TestRoundTrips(t *testing.T) {
	for _, c := range []struct {
		proto               string
		perHost             int
		batch, page         time.Duration // round trips
		connections, stalls int
	}{
		{alpn.HTTP11, 1, 52, 53, 1, 49},
		{alpn.HTTP11, 6, 11, 13, 6, 44},
		{alpn.H2, 6, 3, 4, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			const rtt = 100 * time.Millisecond
			network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
			site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(c.proto), Page: &origin.Page{Images: 50}})
			load := func(cfg pageload.Config) *pageload.Result {
				cfg.Transport, cfg.PerHost = site.Transport(network.Host("pc.test")), c.perHost
				page, err := pageload.Load(t.Context(), &cfg)
				require.NoError(t, err)
				netlog.RequireConnections(t, page.Log, c.connections, c.proto)
				return page
			}
			batch := load(pageload.Config{URLs: site.Assets()})
			assert.Equal(t, c.batch*rtt, batch.Duration.Truncate(time.Millisecond), "%s, %d connections, batch", c.proto, c.perHost)
			assert.Len(t, batch.Log.Stalls(), c.stalls)
			page := load(pageload.Config{URL: site.URL})
			assert.Equal(t, c.page*rtt, page.Duration.Truncate(time.Millisecond), "%s, %d connections, page", c.proto, c.perHost)
		})
	}
}

// TestStreamLimit: ten streams, thirty answers of a second each: three rounds,
// and twenty requests that waited one or two seconds for a stream.
func TestStreamLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), MaxConcurrentStreams: 10,
			Page: &origin.Page{API: 30, DelayMin: time.Second, DelayMax: time.Second},
		})
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
		require.NoError(t, err)
		assert.Equal(t, 3*time.Second, page.Duration.Truncate(time.Millisecond))
		c := page.Log.Connections()[0]
		assert.Equal(t, 10, c.StreamLimit)
		assert.Equal(t, 10, c.MaxStreams)
		stalls := page.Log.Stalls()
		require.Len(t, stalls, 20)
		for i, s := range stalls {
			assert.Equal(t, netlog.StalledMaxStreams, s.Kind)
			assert.Equal(t, time.Duration(1+i/10)*time.Second, s.Duration.Round(time.Millisecond))
			assert.Equal(t, site.Assets()[10+i], s.URL)
		}
	})
}

// TestWaitIsFromAskedToSent: the wait of a request contains dialling and
// stalls, and the rest of it is the server's.
func TestWaitIsFromAskedToSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.HTTP11),
			Page: &origin.Page{API: 2, DelayMin: time.Second, DelayMax: time.Second},
		})
		page, err := pageload.Load(t.Context(), &pageload.Config{
			URLs: site.Assets(), PerHost: 1, Transport: site.Transport(network.Host("pc.test")),
		})
		require.NoError(t, err)
		var waits, firstBytes []time.Duration
		for _, q := range page.Log.Requests() {
			waits = append(waits, q.Wait.Round(time.Millisecond))
			firstBytes = append(firstBytes, q.TimeToFirstByte().Round(time.Millisecond))
		}
		assert.Equal(t, []time.Duration{200 * time.Millisecond, 1300 * time.Millisecond}, waits)
		assert.Equal(t, []time.Duration{1100 * time.Millisecond, 1100 * time.Millisecond}, firstBytes)
	})
}

// TestHeaderIsSentAlone: a load sends the fields that it is given and none of
// its own.
func TestHeaderIsSentAlone(t *testing.T) {
	eachProtocol(t, func(t *testing.T, network *linkdelay.Network, proto string) {
		var got atomic.Value
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.Store(r.Header) }),
		})
		_, err := pageload.Load(t.Context(), &pageload.Config{
			URL: site.URL, Transport: site.Transport(network.Host("pc.test")),
			Header: http.Header{"Cookie": {"a=1"}, "X-Two": {"1", "2"}},
		})
		require.NoError(t, err)
		assert.Equal(t, http.Header{"Cookie": {"a=1"}, "X-Two": {"1", "2"}}, got.Load())
	})
}

func TestRedirects(t *testing.T) {
	eachProtocol(t, func(t *testing.T, network *linkdelay.Network, proto string) {
		mux := http.NewServeMux()
		mux.Handle("/{$}", http.RedirectHandler("/dir/page", http.StatusMovedPermanently))
		mux.HandleFunc("/dir/page", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `<img src="a.png"><img src="/round">`)
		})
		mux.HandleFunc("/dir/a.png", func(http.ResponseWriter, *http.Request) {})
		mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Handler: mux})
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
		assert.EqualError(t, err, "pageload: GET "+site.URL+"/round: more than 20 redirects")
		assert.Len(t, page.Log.Requests(netlog.Status(http.StatusOK)), 2, "the page and its picture")
		assert.Len(t, page.Log.Requests(netlog.Status(http.StatusFound)), 21)
	})
}

// TestFailures: what has no answer is named, and the rest of the page is
// loaded; an answer with an error status is an answer.
func TestFailures(t *testing.T) {
	eachProtocol(t, func(t *testing.T, network *linkdelay.Network, proto string) {
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/":
					io.WriteString(w, `<img src="/good"><img src="/cut"><img src="/missing"><img src="/cut2">`)
				case "/cut", "/cut2":
					w.Header().Set("Content-Length", "10")
					io.WriteString(w, "half")
					http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				case "/missing":
					http.NotFound(w, r)
				}
			}),
		})
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
		require.Error(t, err)
		assert.Contains(t, err.Error(), "pageload: GET "+site.URL+"/cut: ")
		assert.Contains(t, err.Error(), "(and 1 more of 4 failed)")
		require.NotNil(t, page)
		var failed []string
		for _, q := range page.Log.Requests() {
			if q.Err != "" {
				failed = append(failed, strings.TrimPrefix(q.URL, site.URL))
			}
		}
		assert.ElementsMatch(t, []string{"/cut", "/cut2"}, failed)
		assert.Len(t, page.Log.Requests(netlog.Status(http.StatusNotFound)), 1)
	})
}

func TestNothingListens(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		network.Host("origin.test")
		pc := network.Host("pc.test")
		page, err := pageload.Load(t.Context(), &pageload.Config{
			URLs:      []string{"https://origin.test:1/a", "https://origin.test:1/b"},
			Transport: &http.Transport{DialContext: pc.DialContext},
		})
		require.ErrorContains(t, err, "pageload: GET https://origin.test:1/a: ")
		require.ErrorContains(t, err, "connection refused")
		assert.Empty(t, page.Log.Connections(), "a refused dial is no connection")
		for _, q := range page.Log.Requests() {
			assert.Nil(t, q.Connection)
			assert.Contains(t, q.Err, "connection refused")
		}
	})
}

// TestCancel: a load that is cancelled while every answer is outstanding ends,
// and leaves nothing.
func TestCancel(t *testing.T) {
	eachProtocol(t, func(t *testing.T, network *linkdelay.Network, proto string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var arrived atomic.Int32
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(proto),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if arrived.Add(1) == 3 {
					cancel()
				}
				<-r.Context().Done()
			}),
		})
		batch := make([]string, 20)
		for i := range batch {
			batch[i] = fmt.Sprintf("%s/%d", site.URL, i)
		}
		page, err := pageload.Load(ctx, &pageload.Config{URLs: batch, Transport: site.Transport(network.Host("pc.test"))})
		require.ErrorIs(t, err, context.Canceled)
		for _, c := range page.Log.Connections() {
			assert.False(t, c.Closed.IsZero(), "left open:\n%s", page.Log)
		}
	})
}

// TestWithoutKeepAlives: a connection for each request.
func TestWithoutKeepAlives(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.HTTP11), Page: &origin.Page{API: 20}})
		tr := site.Transport(network.Host("pc.test"))
		tr.DisableKeepAlives = true
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: tr})
		require.NoError(t, err)
		netlog.RequireConnections(t, page.Log, 21, alpn.HTTP11, netlog.Used())
	})
}

// A stream that ends alone, before its answer or in the middle of it, takes the
// connection from nobody: those that wait for a stream go on over it.
func TestAResetStreamCostsNoConnection(t *testing.T) {
	for name, fault := range map[string]origin.Action{"before": origin.Reset, "within": origin.ResetAfter(3, http2.ErrCodeInternal)} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			site := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), MaxConcurrentStreams: 1,
				Page: &origin.Page{Images: 5}, Faults: []origin.Fault{{Request: 3, Do: fault}},
			})
			page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
			assert.ErrorContains(t, err, site.Assets()[1], name)
			assert.Len(t, page.Log.Requests(netlog.Status(200)), map[string]int{"before": 5, "within": 6}[name])
			netlog.RequireConnections(t, page.Log, 1, alpn.H2)
		})
	}
}

// What cannot be sent is on record too: here for a field that HTTP does not have.
func TestUnsentRequestsAreRecorded(t *testing.T) {
	eachProtocol(t, func(t *testing.T, network *linkdelay.Network, proto string) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(proto), Page: &origin.Page{}})
		page, err := pageload.Load(t.Context(), &pageload.Config{
			URLs: []string{site.URL + "/a", site.URL + "/b"}, Transport: site.Transport(network.Host("pc.test")),
			Header: http.Header{"X": {"a\nb"}},
		})
		require.ErrorContains(t, err, "invalid header field value")
		assert.Equal(t, []string{site.URL + "/a", site.URL + "/b"}, urls(page.Log))
		for _, q := range page.Log.Requests() {
			assert.Contains(t, q.Err, "invalid header field value")
			assert.Nil(t, q.Connection)
		}
		assert.Empty(t, site.Log().Requests())
	})
}

// Thirty cold requests meet a limit of ten that the client cannot know yet: what is
// refused is sent again, within it.
func TestRefusedRequestsAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), MaxConcurrentStreams: 10, Page: &origin.Page{Images: 30, DelayMin: time.Second, DelayMax: time.Second}})
		page, err := pageload.Load(t.Context(), &pageload.Config{URLs: site.Assets(), Transport: site.Transport(network.Host("pc.test"))})
		require.NoError(t, err)
		netlog.RequireConnections(t, page.Log, 1, alpn.H2)
		assert.Len(t, page.Log.Requests(netlog.Status(200)), 30)
		assert.Len(t, page.Log.Requests(), 50, "twenty were refused")
		assert.Equal(t, 3*time.Second, page.Duration.Truncate(time.Second))
	})
}

// A server that leaves with the very first request of a connection has not processed
// it: it is sent again, on another connection.
func TestWhatGoAwayLeavesOutIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Page: &origin.Page{Images: 5},
			Faults: []origin.Fault{{Request: 1, Do: origin.GoAway}, {Request: 2, Do: origin.GoAway}},
		})
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
		require.NoError(t, err)
		netlog.RequireConnections(t, page.Log, 3, alpn.H2, netlog.Used())
		assert.Len(t, page.Log.Requests(netlog.Status(200)), 6)
		assert.Len(t, page.Log.Requests(), 8)
	})
}

// A server that leaves whenever it is asked is asked three times, and one that leaves
// because of an error once.
func TestServersThatAlwaysLeave(t *testing.T) {
	for code, tries := range map[http2.ErrCode]int{http2.ErrCodeNo: 3, http2.ErrCodeInternal: 1} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Faults: []origin.Fault{{Do: origin.GoAwayWith(code, "")}}})
			page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
			assert.ErrorContains(t, err, "GOAWAY")
			assert.Len(t, page.Log.Requests(), tries, code)
			netlog.RequireConnections(t, page.Log, tries, alpn.H2)
		})
	}
}

func TestWhatIsAlwaysRefusedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Faults: []origin.Fault{{Do: origin.Refuse}}})
		page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: site.Transport(network.Host("pc.test"))})
		assert.ErrorContains(t, err, "REFUSED_STREAM")
		assert.Len(t, page.Log.Requests(), 3)
		netlog.RequireConnections(t, page.Log, 1, alpn.H2)
	})
}

// A host is one however it is spelled (RFC 3986, section 6.2.2.1).
func TestHostsAreOfNoCase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Page: &origin.Page{Images: 2}})
		batch := site.Assets()
		batch[1] = strings.Replace(batch[1], "origin.test", "Origin.TEST", 1)
		page, err := pageload.Load(t.Context(), &pageload.Config{URLs: batch, Transport: site.Transport(network.Host("pc.test"))})
		require.NoError(t, err)
		netlog.RequireConnections(t, page.Log, 1, alpn.H2)
	})
}

// A Transport may be used beside a load, for the first time too, and a load offers
// what the Transport does whichever of them comes first.
func TestTransportInUse(t *testing.T) {
	for _, useFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.Link{})
			site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), ALPN: alpn.Prefer(alpn.H2, alpn.HTTP11)})
			tr := site.Transport(network.Host("pc.test"))
			tr.Protocols, tr.ForceAttemptHTTP2 = nil, true
			tr.TLSClientConfig.NextProtos = []string{alpn.HTTP11} // to which net/http adds h2
			used := make(chan struct{})
			go func() { // ends with the test at the latest, which waits for it
				tr.CloseIdleConnections()
				close(used)
			}()
			if useFirst {
				<-used
			}
			page, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: tr})
			<-used
			require.NoError(t, err)
			netlog.RequireConnections(t, page.Log, 1, alpn.H2)
		})
	}
}
