package linkdelay_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
)

// serveTLS serves hello over TLS on origin.test:443 until the test ends.
func serveTLS(t *testing.T, network *linkdelay.Network, authority *ca.Authority, proto string) {
	t.Helper()
	serveTLSWith(t, network, authority, proto, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello over %s", r.Proto)
	}))
}

func serveTLSWith(t *testing.T, network *linkdelay.Network, authority *ca.Authority, proto string, handler http.Handler) {
	t.Helper()
	ln := listen(t, network.Host("origin.test"), ":443")
	cfg := authority.ServerTLS("origin.test")
	cfg.NextProtos = []string{proto}
	srv := &http.Server{TLSConfig: cfg, Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.ServeTLS(ln, "", "")
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
}

func transport(t *testing.T, network *linkdelay.Network, authority *ca.Authority, proto string) *http.Transport {
	cfg := authority.ClientTLS()
	cfg.MinVersion = tls.VersionTLS13
	cfg.CurvePreferences = []tls.CurveID{tls.CurveP256} // the quickest by far under the race detector
	tr := &http.Transport{DialContext: network.Host("pc.test").DialContext, TLSClientConfig: cfg, Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(proto == "http/1.1")
	tr.Protocols.SetHTTP2(proto == "h2")
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func get(t *testing.T, tr *http.Transport, url string) string {
	t.Helper()
	resp, err := (&http.Client{Transport: tr}).Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// One round trip to connect, one for TLS 1.3 (RFC 8446, section 2), one to ask.
func TestFirstGetOverTLSTakesThreeRoundTrips(t *testing.T) {
	for proto, name := range map[string]string{"http/1.1": "HTTP/1.1", "h2": "HTTP/2.0"} {
		linkdelay.EachWorld(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
			authority := ca.New(t, nil)
			serveTLS(t, network, authority, proto)
			tr := transport(t, network, authority, proto)
			for _, rtts := range []time.Duration{3, 1, 1} {
				start := time.Now()
				require.Equal(t, "hello over "+name, get(t, tr, "https://origin.test/"))
				if isVirtual() {
					require.Equal(t, rtts*100*ms, time.Since(start))
				}
			}
		})
	}
}

func TestManyRequestsShareAConnectionOfHTTP2(t *testing.T) {
	virtual(t, linkdelay.RTT(100*ms), func(t *testing.T, network *linkdelay.Network) {
		authority := ca.New(t, nil)
		serveTLS(t, network, authority, "h2")
		tr := transport(t, network, authority, "h2")
		get(t, tr, "https://origin.test/")
		start := time.Now()
		done := make(chan time.Duration, 50)
		for range 50 {
			go func() {
				resp, err := tr.RoundTrip(request(t, "https://origin.test/"))
				if err == nil {
					resp.Body.Close()
				}
				done <- time.Since(start)
			}()
		}
		for range 50 {
			require.Equal(t, 100*ms, <-done)
		}
		require.Equal(t, 1, network.Calls())
	})
}

func request(t *testing.T, url string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
	}
	return req
}

// A bubble may be the second one in its process, and may follow real time.
func TestBubblesFollowEachOther(t *testing.T) {
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			network, authority := linkdelay.NewNetwork(t, linkdelay.RTT(100*ms)), ca.New(t, nil)
			serveTLS(t, network, authority, "h2")
			get(t, transport(t, network, authority, "h2"), "https://origin.test/")
		})
	}
}
