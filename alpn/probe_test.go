package alpn_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const pc = "pc.test"

func policies() []alpn.Policy {
	return []alpn.Policy{
		alpn.Prefer(alpn.H2, alpn.HTTP11), alpn.Prefer(alpn.HTTP11, alpn.H2), alpn.Prefer(alpn.H2), alpn.Prefer(alpn.HTTP11),
		alpn.Only(alpn.H2, alpn.HTTP11), alpn.Only(alpn.H2), alpn.Only(alpn.HTTP11), alpn.None(),
	}
}

// requireChoosesBy holds every answer to what policy chooses.
func requireChoosesBy(t *testing.T, policy alpn.Policy, r alpn.Results) {
	t.Helper()
	require.Len(t, r.Answers, 2*len(alpn.DefaultOffers()), r)
	for _, a := range r.Answers {
		want, refusal := policy.Choose(a.Offered)
		require.Equal(t, want, a.Selected, "%v, offered %q\n%v", policy, a.Offered, r)
		if refusal == nil {
			require.NoError(t, a.Err)
			continue
		}
		require.EqualValues(t, 120, a.Alert, "%v, offered %q: %v\n%v", policy, a.Offered, a.Err, r)
		alpn.RequireAlert(t, a.Err, 120)
	}
	for _, offer := range alpn.DefaultOffers() {
		want, refusal := policy.Choose(offer)
		got, asked := r.Protocols()[strings.Join(offer, ",")]
		require.Equal(t, refusal == nil, asked, "%v\n%v", policy, r)
		require.Equal(t, want, got)
		require.Equal(t, want, r.Selected(offer...))
	}
}

// hello answers and announces HTTP/3.
var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Alt-Svc", `h3=":443"; ma=60`)
	w.Header().Set("Server", "shop")
})

// unverified is what a nil Config means, and quick.
func unverified() *tls.Config { return quick(&tls.Config{InsecureSkipVerify: true}) }

func TestProbeOrigin(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		for i, policy := range policies() {
			site := origin.New(t, &origin.Config{Net: network.Host("origin" + string(rune('a'+i)) + ".test"), ALPN: policy, Handler: hello, MaxConcurrentStreams: 77})
			r, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: network.Host(pc).DialContext, TLS: unverified()})
			require.NoError(t, err)
			requireChoosesBy(t, policy, r)
			requireSpoken(t, policy, r)
			assert.Equal(t, "wiretest origin CA", r.Issuer())
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				a := r.Answers[slices.IndexFunc(r.Answers, func(a alpn.Answer) bool { return a.Err == nil && a.Version == version })]
				assert.True(t, a.Resumes, r)
				assert.Equal(t, tls.CurveP256, a.Group, r)
				assert.Equal(t, r.ServerName, a.Chain[0].DNSNames[0], r)
			}
		}
	})
}

// requireSpoken wants HTTP of each protocol that policy has, once per version.
func requireSpoken(t *testing.T, policy alpn.Policy, r alpn.Results) {
	t.Helper()
	var want []string
	for _, offer := range alpn.DefaultOffers() {
		proto, err := policy.Choose(offer)
		if proto == "" {
			proto = alpn.HTTP11
		}
		if err == nil && !slices.Contains(want, proto) {
			want = append(want, proto)
		}
	}
	require.Len(t, r.Spoken, 2*len(want), r)
	for i, s := range r.Spoken {
		require.NoError(t, s.Err, r)
		require.Equal(t, want[i%len(want)], s.Protocol, r)
		require.Equal(t, 200, s.Status, r)
		require.Equal(t, []string{`h3=":443"; ma=60`}, s.AltSvc, r)
		require.Equal(t, "shop", s.Server, r)
		if s.Protocol == alpn.H2 {
			require.Contains(t, s.Settings, alpn.Setting{Name: "MAX_CONCURRENT_STREAMS", Value: 77}, r)
		} else {
			require.Empty(t, s.Settings, r)
		}
	}
}

// The table of directly against proxied, for each policy of the proxy.
func TestProbeThroughProxy(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
		direct, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: network.Host(pc).DialContext, TLS: unverified()})
		require.NoError(t, err)
		for i, policy := range policies() {
			proxy := mitm.New(t, &mitm.Config{
				Upstream: mitm.Leg{TLS: quick(new(tls.Config))}, Net: network.Host("proxy" + string(rune('a'+i)) + ".test"), RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: policy, MaxConcurrentStreams: 77},
			})
			proxied, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: proxy.Tunnel(network.Host(pc)), TLS: unverified()})
			require.NoError(t, err)
			requireChoosesBy(t, policy, proxied)
			requireSpoken(t, policy, proxied)
			assert.Equal(t, "wiretest mitm CA", proxied.Issuer())

			table := alpn.Compare(direct, proxied)
			assert.Contains(t, table, `interception: TLS is ended on the way, by whoever holds "wiretest mitm CA"`)
			chosen := proxied.Selected(alpn.H2, alpn.HTTP11)
			assert.Equal(t, chosen != alpn.H2, strings.Contains(table, "h2 is lost on the way"), table)
		}
	})
}

func TestProbeThroughMirrorAndPassthrough(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, ALPN: alpn.Prefer(alpn.HTTP11, alpn.H2)})
		direct, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: network.Host(pc).DialContext, TLS: unverified()})
		require.NoError(t, err)
		for name, cfg := range map[string]*mitm.Config{
			"mirror":      {Downstream: mitm.Leg{Mirror: true}},
			"passthrough": {Passthrough: []string{"origin.test"}},
		} {
			cfg.Net, cfg.RootCAs = network.Host(name+".test"), site.CA().Pool()
			proxy := mitm.New(t, cfg)
			proxied, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: proxy.Tunnel(network.Host(pc)), TLS: unverified()})
			require.NoError(t, err)
			table := alpn.Compare(direct, proxied)
			assert.Equal(t, direct.Protocols(), proxied.Protocols(), "%s\n%s", name, table)
			assert.Equal(t, name == "passthrough", strings.Contains(table, "interception: none"), table)
			assert.Contains(t, table, "protocol: a client that offers h2 and http/1.1 gets http/1.1 either way")
		}
	})
}

// Each connection costs what its handshakes cost: nothing waits, and nothing is
// asked at once.
func TestProbeInVirtualTime(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.RTT(100*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
		began := time.Now()
		_, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{
			DialContext: network.Host(pc).DialContext, Offers: [][]string{{alpn.H2}},
			TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
		})
		require.NoError(t, err)
		const wholeTrips = 5 // TCP, TLS, HTTP; TCP, TLS
		took := time.Since(began).Truncate(time.Millisecond)
		require.GreaterOrEqual(t, took, wholeTrips*100*time.Millisecond)
		if strings.HasSuffix(t.Name(), "/memory") {
			require.Equal(t, wholeTrips*100*time.Millisecond, took)
		}
		require.Len(t, site.Log().Connections(), 2)
		require.Len(t, site.Log().Requests(), 1)
	})
}

func TestProbeOfOldAndOfSilentServers(t *testing.T) {
	t.Run("no TLS 1.3", func(t *testing.T) {
		site := origin.New(t, &origin.Config{TLS: &tls.Config{MaxVersion: tls.VersionTLS12, SessionTicketsDisabled: true}})
		r, err := alpn.Probe(t.Context(), site.Addr, nil)
		require.NoError(t, err)
		a, asked := r.Answer(alpn.H2, alpn.HTTP11)
		assert.True(t, asked)
		assert.Equal(t, alpn.H2, a.Selected)
		assert.EqualValues(t, tls.VersionTLS12, a.Version)
		assert.False(t, a.Resumes)
		assert.Contains(t, r.String(), "alert 70 (protocol version not supported)")
		assert.Contains(t, r.String(), "TLS 1.2: TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, X25519, sessions do not resume")
		_, asked = r.Answer("smtp")
		assert.False(t, asked)
	})
	t.Run("old versions too", func(t *testing.T) {
		site := origin.New(t, &origin.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS10}})
		r, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{
			TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}, Offers: [][]string{{alpn.HTTP11}},
		})
		require.NoError(t, err)
		assert.Contains(t, r.String(), "offered   TLS 1.3   TLS 1.2   TLS 1.1   TLS 1.0\nhttp/1.1  http/1.1  http/1.1  http/1.1  http/1.1\n")
	})
	t.Run("closes", func(t *testing.T) {
		r, err := alpn.Probe(t.Context(), answering(t, ""), nil)
		require.NoError(t, err)
		assert.Equal(t, "closed", r.Answers[0].String())
		assert.Empty(t, r.Protocols())
		assert.Contains(t, r.String(), "issuer: unknown\nclosed: EOF")
	})
}

// answering reads a little from each client, says one thing, and closes.
func answering(t *testing.T, say string) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { // ended and waited for in Cleanup
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 1<<12))
			conn.Write([]byte(say))
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

func TestProbeVerifiesWhereItIsToldTo(t *testing.T) {
	site := origin.New(t, nil)
	trusting, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{TLS: site.CA().ClientTLS()})
	require.NoError(t, err)
	assert.Equal(t, alpn.H2, trusting.Selected(alpn.H2, alpn.HTTP11), trusting)

	r, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{TLS: mitm.New(t, nil).CA().ClientTLS()})
	require.NoError(t, err)
	assert.Equal(t, "not trusted", r.Answers[0].String())
	assert.Equal(t, "wiretest origin CA", r.Issuer(), "who signed it is known all the same")
	assert.Contains(t, r.String(), "not trusted: tls: failed to verify certificate: x509: certificate signed by unknown authority")
}

func TestProbeLeavesItsConfigAlone(t *testing.T) {
	site := origin.New(t, nil)
	cfg := &alpn.ProbeConfig{TLS: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"mine"}}, Offers: [][]string{{alpn.H2}}}
	_, err := alpn.Probe(t.Context(), site.Addr, cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"mine"}, cfg.TLS.NextProtos)
	assert.Empty(t, cfg.TLS.ServerName)
	assert.Nil(t, cfg.DialContext)
	assert.Zero(t, cfg.Timeout)
}

func TestProbeErrors(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := answering(t, "HTTP/1.0 400 Bad Request\r\n\r\n")
	mail := answering(t, "220 mail.test ESMTP\r\n")
	refused.Close() // when they have ports of their own
	for _, c := range []struct {
		addr string
		cfg  *alpn.ProbeConfig
		want string
	}{
		{"https://a.test/", nil, `alpn: Probe: address "https://a.test/": want host:port, such as a.test:443`},
		{"a.test", nil, `alpn: Probe: address "a.test": want host:port, such as a.test:443`},
		{"a.test:1", &alpn.ProbeConfig{Timeout: -1}, "alpn: Probe: ProbeConfig.Timeout: -1ns is negative"},
		{"a.test:1", &alpn.ProbeConfig{Offers: [][]string{{alpn.H2}, {""}}}, `alpn: Probe: ProbeConfig.Offers[1]: "": a name has from 1 to 255 bytes (RFC 7301, section 3.1)`},
		{"a.test:1", &alpn.ProbeConfig{TLS: &tls.Config{MinVersion: tls.VersionTLS13, MaxVersion: tls.VersionTLS12}}, "alpn: Probe: ProbeConfig.TLS: no version from MinVersion TLS 1.3 to MaxVersion TLS 1.2"},
		{refused.Addr().String(), nil, "alpn: Probe: " + refused.Addr().String() + ": dialling: dial tcp " + refused.Addr().String() + ": connect: connection refused"},
		{web, nil, "alpn: Probe: " + web + `: the server speaks no TLS: it sent an HTTP response: "HTTP/"`},
		{mail, nil, "alpn: Probe: " + mail + `: the server speaks no TLS: it sent garbage: "220 m"`},
	} {
		_, err := alpn.Probe(t.Context(), c.addr, c.cfg)
		require.EqualError(t, err, c.want)
	}
}

// A server that accepts and then says nothing holds nobody up for longer than
// Timeout, nor a context that ends.
func TestProbeOfABlackHole(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		ln, err := network.Host("hole.test").Listen(t.Context(), "tcp", ":0")
		require.NoError(t, err)
		defer ln.Close()
		patient := func(_ context.Context, protocol, address string) (net.Conn, error) { // on a busy machine dialling may take longer than Timeout
			return network.Host(pc).DialContext(t.Context(), protocol, address)
		}
		_, err = alpn.Probe(t.Context(), ln.Addr().String(), &alpn.ProbeConfig{DialContext: patient, Timeout: 100 * time.Millisecond})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "first handshake: context deadline exceeded")

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err = alpn.Probe(ctx, ln.Addr().String(), &alpn.ProbeConfig{DialContext: network.Host(pc).DialContext})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Of HTTP that never comes only the Spoken tells. In real time a Timeout that
// short could end a handshake.
func TestProbeOfAServerThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		silent := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: silent})
		r, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{
			DialContext: network.Host(pc).DialContext, Offers: [][]string{{alpn.H2}, {alpn.HTTP11}}, Timeout: 200 * time.Millisecond,
		})
		require.NoError(t, err)
		require.Equal(t, alpn.H2, r.Selected(alpn.H2))
		require.Len(t, r.Spoken, 4)
		for _, s := range r.Spoken {
			require.Error(t, s.Err)
			require.Contains(t, s.String(), " no answer: ")
		}
		require.NotEmpty(t, r.Spoken[0].Settings, "came before")
	})
}

// close_notify is not worth more than Timeout either: crypto/tls alone would wait
// 5 seconds for a peer that takes it.
func TestProbeOfAServerThatReadsNoEnd(t *testing.T) {
	for name, answer := range map[string]string{"answers": "HTTP/1.1 204 No Content\r\n\r\n", "silent": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := serverTLS()
				cfg := &alpn.ProbeConfig{
					Offers: [][]string{{alpn.HTTP11}}, TLS: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}, Timeout: time.Second,
					DialContext: func(context.Context, string, string) (net.Conn, error) { return readingOnce(t, server, answer), nil },
				}
				began := time.Now()
				r, err := alpn.Probe(t.Context(), "a.test:443", cfg)
				require.NoError(t, err)
				assert.Equal(t, 2*time.Second, time.Since(began), "one Timeout for each connection\n%v", r)
				require.True(t, r.Answers[0].Resumes, r)
				if answer != "" {
					assert.Equal(t, 204, r.Spoken[0].Status, r)
				} else {
					assert.ErrorIs(t, r.Spoken[0].Err, os.ErrDeadlineExceeded)
				}
			})
		})
	}
}

// readingOnce is the client's end of a connection to a server that reads a
// request at the most, and then nothing more. Without a buffer, writing to it
// takes for ever then.
func readingOnce(t *testing.T, cfg *tls.Config, answer string) net.Conn {
	client, server := net.Pipe()
	ended := make(chan struct{})
	t.Cleanup(func() { server.Close(); <-ended })
	go func() { // ended and waited for in Cleanup
		defer close(ended)
		conn := tls.Server(server, cfg)
		if conn.Handshake() == nil && !conn.ConnectionState().DidResume {
			conn.Read(make([]byte, 1<<12))
			conn.Write([]byte(answer))
		}
	}()
	return client
}

// What was found until then is not lost, and that a handshake was given up is not
// what the server did.
func TestProbeThatIsCancelled(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello})
		for _, c := range []struct {
			dialled     int
			handshaking bool
			answers     int
		}{{4, false, 3}, {4, true, 3}, {7, true, 6}} { // the seventh resumes
			ctx, cancel := context.WithCancel(t.Context())
			dialled := 0
			r, err := alpn.Probe(ctx, site.Addr, &alpn.ProbeConfig{
				DialContext: func(ctx context.Context, protocol, address string) (net.Conn, error) {
					if dialled++; dialled == c.dialled && !c.handshaking {
						cancel()
					}
					conn, err := network.Host(pc).DialContext(ctx, protocol, address)
					if dialled == c.dialled {
						cancel()
					}
					return conn, err
				},
			})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, c.dialled, dialled)
			require.Len(t, r.Answers, c.answers, r)
			require.Equal(t, alpn.H2, r.Selected(alpn.H2, alpn.HTTP11))
		}
	})
}
