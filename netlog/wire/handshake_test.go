package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// handshake is one of both sides, and what became of them.
type handshake struct {
	client, server       netlog.Connection
	clientErr, serverErr error
	clientTLS, serverTLS *tls.Conn
}

// shake does one handshake with both sides of this package.
func shake(t testing.TB, w *world, client, server *tls.Config) *handshake {
	t.Helper()
	var log netlog.Log
	up, down := log.Open(netlog.Connection{Leg: "client"}), log.Open(netlog.Connection{Leg: "server"})
	near, far := connected(t, w)
	h := new(handshake)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.serverTLS, h.serverErr = wire.HandshakeServer(t.Context(), far, server, down)
	}()
	h.clientTLS, h.clientErr = wire.HandshakeClient(t.Context(), near, client, up)
	if h.clientErr == nil { // so that a TLS 1.3 server's refusal or ticket arrives
		near.SetReadDeadline(time.Now().Add(time.Minute))
		go func() { <-done; far.SetDeadline(time.Now()); far.Close() }()
		h.clientTLS.Read(make([]byte, 1))
	}
	<-done
	near.Close()
	far.Close()
	h.client, h.server = up.Connection(), down.Connection()
	return h
}

// connected returns both ends of a new connection.
func connected(t testing.TB, w *world) (client, server net.Conn) {
	t.Helper()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := w.listener.Accept()
		accepted <- c
	}()
	client, err := w.dial(t.Context())
	require.NoError(t, err)
	server = <-accepted
	require.NotNil(t, server)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestHandshakeIsRecordedOnBothSides(t *testing.T) {
	for name, c := range map[string]struct {
		offered, accepted []string
		sni, alpn         string
	}{
		"h2 preferred":  {[]string{"h2", "http/1.1"}, []string{"h2", "http/1.1"}, "origin.test", "h2"},
		"only http/1.1": {[]string{"h2", "http/1.1"}, []string{"http/1.1"}, "origin.test", "http/1.1"},
		"none offered":  {nil, []string{"h2"}, "origin.test", netlog.NoALPN},
		"none accepted": {[]string{"h2"}, nil, "origin.test", netlog.NoALPN},
		"an address":    {[]string{"h2"}, []string{"h2"}, "127.0.0.1", "h2"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				a := authority(t)
				server, client := a.ServerTLS("origin.test", "127.0.0.1"), a.ClientTLS()
				server.NextProtos, client.NextProtos = c.accepted, c.offered
				client.ServerName = c.sni
				h := shake(t, w, client, server)
				require.NoError(t, h.clientErr)
				require.NoError(t, h.serverErr)
				for _, side := range []netlog.Connection{h.client, h.server} {
					require.Equal(t, c.offered, side.Offered, side.Leg)
					require.Equal(t, c.alpn, side.ALPN, side.Leg)
					require.Equal(t, uint16(tls.VersionTLS13), side.TLSVersion, side.Leg)
					require.Equal(t, "Test Authority", side.Issuer, side.Leg)
					require.False(t, side.Resumed, side.Leg)
					require.False(t, side.Handshaken.IsZero(), side.Leg)
					require.Equal(t, netlog.Unknown, side.Protocol, side.Leg)
					sni := c.sni
					if net.ParseIP(sni) != nil {
						sni = ""
					}
					require.Equal(t, sni, side.ServerName, side.Leg)
				}
			})
		})
	}
}

func TestSessionsAreResumed(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				a := authority(t)
				server, client := a.ServerTLS("origin.test"), a.ClientTLS()
				client.ServerName, client.MaxVersion = "origin.test", version
				client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
				for i := range 3 {
					h := shake(t, w, client, server)
					require.NoError(t, h.clientErr)
					require.NoError(t, h.serverErr)
					require.Equal(t, i > 0, h.client.Resumed, "client, handshake %d", i)
					require.Equal(t, i > 0, h.server.Resumed, "server, handshake %d", i)
					require.Equal(t, "Test Authority", h.client.Issuer)
					require.Equal(t, "Test Authority", h.server.Issuer)
					require.Equal(t, version, h.server.TLSVersion)
				}
			})
		})
	}
}

func TestConfigForClientIsAskedOnce(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		inner, err := ca.Generate(&ca.Config{Name: "Inner Authority"})
		require.NoError(t, err)
		asked := 0
		outer := authority(t).ServerTLS("origin.test")
		outer.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			asked++
			own := inner.ServerTLS(hello.ServerName)
			own.NextProtos = []string{"http/1.1"}
			return own, nil // a new one each time: its ticket keys are not to count
		}
		client := inner.ClientTLS()
		client.ServerName = "other.test"
		client.NextProtos = []string{"h2", "http/1.1"}
		client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
		for i := range 2 {
			h := shake(t, w, client, outer)
			require.NoError(t, h.clientErr)
			require.NoError(t, h.serverErr)
			require.Equal(t, i+1, asked)
			require.Equal(t, "Inner Authority", h.server.Issuer)
			require.Equal(t, "http/1.1", h.server.ALPN)
			require.Equal(t, []string{"h2", "http/1.1"}, h.server.Offered)
			require.Equal(t, i > 0, h.server.Resumed)
		}
	})
}

func TestCertificateIsChosenAsByCryptoTLS(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var authorities []*ca.Authority
		both := new(tls.Config)
		roots := x509.NewCertPool()
		for _, name := range []string{"first", "second"} {
			a, err := ca.Generate(&ca.Config{Name: name})
			require.NoError(t, err)
			authorities = append(authorities, a)
			leaf, err := a.Leaf(name + ".test")
			require.NoError(t, err)
			both.Certificates = append(both.Certificates, *leaf)
			roots.AddCert(a.Root())
		}
		for _, name := range []string{"second", "first"} {
			h := shake(t, w, &tls.Config{RootCAs: roots, ServerName: name + ".test"}, both)
			require.NoError(t, h.clientErr)
			require.Equal(t, name, h.client.Issuer)
			require.Equal(t, name, h.server.Issuer)
		}
	})
}

func TestFailedHandshakeSaysWhoRefused(t *testing.T) {
	for name, c := range map[string]struct {
		prepare        func(client, server *tls.Config)
		client, server string
	}{
		"unknown authority": {
			func(client, _ *tls.Config) { client.RootCAs = x509.NewCertPool() },
			"TLS handshake: the client refused: tls: failed to verify certificate: x509: certificate signed by unknown authority",
			"TLS handshake: the client refused: remote error: tls: ",
		},
		"no common protocol": {
			func(client, server *tls.Config) {
				client.NextProtos, server.NextProtos = []string{"spdy/3"}, []string{"h2"}
			},
			"TLS handshake: the server refused: remote error: tls: no application protocol",
			"TLS handshake: the server refused: tls: client requested unsupported application protocols",
		},
		"no common version": {
			func(client, server *tls.Config) {
				client.MaxVersion, server.MinVersion = tls.VersionTLS12, tls.VersionTLS13
			},
			"TLS handshake: the server refused: remote error: tls: protocol version not supported",
			"TLS handshake: the server refused: tls: client offered only unsupported versions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(t *testing.T, w *world) {
				a := authority(t)
				server, client := a.ServerTLS("origin.test"), a.ClientTLS()
				client.ServerName, client.NextProtos = "origin.test", []string{"h2"}
				c.prepare(client, server)
				h := shake(t, w, client, server)
				require.ErrorContains(t, h.clientErr, "wire: "+c.client)
				require.ErrorContains(t, h.serverErr, "wire: "+c.server)
				require.Contains(t, h.client.CloseReason, c.client)
				require.Contains(t, h.server.CloseReason, c.server)
				require.Equal(t, client.NextProtos, h.server.Offered)
				require.Equal(t, "origin.test", h.server.ServerName)
				require.Equal(t, netlog.Unknown, h.server.ALPN)
				require.True(t, h.server.Handshaken.IsZero())
				require.False(t, h.server.Closed.IsZero())
			})
		})
	}
}

func TestHandshakeWithWhoDoesNotSpeakTLS(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		rec := new(netlog.Log).Open(netlog.Connection{})
		client, server := connected(t, w)
		_, err := client.Write([]byte("GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n"))
		require.NoError(t, err)
		_, err = wire.HandshakeServer(t.Context(), server, authority(t).ServerTLS("origin.test"), rec)
		require.EqualError(t, err, "wire: TLS handshake: the client does not speak TLS: tls: first record does not look like a TLS handshake")
		require.Nil(t, rec.Connection().Offered)

		rec = new(netlog.Log).Open(netlog.Connection{})
		client, server = connected(t, w)
		require.NoError(t, client.Close())
		_, err = wire.HandshakeServer(t.Context(), server, authority(t).ServerTLS("origin.test"), rec)
		require.EqualError(t, err, "wire: TLS handshake: the client hung up: EOF")
		_, err = server.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestHandshakeEndsWithItsContext(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		client, server := connected(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		log := new(netlog.Log)
		up := log.Open(netlog.Connection{})
		_, err := wire.HandshakeClient(ctx, client, &tls.Config{ServerName: "origin.test"}, up)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "TLS handshake: the client gave up: context deadline exceeded", up.Connection().CloseReason)

		down := log.Open(netlog.Connection{})
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, server = connected(t, w)
		_, err = wire.HandshakeServer(ctx, server, authority(t).ServerTLS("origin.test"), down)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "TLS handshake: the server gave up: context deadline exceeded", down.Connection().CloseReason)
	})
}

// A server that refused a client and is closed at once has refused it.
func TestHandshakeThatFailedBeforeItsContextEnded(t *testing.T) {
	authority := ca.New(t, nil)
	cfg := authority.ServerTLS()
	cfg.NextProtos = []string{"h2"}
	for range 32 { // crypto/tls says in about every second run that the context has ended
		client, server := net.Pipe()
		ctx, closeServer := context.WithCancel(t.Context())
		rec := new(netlog.Log).Open(netlog.Connection{})
		refused := make(chan error, 1)
		go func() {
			_, err := wire.HandshakeServer(ctx, &lastWords{server, closeServer}, cfg, rec)
			refused <- err
		}()
		offer := authority.ClientTLS()
		offer.ServerName, offer.NextProtos = "a.test", []string{"spdy/3"}
		require.Error(t, tls.Client(client, offer).Handshake())
		require.ErrorContains(t, <-refused, "TLS handshake: the server refused: ")
		require.Contains(t, rec.Connection().CloseReason, "TLS handshake: the server refused: ")
	}
}

// lastWords ends a context when something was written.
type lastWords struct {
	net.Conn
	end func()
}

func (c *lastWords) Write(p []byte) (int, error) {
	defer c.end()
	return c.Conn.Write(p)
}

func TestHandshakeWithoutConfig(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		client, server := connected(t, w)
		rec := new(netlog.Log).Open(netlog.Connection{})
		_, err := wire.HandshakeServer(t.Context(), server, nil, rec)
		require.EqualError(t, err, "wire: TLS handshake: the server has no tls.Config")
		_, err = wire.HandshakeClient(t.Context(), client, nil, rec)
		require.EqualError(t, err, "wire: TLS handshake: the client has no tls.Config")
	})
}

func TestResumptionThroughServerAndClient(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p *pair) {
		if !p.encrypted {
			return
		}
		p.start(func(w http.ResponseWriter, _ *http.Request) {})
		p.clientTLS.ClientSessionCache = tls.NewLRUClientSessionCache(8)
		for range 2 {
			c := p.client()
			fetch(t, c, p.get("/"))
			c.Close()
		}
		for _, log := range []*netlog.Log{&p.clientLog, &p.serverLog} {
			all := log.Connections()
			require.Len(t, all, 2)
			require.False(t, all[0].Resumed)
			require.True(t, all[1].Resumed)
		}
	})
}
