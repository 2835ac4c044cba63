package alpn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answered is what a crypto/tls server sends to a client with version and
// offer.
func answered(tb testing.TB, version uint16, server *tls.Config, offer ...string) []byte {
	tb.Helper()
	hello := capture(tb, clientTLS(version, offer...))
	var sent bytes.Buffer
	tls.Server(&writing{segments: *cut(hello), w: &sent}, server).Handshake()
	return sent.Bytes()
}

// writing keeps what is written to it.
type writing struct {
	segments
	w io.Writer
}

func (c *writing) Write(b []byte) (int, error) { return c.w.Write(b) }
func (*writing) Close() error                  { return nil }

func TestPeekServerHello(t *testing.T) {
	both := serverTLS()
	both.NextProtos = []string{alpn.H2, alpn.HTTP11}
	retries := serverTLS()
	retries.CurvePreferences = []tls.CurveID{tls.CurveP521}
	for _, c := range []struct {
		name    string
		version uint16
		server  *tls.Config
		want    alpn.ServerHello
	}{
		{"TLS 1.2 with ALPN", tls.VersionTLS12, both, alpn.ServerHello{Version: tls.VersionTLS12, ALPN: alpn.H2}},
		{"TLS 1.2 without", tls.VersionTLS12, serverTLS(), alpn.ServerHello{Version: tls.VersionTLS12}},
		{"TLS 1.0", tls.VersionTLS10, &tls.Config{MinVersion: tls.VersionTLS10, Certificates: serverTLS().Certificates}, alpn.ServerHello{Version: tls.VersionTLS10}},
		{"TLS 1.3", tls.VersionTLS13, both, alpn.ServerHello{Version: tls.VersionTLS13, Group: tls.X25519MLKEM768}},
		{"HelloRetryRequest", tls.VersionTLS13, retries, alpn.ServerHello{Version: tls.VersionTLS13, Group: tls.CurveP521, Retry: true}},
	} {
		stream := answered(t, c.version, c.server, alpn.H2)
		for at := range 200 {
			hello, replayed, err := alpn.PeekServerHello(cut(stream, min(at+1, len(stream)-1)))
			require.NoError(t, err, c.name)
			require.Equal(t, c.want.Version, hello.Version, c.name)
			require.Equal(t, c.want.ALPN, hello.ALPN, c.name)
			require.Equal(t, c.want.Group, hello.Group, c.name)
			require.Equal(t, c.want.Retry, hello.Retry, c.name)
			require.NotContains(t, tls.CipherSuiteName(hello.CipherSuite), "0x", c.name)
			again, err := io.ReadAll(replayed)
			require.NoError(t, err)
			require.Equal(t, stream, again, c.name)
		}
	}
}

// What shows a resumption differs by version.
func TestPeekServerHelloOfAResumption(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		client, server := clientTLS(version), serverTLS()
		client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for i := range 2 {
			var hello *alpn.ClientHello
			o := handshake(t, func(t *testing.T) (net.Conn, net.Conn) {
				c, s := loopback(t)
				return c, &peeking{Conn: s, hello: &hello}
			}, client, server)
			require.NoError(t, errors.Join(o.clientErr, o.serverErr))
			answer, _, err := alpn.PeekServerHello(cut(o.fromServer))
			require.NoError(t, err)
			resumed := i == 1
			require.Equal(t, resumed, o.client.DidResume)
			if version == tls.VersionTLS13 {
				assert.Equal(t, resumed, answer.PSK)
				assert.Equal(t, resumed, len(hello.PSKs) == 1 && len(hello.PSKs[0].Binder) >= 32 && len(hello.PSKs[0].Identity) > 0)
				assert.Equal(t, resumed, bytes.Contains([]byte(hello.String()), []byte("pre-shared key (identity of ")))
				continue
			}
			assert.Equal(t, resumed, len(hello.SessionTicket) > 0)
			assert.NotNil(t, hello.SessionTicket)
			assert.Equal(t, resumed, bytes.Equal(hello.SessionID, answer.SessionID) && len(answer.SessionID) > 0)
		}
	}
}

func TestPeekServerHelloSaysWhatElseCame(t *testing.T) {
	const random = "\x03\x03................................"
	in := func(body string) string {
		return string(inRecords(append([]byte{2, 0, 0, byte(len(body))}, body...), 1<<14))
	}
	for _, c := range []struct{ name, stream, want string }{
		{"refused", "\x15\x03\x03\x00\x02\x02\x78", "byte 0: not a ServerHello but a TLS alert: level 2, tls: no application protocol (120)"},
		{"plain HTTP", "HTTP/1.1 400 Bad Request\r\n", `byte 0: not a ServerHello but an HTTP response: "HTTP/1.1 400 Bad Request"`},
		{"SSH", "SSH-2.0-x\r\n", `byte 0: not a ServerHello but an SSH banner: "SSH-2.0-x"`},
		{"nothing", "", "byte 0: nothing was sent: EOF"},
		{"a client", "\x16\x03\x01\x00\x04\x01\x00\x00\x00", "byte 5: handshake message of type 1 (client_hello), not a ServerHello (2)"},
		{"cut", in(random)[:20], "byte 20: truncated, at least 43 bytes expected: unexpected EOF"},
		{"no cipher suite", in(random + "\x00"), "byte 44: cipher_suite: 2 bytes wanted, 0 left"},
		{"two names", in(random + "\x00\x13\x01\x00\x00\x0c\x00\x10\x00\x08\x00\x06\x02h2\x02h3"), "byte 53: application_layer_protocol_negotiation: 2 names; an answer has one"},
		{"twice", in(random + "\x00\x13\x01\x00\x00\x08\x00\x17\x00\x00\x00\x17\x00\x00"), "byte 53: extended_master_secret: sent twice (RFC 8446, section 4.2)"},
		{"key", in(random + "\x00\x13\x01\x00\x00\x06\x00\x33\x00\x02\x00\x1d"), "byte 55: key_share: key: length wants 2 bytes, 0 left"},
	} {
		_, _, err := alpn.PeekServerHello(cut([]byte(c.stream)))
		require.EqualError(t, err, "alpn: ServerHello: "+c.want, c.name)
	}
}

// FuzzParseServerHello holds that nothing panics, and that what crypto/tls
// sends is read however it is cut.
func FuzzParseServerHello(f *testing.F) {
	both := serverTLS()
	both.NextProtos = []string{alpn.H2}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		f.Add(answered(f, version, both, alpn.H2)[:200], uint8(7))
	}
	f.Add([]byte("\x15\x03\x03\x00\x02\x02\x78"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		want, _, wantErr := alpn.PeekServerHello(cut(stream))
		got, _, err := alpn.PeekServerHello(cut(stream, every(stream, int(size))...))
		require.Equal(t, want, got)
		requireSameFailure(t, wantErr, err)
	})
}
