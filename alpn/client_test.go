package alpn_test

import (
	"crypto/tls"
	"errors"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClientOffers(t *testing.T) {
	for _, c := range []struct {
		policy alpn.Policy
		want   []string
	}{
		{alpn.Policy{}, []string{"mine"}},
		{alpn.None(), nil},
		{alpn.Prefer(alpn.H2, alpn.HTTP11), []string{alpn.H2, alpn.HTTP11}},
		{alpn.Only(alpn.HTTP11), []string{alpn.HTTP11}},
	} {
		eachWorld(t, func(t *testing.T, connect pair) {
			var offered []string
			server := serverTLS()
			server.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				offered = hello.SupportedProtos
				return nil, nil
			}
			cfg := clientTLS(0, "mine")
			handshake(t, connect, c.policy.Client(cfg), server)
			assert.Equal(t, c.want, offered, c.policy)
			assert.Equal(t, []string{"mine"}, cfg.NextProtos)
			assert.Nil(t, cfg.VerifyConnection)
		})
	}
}

func TestOnlyClientRefuses(t *testing.T) {
	for _, c := range []struct {
		policy alpn.Policy
		added  []string // to what Client returned
		server []string
		want   string
	}{
		{alpn.Only(alpn.H2), nil, []string{alpn.H2}, ""},
		{alpn.Only(alpn.H2), nil, nil, `alpn: Only("h2"): refused: server chose no ALPN, wanted "h2"`},
		{alpn.Only(alpn.HTTP11), nil, nil, ""},
		{alpn.Only(alpn.H2, alpn.HTTP11), nil, nil, ""},
		{alpn.Prefer(alpn.H2), nil, nil, ""},
		{alpn.Only(alpn.HTTP11), []string{alpn.H2}, []string{alpn.H2}, `alpn: Only("http/1.1"): refused: server chose "h2", wanted "http/1.1"; "h2" was added to the NextProtos that Client returned, as http.Transport's ForceAttemptHTTP2 does`},
	} {
		eachWorld(t, func(t *testing.T, connect pair) {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				client := c.policy.Client(clientTLS(version))
				client.NextProtos = append(client.NextProtos, c.added...)
				server := serverTLS()
				server.NextProtos = c.server
				o := handshake(t, connect, client, server)
				if c.want == "" {
					require.NoError(t, o.clientErr, c.policy)
					continue
				}
				require.EqualError(t, o.clientErr, c.want)
				var mismatch *alpn.MismatchError
				require.ErrorAs(t, o.clientErr, &mismatch)
			}
		})
	}
}

func TestOwnVerifyConnectionIsAskedFirst(t *testing.T) {
	failure := errors.New("not this one")
	cfg := clientTLS(0)
	cfg.VerifyConnection = func(tls.ConnectionState) error { return failure }
	o := handshake(t, loopback, alpn.Only(alpn.H2).Client(cfg), serverTLS())
	require.ErrorIs(t, o.clientErr, failure)

	cfg.VerifyConnection = func(tls.ConnectionState) error { return nil }
	o = handshake(t, loopback, alpn.Only(alpn.H2).Client(cfg), serverTLS())
	var mismatch *alpn.MismatchError
	require.ErrorAs(t, o.clientErr, &mismatch)
}

func TestClientOfNil(t *testing.T) {
	assert.Equal(t, []string{alpn.H2}, alpn.Only(alpn.H2).Client(nil).NextProtos)
	assert.NotNil(t, alpn.Policy{}.Client(nil))
}
