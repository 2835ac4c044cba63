package probeh3_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/alpn/probeh3"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Server", "shop") })

// from is a Config that dials from a host of network.
func from(t *testing.T, network *linkdelay.Network) *probeh3.Config {
	dialer := &h3.Dialer{ListenPacket: network.Host("pc.test").ListenPacket}
	t.Cleanup(func() { dialer.Close() })
	return &probeh3.Config{Dial: dialer.Dial, Versions: []quic.Version{quic.Version1}}
}

// eachWorld is linkdelay.EachWorld with a watchdog in real time around the
// bubble.
func eachWorld(t *testing.T, body func(t *testing.T, network *linkdelay.Network)) {
	dog := time.AfterFunc(time.Minute, func() { panic("a bubble with HTTP/3 has hung for a minute") })
	defer dog.Stop()
	linkdelay.EachWorld(t, linkdelay.RTT(2*time.Millisecond), body)
}

func TestProbeOrigin(t *testing.T) {
	eachWorld(t, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, HTTP3: new(origin.HTTP3)})
		r, err := probeh3.Probe(t.Context(), site.Addr, from(t, network))
		require.NoError(t, err)
		assert.Equal(t, alpn.H3, r.Selected(alpn.H3), r)
		assert.Equal(t, map[string]string{"h3": "h3"}, r.Protocols())
		assert.Equal(t, "wiretest origin CA", r.Issuer())
		refused, asked := r.Answer(alpn.Unknown)
		assert.True(t, asked)
		assert.EqualValues(t, 120, refused.Alert)
		alpn.RequireAlert(t, refused.Err, 120)
		a, _ := r.Answer(alpn.H3)
		assert.True(t, a.Resumes, r)
		assert.True(t, a.EarlyData, r)
		assert.Equal(t, tls.X25519MLKEM768, a.Group)
		require.Len(t, r.Spoken, 1)
		s := r.Spoken[0]
		require.NoError(t, s.Err)
		assert.Equal(t, "shop", s.Server)
		assert.Equal(t, 200, s.Status)
		require.Len(t, s.AltSvc, 1)
		assert.Contains(t, s.AltSvc[0], `h3=":`)
		_, stated := s.Setting("ENABLE_CONNECT_PROTOCOL")
		assert.True(t, stated, r)
		assert.Regexp(t, `(?s)^`+site.Addr+`\noffered           QUIC v1\nh3                h3\nwiretest/unknown  alert 120 \(no application protocol\)\nissuer: wiretest origin CA\n`+
			`QUIC v1: TLS_AES_128_GCM_SHA256, X25519MLKEM768, sessions resume, with 0-RTT\nh3 over QUIC v1: status 200, server shop, SETTINGS .*, Alt-Svc h3=`, r.String())
	})
}

// A server whose sessions do not resume, on loopback, where both versions are on.
func TestProbeBothVersions(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello, HTTP3: new(origin.HTTP3), TLS: &tls.Config{SessionTicketsDisabled: true}})
	r, err := probeh3.Probe(t.Context(), site.Addr, nil)
	require.NoError(t, err)
	require.Len(t, r.Answers, 4)
	require.Len(t, r.Spoken, 2)
	for i, a := range r.Answers {
		assert.Equal(t, []uint32{alpn.QUICv1, alpn.QUICv1, alpn.QUICv2, alpn.QUICv2}[i], a.QUIC)
		assert.Equal(t, i%2 == 0, a.Selected == alpn.H3, r)
		assert.False(t, a.Resumes, r)
	}
}

func TestProbeOfAServerWithoutV2(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello, HTTP3: &origin.HTTP3{QUIC: &quic.Config{Versions: []quic.Version{quic.Version1}}}})
	r, err := probeh3.Probe(t.Context(), site.Addr, nil)
	require.NoError(t, err)
	assert.Equal(t, alpn.H3, r.Selected(alpn.H3))
	var refused *quic.VersionNegotiationError
	require.ErrorAs(t, r.Answers[2].Err, &refused)
	assert.Equal(t, "failed", r.Answers[2].String())
}

func TestProbeWhereNothingIs(t *testing.T) {
	eachWorld(t, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, HTTP3: &origin.HTTP3{Dead: true}})
		cfg := from(t, network)
		cfg.Timeout = 100 * time.Millisecond
		_, err := probeh3.Probe(t.Context(), site.Addr, cfg)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, err, "probeh3: Probe: "+site.Addr+": context deadline exceeded")
	})
}

func TestProbeThatIsCancelled(t *testing.T) {
	eachWorld(t, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Handler: hello, HTTP3: new(origin.HTTP3)})
		cfg := from(t, network)
		dial := cfg.Dial
		for _, last := range []int{2, 3} { // the third resumes
			ctx, cancel := context.WithCancel(t.Context())
			dialled := 0
			cfg.Dial = func(ctx context.Context, addr string, tls *tls.Config, quicCfg *quic.Config) (*quic.Conn, error) {
				if dialled++; dialled == last {
					cancel()
				}
				return dial(ctx, addr, tls, quicCfg)
			}
			r, err := probeh3.Probe(ctx, site.Addr, cfg)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, last, dialled)
			require.Len(t, r.Answers, last-1, r)
			require.Equal(t, alpn.H3, r.Selected(alpn.H3))
		}
	})
}

func TestProbeVerifiesWhereItIsToldTo(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello, HTTP3: new(origin.HTTP3)})
	r, err := probeh3.Probe(t.Context(), site.Addr, &probeh3.Config{TLS: site.CA().ClientTLS()})
	require.NoError(t, err)
	require.Equal(t, alpn.H3, r.Selected(alpn.H3))

	other := origin.New(t, nil)
	r, err = probeh3.Probe(t.Context(), site.Addr, &probeh3.Config{TLS: other.CA().ClientTLS()})
	require.NoError(t, err)
	a, _ := r.Answer(alpn.H3)
	assert.Zero(t, a.Alert, "this side refused")
	require.ErrorContains(t, a.Err, "certificate signed by unknown authority")
	assert.Equal(t, "not trusted", a.String())
}

func TestAlerted(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello, HTTP3: new(origin.HTTP3)})
	cfg := site.CA().ClientTLS()
	cfg.NextProtos = []string{alpn.Unknown}
	_, err := quic.DialAddr(t.Context(), site.Addr, cfg, nil)
	alpn.RequireAlert(t, probeh3.Alerted(fmt.Errorf("dialling: %w", err)), 120)

	cfg.NextProtos, cfg.RootCAs = []string{alpn.H3}, nil
	_, err = quic.DialAddr(t.Context(), site.Addr, cfg, nil)
	require.Error(t, err)
	assert.Equal(t, err, probeh3.Alerted(err), "this side refused")
	assert.NoError(t, probeh3.Alerted(nil))
}

func TestProbeErrors(t *testing.T) {
	for _, c := range []struct {
		addr string
		cfg  *probeh3.Config
		want string
	}{
		{"a.test", nil, `probeh3: Probe: address "a.test": want host:port, such as a.test:443`},
		{"a.test:1", &probeh3.Config{Timeout: -1}, "probeh3: Probe: Config.Timeout: -1ns is negative"},
		{"a.test:1", &probeh3.Config{Offers: [][]string{{alpn.H3}, nil}}, "probeh3: Probe: Config.Offers[1]: []: QUIC does not go without ALPN (RFC 9001, section 8.1)"},
		{"a.test:1", &probeh3.Config{Offers: [][]string{{alpn.H3, ""}}}, `probeh3: Probe: Config.Offers[0]: "": a name has from 1 to 255 bytes (RFC 7301, section 3.1)`},
		{"a.test:1", &probeh3.Config{Dial: func(context.Context, string, *tls.Config, *quic.Config) (*quic.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "a.test"}
		}}, "probeh3: Probe: a.test:1: lookup a.test: no such host"},
	} {
		_, err := probeh3.Probe(t.Context(), c.addr, c.cfg)
		require.EqualError(t, err, c.want)
	}
}
