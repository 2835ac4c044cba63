package mitm_test

import (
	"crypto/tls"
	"crypto/x509"
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
	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// under is a proxy with rules, before an origin that answers hello.
func under(rules ...mitm.Rule) setting {
	s := serving(hello)
	s.proxy.Rules = rules
	return s
}

func TestFirstRuleThatMatchesDecides(t *testing.T) {
	h1 := mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}
	s := under(
		mitm.Rule{Host: "other.test", Passthrough: true},
		mitm.Rule{Host: "*.test", Downstream: h1},
		mitm.Rule{Host: "origin.test", Upstream: h1},
		mitm.Rule{Host: "*", Passthrough: true},
	)
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
			assert.Equal(t, "*.test", s.proxy.Log().Connections(leg)[0].Rule)
		}
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.HTTP11, mitm.Downstream)
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Upstream)
	})
}

func TestNoRuleLeavesConfig(t *testing.T) {
	s := under(mitm.Rule{Host: "other.test", Downstream: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}})
	s.down = alpn.H2
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Downstream)
		assert.Empty(t, s.proxy.Log().Connections()[0].Rule)
	})
}

func TestMistakenRules(t *testing.T) {
	h1 := mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}
	ok := mitm.Rule{Host: "a.test", Downstream: h1}
	for want, rule := range map[string]mitm.Rule{
		`for "": Host: no host`: {},
		`for "A.test.": it never decides: Config.Rules[0] has the same Host`:  {Host: "A.test."},
		`for "a*b": Host: "*" may only stand in front, as in "*.example.com"`: {Host: "a*b"},
		`for "b": upstream leg: Mirror is for the downstream leg`:             {Host: "b", Upstream: mitm.Leg{Mirror: true}},
		`for "b": downstream leg: MaxConns is for the upstream leg`:           {Host: "b", Downstream: mitm.Leg{MaxConns: 1}},
		`for "b": downstream leg: PerClient is for the upstream leg`:          {Host: "b", Downstream: mitm.Leg{PerClient: true}},
		`for "b": upstream leg: StreamWindow: -1: must be from 0`:             {Host: "b", Upstream: mitm.Leg{StreamWindow: -1}},
		`for "b": downstream leg: Speak: "h3": the proxy does not speak it`:   {Host: "b", Downstream: mitm.Leg{Speak: alpn.H3}},
		`for "b": Passthrough: nothing else can be set with it`:               {Host: "b", Passthrough: true, Upstream: h1},
		`for "b": CertificateFault: "odd": there is no such fault`:            {Host: "b", CertificateFault: "odd"},
		`for "b": upstream leg: Faults[0]: Do is nil: nothing would go wrong`: {Host: "b", Upstream: mitm.Leg{Faults: []wire.Fault{{Request: 1}}}},
		`ConnectionFaults[0]: nothing is set: nothing would go wrong`:         {Host: "b", Upstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{Connection: 2}}}},
		`ConnectionFaults[0]: RefuseALPN is for the downstream leg`:           {Host: "b", Upstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{RefuseALPN: true}}}},
		`ConnectionFaults[0]: FirstSegment is for the downstream leg`:         {Host: "b", Upstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{FirstSegment: true}}}},
		`ConnectionFaults[0]: DropAfter: -1 is negative`:                      {Host: "b", Upstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{DropAfter: -1}}}},
		`ConnectionFaults[0]: HandshakeDelay: -1s is negative`:                {Host: "b", Upstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{HandshakeDelay: -time.Second}}}},
		`ConnectionFaults[0]: Connection: -1 is negative`:                     {Host: "b", Upstream: mitm.Leg{ConnectionFaults: []mitm.ConnectionFault{{Connection: -1}}}},
		`downstream leg: TLS has certificates of its own, which Leaf`:         {Host: "b", OriginFirst: true, Downstream: mitm.Leg{TLS: &tls.Config{Certificates: make([]tls.Certificate, 1)}}},
	} {
		_, err := mitm.Start(&mitm.Config{Rules: []mitm.Rule{ok, rule}})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "mitm: Config.Rules[1] for ")
	}
}

func TestRuleOfPassthrough(t *testing.T) {
	eachWorld(t, under(mitm.Rule{Host: "*.test", Passthrough: true}), func(t *testing.T, s *stage) {
		s.tr.TLSClientConfig.RootCAs = s.site.CA().Pool()
		s.get(t, "/")
		down := s.proxy.Log().Connections(mitm.Downstream)[0]
		assert.Equal(t, []any{true, "*.test"}, []any{down.Tunnel, down.Rule})
	})
}

func TestRuleBeatsPassthrough(t *testing.T) {
	s := under(mitm.Rule{Host: "origin.test"})
	s.proxy.Passthrough = []string{"origin.test"}
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		assert.False(t, s.proxy.Log().Connections(mitm.Downstream)[0].Tunnel)
	})
}

func TestRuleOfMirror(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Downstream: mitm.Leg{Mirror: true}})
	s.up = alpn.HTTP11
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.HTTP11, mitm.Downstream)
	})
}

func TestRuleOfTLSVersions(t *testing.T) {
	s := under(mitm.Rule{
		Host:       "*",
		Downstream: mitm.Leg{TLS: &tls.Config{MaxVersion: tls.VersionTLS12}},
		Upstream:   mitm.Leg{TLS: &tls.Config{MinVersion: tls.VersionTLS13}},
	})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		assert.EqualValues(t, tls.VersionTLS12, s.proxy.Log().Connections(mitm.Downstream)[0].TLSVersion)
		assert.EqualValues(t, tls.VersionTLS13, s.proxy.Log().Connections(mitm.Upstream)[0].TLSVersion)
	})
}

func TestRuleOfClientCertificate(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		authority := ca.New(t, nil)
		s := serving(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, r.TLS.PeerCertificates[0].EmailAddresses[0])
		})
		s.origin.CA = authority
		s.origin.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
		own := &tls.Config{Certificates: []tls.Certificate{authority.Issue("proxy@example.com").Certificate}}
		s.proxy.Rules = []mitm.Rule{{Host: "origin.test", Upstream: mitm.Leg{TLS: own}}}
		_, body := setUp(t, network, s).get(t, "/")
		assert.Equal(t, "proxy@example.com", body)
	})
}

func TestRuleOfBrokenCertificates(t *testing.T) {
	for want, rule := range map[string]mitm.Rule{
		"certificate has expired or is not yet valid":  {Host: "*", Leaf: ca.Expired},
		"certificate is valid for wrong-host.invalid":  {Host: "*", Leaf: ca.WrongHost},
		"certificate signed by unknown authority":      {Host: "*", CertificateFault: "untrusted-root"},
		"certificate specifies an incompatible key us": {Host: "*", Leaf: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }},
	} {
		eachWorld(t, under(rule), func(t *testing.T, s *stage) {
			_, err := s.client.Do(s.request(t, "GET", "/", nil))
			assert.ErrorContains(t, err, want)
		})
	}
}

// What the authority breaks stays broken under a rule that edits something else.
func TestRuleBesideTheAuthoritysFault(t *testing.T) {
	organized := func(c *x509.Certificate) { c.Subject.Organization = []string{"by the rule"} }
	for _, c := range []struct {
		rule   mitm.Rule
		issuer string
		valid  bool
	}{
		{mitm.Rule{Host: "*", Leaf: organized}, "wiretest CA", false},
		{mitm.Rule{Host: "*", CertificateFault: "self-signed", Leaf: organized}, "origin.test", true},
	} {
		s := under(c.rule)
		s.proxy.CA = ca.New(t, &ca.Config{Fault: "expired"})
		eachWorld(t, s, func(t *testing.T, s *stage) {
			s.tr.TLSClientConfig.InsecureSkipVerify = true
			resp, _ := s.get(t, "/")
			leaf := resp.TLS.PeerCertificates[0]
			assert.Equal(t, []string{"by the rule"}, leaf.Subject.Organization)
			assert.Equal(t, c.issuer, leaf.Issuer.CommonName)
			assert.Equal(t, c.valid, time.Now().Before(leaf.NotAfter), "valid until %v", leaf.NotAfter)
		})
	}
}

func TestRuleOfStreamLimits(t *testing.T) {
	var inside, release chan struct{}
	s := under(mitm.Rule{Host: "*", Downstream: mitm.Leg{MaxConcurrentStreams: 9}, Upstream: mitm.Leg{MaxConcurrentStreams: 2}})
	s.origin.Handler = handler(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			inside <- struct{}{}
			<-release
		}
	})
	s.down, s.up = alpn.H2, alpn.H2
	eachWorld(t, s, func(t *testing.T, s *stage) {
		inside, release = make(chan struct{}, 5), make(chan struct{})
		s.get(t, "/first") // so that all that follow share its connection
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { s.get(t, "/") })
		}
		<-inside
		<-inside
		require.NoError(t, s.proxy.SetMaxConcurrentStreams(mitm.Upstream, "*", 4))
		<-inside // those that waited
		<-inside
		require.NoError(t, s.proxy.SetMaxConcurrentStreams(mitm.Downstream, "*", 7))
		require.NoError(t, s.proxy.SetMaxConcurrentStreams(mitm.Downstream, "*", 20)) // more than this connection began with
		close(release)
		wg.Wait()
		assert.Equal(t, 4, s.proxy.Log().Connections(mitm.Upstream)[0].MaxStreams)
		assert.Equal(t, 9, s.proxy.Log().Connections(mitm.Downstream, netlog.Used())[0].StreamLimit)
		s.client.Transport = s.proxy.Transport(s.network.Host("pc.test"))
		s.get(t, "/first")
		all := s.proxy.Log().Connections(mitm.Downstream, netlog.Used())
		assert.Equal(t, 20, all[len(all)-1].StreamLimit)
	})
}

func TestLimitsOfNoRule(t *testing.T) {
	proxy := mitm.New(t, nil)
	assert.EqualError(t, proxy.SetMaxConcurrentStreams(mitm.Upstream, "a.test", 4), `mitm: SetMaxConcurrentStreams for "a.test": no Rule has this Host`)
	assert.EqualError(t, proxy.SetMaxConcurrentStreams(mitm.Upstream, "", 0), `mitm: SetMaxConcurrentStreams for "": 0: must be from 1 to 2147483647`)
	assert.EqualError(t, proxy.SetMaxConcurrentStreams("", "", 1), `mitm: SetMaxConcurrentStreams for "": leg "": want Downstream or Upstream`)
	assert.NoError(t, proxy.SetMaxConcurrentStreams(mitm.Downstream, "", 1))
}

func TestRuleOfConnectionLimit(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Upstream: mitm.Leg{MaxConns: 2}})
	var inside, release chan struct{}
	s.origin.Handler = handler(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-release
	})
	s.up = alpn.HTTP11
	eachWorld(t, s, func(t *testing.T, s *stage) {
		const n = 6
		inside, release = make(chan struct{}, n), make(chan struct{})
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() { s.get(t, "/") })
		}
		<-inside // both connections carry one
		<-inside
		synctestSettle(t, func() bool { return len(carried(s.proxy.Log(), mitm.Downstream)) == n })
		if inVirtualTime(t) {
			synctest.Wait() // from being recorded to waiting for a connection
		}
		requireOpen(t, s.proxy.Log(), 2, alpn.HTTP11, mitm.Upstream)
		close(release)
		wg.Wait()
		if inVirtualTime(t) { // on sockets nothing tells that a request waits
			netlog.RequireConnections(t, s.proxy.Log(), 2, alpn.HTTP11, mitm.Upstream)
			assert.Len(t, s.proxy.Log().Stalls(mitm.Upstream), n-2)
		}
	})
}

func TestRuleOfConnectionsPerClient(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		s := under(mitm.Rule{Host: "*", Upstream: mitm.Leg{PerClient: true}})
		s.up = up
		eachWorld(t, s, func(t *testing.T, s *stage) {
			s.get(t, "/")
			s.get(t, "/")
			if givenUp(t, s.proxy.Log().Requests(mitm.Upstream), up) {
				t.Skip(tooBusy)
			}
			s.tr.CloseIdleConnections()
			ended := func() bool { return s.proxy.Log().Connections(mitm.Upstream)[0].CloseReason != "" }
			synctestSettle(t, ended)
			s.get(t, "/")
			ups := s.proxy.Log().Connections(mitm.Upstream)
			require.Len(t, ups, 2)
			assert.Equal(t, []int{2, 1}, []int{ups[0].Requests, ups[1].Requests})
		})
	}
}

func TestRuleOfWindows(t *testing.T) {
	small := mitm.Leg{StreamWindow: 70_000, ConnWindow: 80_000}
	cfg := mitm.Config{Rules: []mitm.Rule{{Host: "*", Downstream: small, Upstream: small}}}
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		var stated map[http2.SettingID]uint32
		s := newRawStage(t, network, cfg, alpn.H2, alpn.H2, func(o *side) {
			o.next()
			o.wantEnd()
			conn := o.call.(*rawH2Call).conn
			conn.change(func() { stated = conn.stated })
			o.head("200", 0)
		})
		client := s.client()
		c := client.call()
		c.head("GET /", nothing)
		c.wantHead("200")
		c.wantEnd()
		assert.EqualValues(t, 70_000, client.h2.stated[http2.SettingInitialWindowSize])
		assert.EqualValues(t, 70_000, stated[http2.SettingInitialWindowSize])
		assert.EqualValues(t, 80_000, client.h2.window)
	})
}

// A client that was promised h2 gets a status line.
func TestRuleThatSpeaksWhatWasNotNegotiated(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Downstream: mitm.Leg{ALPN: alpn.Only(alpn.H2), Speak: alpn.HTTP11}})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", s.site.Addr)
		require.NoError(t, err)
		secured := tls.Client(conn, alpn.Only(alpn.H2).Client(&tls.Config{RootCAs: s.proxy.CA().Pool(), ServerName: "origin.test"}))
		defer secured.Close()
		_, err = io.WriteString(secured, "GET / HTTP/1.1\r\nHost: origin.test\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		answer, _ := io.ReadAll(secured)
		assert.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n"), "%.80q", answer)
		down := s.proxy.Log().Connections(mitm.Downstream)[0]
		assert.Equal(t, []string{alpn.H2, alpn.HTTP11}, []string{down.ALPN, down.Protocol})
	})
}

func TestRuleThatSpeaksToTheOriginWhatWasNotNegotiated(t *testing.T) {
	s := under(mitm.Rule{Host: "*", Upstream: mitm.Leg{Speak: alpn.HTTP11}})
	s.up = alpn.H2
	eachWorld(t, s, func(t *testing.T, s *stage) {
		resp, _ := s.get(t, "/")
		assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
		up := s.proxy.Log().Connections(mitm.Upstream)[0]
		assert.Equal(t, alpn.H2, up.ALPN)
		assert.NotEqual(t, alpn.H2, up.Protocol) // the origin's SETTINGS may come before anything is said
	})
}

// The leaf has the names of the origin's certificate, which was seen before.
func TestOriginFirst(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		authority := ca.New(t, nil)
		names := []string{"origin.test", "*.shop.test", "bücher.test", "192.0.2.7", "2001:db8::7"}
		setting := under(mitm.Rule{Host: "*", OriginFirst: true})
		setting.origin.CA = authority
		setting.origin.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue(names...).Certificate}}
		s := setUp(t, network, setting)
		resp, _ := s.get(t, "/")
		leaf := resp.TLS.PeerCertificates[0]
		assert.Equal(t, []string{"origin.test", "*.shop.test", "xn--bcher-kva.test"}, leaf.DNSNames)
		assert.Len(t, leaf.IPAddresses, 2)
		log := s.proxy.Log()
		down, up := log.Connections(mitm.Downstream)[0], log.Connections(mitm.Upstream)[0]
		assert.False(t, up.Handshaken.After(down.Handshaken))
		netlog.RequireConnections(t, log, 1, "", mitm.Upstream)
	})
}

func TestOriginFirstThatFails(t *testing.T) {
	s := under(mitm.Rule{Host: "*", OriginFirst: true})
	s.proxy.RootCAs = x509.NewCertPool()
	eachWorld(t, s, func(t *testing.T, s *stage) {
		resp, body := s.get(t, "/")
		assert.Equal(t, 502, resp.StatusCode)
		assert.Contains(t, body, "certificate signed by unknown authority")
	})
}

func TestLeafOfNameWithTrailingDot(t *testing.T) {
	eachWorld(t, serving(hello), func(t *testing.T, s *stage) {
		_, port, _ := strings.Cut(s.site.Addr, ":")
		conn, err := s.proxy.Tunnel(s.network.Host("pc.test"))(t.Context(), "tcp", "origin.test.:"+port)
		require.NoError(t, err)
		secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // no SNI
		defer secured.Close()
		require.NoError(t, secured.HandshakeContext(t.Context()))
		assert.Equal(t, []string{"origin.test"}, secured.ConnectionState().PeerCertificates[0].DNSNames)
	})
}

func TestLeafComesWithItsChain(t *testing.T) {
	s := serving(hello)
	s.proxy.CA = ca.New(t, &ca.Config{Intermediates: 1})
	eachWorld(t, s, func(t *testing.T, s *stage) {
		resp, _ := s.get(t, "/")
		assert.Len(t, resp.TLS.PeerCertificates, 2)
	})
}

// Rules hold for requests without CONNECT too, of which each is for a host of its
// own.
func TestRuleOfPlainRequests(t *testing.T) {
	s := under(mitm.Rule{Host: "origin.test", Upstream: mitm.Leg{MaxConns: 1}})
	s.origin.Plain = true
	eachWorld(t, s, func(t *testing.T, s *stage) {
		s.get(t, "/")
		assert.Equal(t, "origin.test", s.proxy.Log().Connections(mitm.Upstream)[0].Rule)
		assert.Equal(t, "origin.test", s.proxy.Log().Connections(mitm.Downstream)[0].Rule)
	})
}
