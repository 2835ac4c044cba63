package alpn_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const alert120 = "refused" // in a table of what is chosen

// offers are the columns of chosen.
var offers = [][]string{
	nil,
	{alpn.H2},
	{alpn.HTTP11},
	{alpn.H2, alpn.HTTP11},
	{alpn.HTTP11, alpn.H2},
	{alpn.HTTP10},
	{"\x0a\x0a", "acme-tls/1"},
}

// chosen is what each policy answers to each offer; "" is no ALPN.
var chosen = []struct {
	policy alpn.Policy
	want   []string
}{
	{alpn.Policy{}, []string{"", "", "", "", "", "", ""}},
	{alpn.None(), []string{"", "", "", "", "", "", ""}},
	{alpn.Prefer(alpn.H2), []string{"", "h2", "", "h2", "h2", "", ""}},
	{alpn.Prefer(alpn.HTTP11), []string{"", "", "http/1.1", "http/1.1", "http/1.1", "", ""}},
	{alpn.Prefer(alpn.H2, alpn.HTTP11), []string{"", "h2", "http/1.1", "h2", "h2", "", ""}},
	{alpn.Prefer(alpn.HTTP11, alpn.H2), []string{"", "h2", "http/1.1", "http/1.1", "http/1.1", "", ""}},
	{alpn.Only(alpn.H2), []string{alert120, "h2", alert120, "h2", "h2", alert120, alert120}},
	{alpn.Only(alpn.HTTP11), []string{"", alert120, "http/1.1", "http/1.1", "http/1.1", alert120, alert120}},
	{alpn.Only(alpn.H2, alpn.HTTP11), []string{"", "h2", "http/1.1", "h2", "h2", alert120, alert120}},
	{alpn.Only(alpn.HTTP10, alpn.H2), []string{alert120, "h2", alert120, "h2", "h2", "http/1.0", alert120}},
	{alpn.Only(), []string{alert120, alert120, alert120, alert120, alert120, alert120, alert120}},
}

func eachChoice(do func(name string, policy alpn.Policy, offer []string, version uint16, want string)) {
	for _, row := range chosen {
		for i, offer := range offers {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				name := fmt.Sprintf("%v, offered %q, %s", row.policy, offer, tls.VersionName(version))
				do(name, row.policy, offer, version, row.want[i])
			}
		}
	}
}

func TestServerChooses(t *testing.T) {
	eachWorld(t, func(t *testing.T, connect pair) {
		eachChoice(func(name string, policy alpn.Policy, offer []string, version uint16, want string) {
			o := handshake(t, connect, quick(clientTLS(version, offer...)), policy.Server(serverTLS()))
			if want == alert120 {
				requireRefused(t, name, o, policy, offer)
				return
			}
			require.NoError(t, errors.Join(o.clientErr, o.serverErr), name)
			assert.Equal(t, want, o.client.NegotiatedProtocol, name)
			assert.Equal(t, want, o.server.NegotiatedProtocol, name)
			assert.Equal(t, version, o.client.Version, name)
		})
	})
}

// requireRefused looks at the bytes: one alert record, and nothing after it.
func requireRefused(t *testing.T, name string, o *outcome, policy alpn.Policy, offer []string) {
	t.Helper()
	require.Equal(t, []byte{21, 3, 3, 0, 2, 2, 120}, o.fromServer, name)
	require.ErrorContains(t, o.clientErr, "no application protocol", name)
	var mismatch *alpn.MismatchError
	require.ErrorAs(t, o.serverErr, &mismatch, name)
	assert.Equal(t, offer, mismatch.Offered, name)
	assert.Equal(t, policy, mismatch.Wanted, name)
	assert.ErrorContains(t, o.serverErr, "refused", name)
}

func TestUnusedALPNLeavesNoTraceInServerHello(t *testing.T) {
	for _, policy := range []alpn.Policy{alpn.None(), alpn.Prefer("other")} {
		o := handshake(t, memory, clientTLS(tls.VersionTLS12, alpn.H2, alpn.HTTP11), policy.Server(serverTLS()))
		require.NoError(t, o.clientErr)
		assert.NotContains(t, string(o.fromServer[:256]), "\x00\x10\x00", "%v: an ALPN extension", policy)
	}
}

func TestChooseAgreesWithServer(t *testing.T) {
	eachChoice(func(name string, policy alpn.Policy, offer []string, _ uint16, want string) {
		got, err := policy.Choose(offer)
		if want == alert120 {
			assert.Error(t, err, name)
			return
		}
		assert.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	})
}

// numb is a conn without deadlines that cannot be written to, as far as told.
type numb struct {
	net.Conn
	writeErr error
}

func (n numb) SetWriteDeadline(time.Time) error { return errors.New("not supported") }

func (n numb) Write(b []byte) (int, error) {
	if n.writeErr != nil {
		return 0, n.writeErr
	}
	return n.Conn.Write(b)
}

func TestRefusesOverAnyConn(t *testing.T) {
	t.Run("without deadlines", func(t *testing.T) {
		o := handshake(t, func(t *testing.T) (net.Conn, net.Conn) {
			c, s := loopback(t)
			return c, numb{s, nil}
		}, clientTLS(0, alpn.HTTP11), alpn.Only(alpn.H2).Server(serverTLS()))
		require.ErrorContains(t, o.clientErr, "no application protocol")
		require.Equal(t, "\x15\x03\x03\x00\x02\x02\x78", string(o.fromServer[:7]))
	})
	t.Run("that cannot be written to", func(t *testing.T) {
		gone := errors.New("gone")
		o := handshake(t, func(t *testing.T) (net.Conn, net.Conn) {
			c, s := loopback(t)
			return c, numb{s, gone}
		}, clientTLS(0, alpn.HTTP11), alpn.Only(alpn.H2).Server(serverTLS()))
		require.ErrorIs(t, o.serverErr, gone)
		require.EqualError(t, o.serverErr, `alpn: Only("h2"): refused: client offered "http/1.1", wanted "h2"; alert 120 not sent: gone`)
	})
}

func TestOwnGetConfigForClientIsAskedFirst(t *testing.T) {
	eachWorld(t, func(t *testing.T, connect pair) {
		askedFor := ""
		cfg := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			askedFor = hello.ServerName
			own := serverTLS()
			own.MaxVersion = tls.VersionTLS12
			own.NextProtos = []string{"own"}
			return own, nil
		}}
		o := handshake(t, connect, clientTLS(0, alpn.H2, "own"), alpn.Prefer(alpn.H2).Server(cfg))
		require.NoError(t, errors.Join(o.clientErr, o.serverErr))
		assert.Equal(t, "wiretest.test", askedFor)
		assert.Equal(t, alpn.H2, o.client.NegotiatedProtocol)
		assert.Equal(t, uint16(tls.VersionTLS12), o.client.Version, "what the callback returned does not count")

		o = handshake(t, connect, clientTLS(0, "own"), alpn.Only(alpn.H2).Server(cfg))
		requireRefused(t, "own config", o, alpn.Only(alpn.H2), []string{"own"})
	})
}

func TestOwnGetConfigForClientThatPassesOrFails(t *testing.T) {
	var own *tls.Config
	var failure error
	cfg := serverTLS()
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return own, failure }
	server := alpn.Only(alpn.H2).Server(cfg)
	o := handshake(t, loopback, clientTLS(0, alpn.H2), server)
	require.NoError(t, o.clientErr)
	assert.Equal(t, alpn.H2, o.client.NegotiatedProtocol)

	own = serverTLS()
	own.NextProtos = []string{"own"}
	o = handshake(t, loopback, clientTLS(0, alpn.H2), server)
	require.NoError(t, o.clientErr)
	assert.Equal(t, alpn.H2, o.client.NegotiatedProtocol)
	assert.Equal(t, []string{"own"}, own.NextProtos, "what the callback returned was modified")

	failure = errors.New("not today")
	o = handshake(t, loopback, clientTLS(0, alpn.H2), server)
	require.ErrorIs(t, o.serverErr, failure)
	require.ErrorContains(t, o.clientErr, "internal error")
}

func TestServerLeavesItsConfigAlone(t *testing.T) {
	cfg := serverTLS()
	cfg.NextProtos = []string{"mine"}
	alpn.Only(alpn.H2).Server(cfg)
	assert.Equal(t, []string{"mine"}, cfg.NextProtos)
	assert.Nil(t, cfg.GetConfigForClient)

	plain := alpn.Policy{}.Server(cfg)
	assert.NotSame(t, cfg, plain)
	assert.Equal(t, []string{"mine"}, plain.NextProtos)
	assert.Nil(t, plain.GetConfigForClient)
}

func TestServerWithoutCertificateSaysSo(t *testing.T) {
	late := alpn.Only(alpn.H2).Server(nil)
	late.Certificates = []tls.Certificate{certificate()}
	o := handshake(t, loopback, clientTLS(0, alpn.H2), late)
	require.EqualError(t, o.serverErr, `alpn: Only("h2"): Server: the Config it was given has no certificate, and one that was added to the copy later does not count`)
}

func TestResumption(t *testing.T) {
	key := [32]byte{1}
	for _, c := range []struct {
		name string
		cfg  func() *tls.Config
		edit func(server *tls.Config)
	}{
		{"automatic keys", serverTLS, func(*tls.Config) {}},
		{"old key field", func() *tls.Config { cfg := serverTLS(); cfg.SessionTicketKey = key; return cfg }, func(*tls.Config) {}},
		{"explicit keys", func() *tls.Config { cfg := serverTLS(); cfg.SetSessionTicketKeys([][32]byte{key}); return cfg }, func(*tls.Config) {}},
		{"keys of the copy", serverTLS, func(s *tls.Config) { s.SetSessionTicketKeys([][32]byte{key}) }},
		{"own callback", func() *tls.Config {
			own := serverTLS()
			return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return own, nil }}
		}, func(*tls.Config) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, connect pair) {
				for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
					for _, policy := range []alpn.Policy{{}, alpn.None(), alpn.Prefer("other"), alpn.Only(alpn.H2)} {
						server := policy.Server(c.cfg())
						c.edit(server)
						requireResumes(t, connect, version, server, fmt.Sprint(policy, tls.VersionName(version)))
					}
				}
			})
		})
	}
}

func requireResumes(t *testing.T, connect pair, version uint16, server *tls.Config, name string) {
	t.Helper()
	client := quick(clientTLS(version, alpn.H2))
	client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for i, want := range []bool{false, true, true} {
		o := handshake(t, connect, client, server)
		require.NoError(t, errors.Join(o.clientErr, o.serverErr), name)
		require.Equal(t, want, o.client.DidResume, "%s: connection %d", name, i)
	}
}

func TestTicketKeysRotateOnTheCopy(t *testing.T) {
	explicit, field := serverTLS(), serverTLS()
	explicit.SetSessionTicketKeys([][32]byte{{1}})
	field.SessionTicketKey = [32]byte{1}
	for name, cfg := range map[string]*tls.Config{"explicit": explicit, "field": field} {
		server := alpn.Only(alpn.H2).Server(cfg)
		client := clientTLS(0, alpn.H2)
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		require.False(t, handshake(t, loopback, client, server).client.DidResume, name)
		server.SetSessionTicketKeys([][32]byte{{2}})
		require.False(t, handshake(t, loopback, client, server).client.DidResume, "%s: a ticket of the old key was taken", name)
		require.True(t, handshake(t, loopback, client, server).client.DidResume, name)
	}
}

func TestDisabledTicketsStayDisabled(t *testing.T) {
	cfg := serverTLS()
	cfg.SessionTicketsDisabled = true
	server := alpn.Only(alpn.H2).Server(cfg)
	client := clientTLS(0, alpn.H2)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for range 2 {
		require.False(t, handshake(t, loopback, client, server).client.DidResume)
	}
}

func TestHandshakeAllocatesNoConfig(t *testing.T) {
	server := alpn.Prefer(alpn.H2).Server(serverTLS())
	hello := &tls.ClientHelloInfo{SupportedProtos: []string{alpn.HTTP11, alpn.H2}}
	allocs := testing.AllocsPerRun(100, func() { server.GetConfigForClient(hello) })
	assert.Zero(t, allocs)
}

func TestRefusalOverQUICOnlyReturns(t *testing.T) {
	server := alpn.Only(alpn.H2).Server(serverTLS())
	_, err := server.GetConfigForClient(&tls.ClientHelloInfo{SupportedProtos: []string{alpn.H3}})
	require.True(t, strings.HasPrefix(err.Error(), `alpn: Only("h2"): refused: client offered "h3"`), err)
}
