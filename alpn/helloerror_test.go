package alpn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeekNamesWhatIsNotTLS(t *testing.T) {
	for _, c := range []struct{ stream, looks, want string }{
		{"GET /page HTTP/1.1\r\nHost: a\r\n\r\n", alpn.LooksHTTP, `an HTTP request: "GET /page HTTP/1.1"`},
		{"CONNECT a.test:443 HTTP/1.1\r\n", alpn.LooksHTTP, `an HTTP request: "CONNECT a.test:443 HTTP/1.1"`},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", alpn.LooksHTTP2, `an HTTP/2 preface: "PRI * HTTP/2.0"`},
		{"HTTP/1.1 400 Bad Request\r\n", alpn.LooksAnswer, `an HTTP response: "HTTP/1.1 400 Bad Request"`},
		{"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n", alpn.LooksProxy, `a PROXY protocol header: "PROXY TCP4 1.2.3.4 5.6.7.8 1 2"`},
		{"\r\n\r\n\x00\r\nQUIT\n\x21", alpn.LooksProxy, `a PROXY protocol header: "\r\n\r\n\x00\r\nQUIT\n!"`},
		{"SSH-2.0-OpenSSH_9.9\r\n", alpn.LooksSSH, `an SSH banner: "SSH-2.0-OpenSSH_9.9"`},
		{"EHLO a.test\r\n", alpn.LooksSMTP, `an SMTP greeting: "EHLO a.test"`},
		{"\x05\x01\x00", alpn.LooksSOCKS, `a SOCKS greeting: "\x05\x01\x00"`},
		{"\x80\x2e\x01\x00\x02", alpn.LooksSSLv2, `an SSLv2 hello: "\x80.\x01\x00\x02"`},
		{"\x80\x2e\x01\x03\x01", alpn.LooksSSLv2, `an SSLv2 hello: "\x80.\x01\x03\x01"`},
		{"\x15\x03\x01\x00\x02\x02\x2a", alpn.LooksAlert, `a TLS alert: level 2, tls: bad certificate (42)`},
		{"\x17\x03\x03\x00\x02xx", alpn.LooksRecord, `a TLS record of type 23 (application_data)`},
		{"\x14\x03\x03\x00\x01\x01", alpn.LooksRecord, `a TLS record of type 20 (change_cipher_spec)`},
		{"\x17\x01", alpn.LooksGarbage, `garbage: "\x17\x01"`},
		{"\x00", alpn.LooksGarbage, `garbage: "\x00"`},
		{"\x80\x80\x80", alpn.LooksGarbage, `garbage: "\x80\x80\x80"`},
		{"GETTING", alpn.LooksGarbage, `garbage: "GETTING"`},
		{string(bytes.Repeat([]byte("z"), 60)), alpn.LooksGarbage, `garbage: "` + string(bytes.Repeat([]byte("z"), 48)) + `"…`},
	} {
		_, err := peek(t, cut([]byte(c.stream)), []byte(c.stream))
		require.EqualError(t, err, "alpn: ClientHello: byte 0: not a ClientHello but "+c.want)
		var failure *alpn.HelloError
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, c.looks, failure.Looks)

		_, err = peek(t, oneByteEach([]byte(c.stream)), []byte(c.stream))
		require.ErrorAs(t, err, &failure, "one byte at a time")
		assert.Equal(t, c.looks, failure.Looks, "%q, one byte at a time", c.stream)
	}
}

// waiting fails the test if it is read from once its bytes are used up.
type waiting struct{ segments }

func (w *waiting) Read(b []byte) (int, error) {
	if len(w.left) == 0 {
		panic("waits for bytes that the client need not send")
	}
	return w.segments.Read(b)
}

func TestPeekDecidesWithoutWaiting(t *testing.T) {
	for _, stream := range []string{"GET ", "\x15\x03\x01\x00\x02\x02\x2a", "\x05", "\x80\x2e\x01\x00", "\x80\x2e\x02", "Q", "\x17\x03"} {
		_, _, err := alpn.PeekClientHello(&waiting{*oneByteEach([]byte(stream))})
		require.ErrorContains(t, err, "not a ClientHello but ")
	}
	stream := capture(t, clientTLS(0))
	_, _, err := alpn.PeekClientHello(&waiting{*oneByteEach(stream)})
	require.NoError(t, err)
}

func TestPeekTruncatedAnywhere(t *testing.T) {
	stream := capture(t, clientTLS(tls.VersionTLS13, alpn.H2))
	records := inRecords(stream[5:], 100)
	for _, whole := range [][]byte{stream, records} {
		for n := 1; n < len(whole); n++ {
			_, err := peek(t, cut(whole[:n]), whole[:n])
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%d bytes", n)
			var failure *alpn.HelloError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, n, failure.Offset)
		}
	}
	for _, c := range []struct {
		stream string
		want   string
	}{
		{"", "alpn: ClientHello: byte 0: nothing was sent: EOF"},
		{"PO", `alpn: ClientHello: byte 2: truncated, at least 9 bytes expected, so far "PO": unexpected EOF`},
		{"\x16\x03\x01", "alpn: ClientHello: byte 3: truncated, at least 9 bytes expected: unexpected EOF"},
		{"\x16\x03\x01\x02\x00\x01\x00\x01", "alpn: ClientHello: byte 8: truncated, at least 517 bytes expected: unexpected EOF"},
		{"\x16\x03\x01\x00\x04\x01\x00\x01\x00", "alpn: ClientHello: byte 9: truncated, at least 270 bytes expected: unexpected EOF"},
		{"\x16\x03\x01\x00\x04\x01\x00\x01\x00\x16\x03\x01\x00\x10zz", "alpn: ClientHello: byte 16: truncated, at least 270 bytes expected: unexpected EOF"},
	} {
		_, err := peek(t, cut([]byte(c.stream)), []byte(c.stream))
		require.EqualError(t, err, c.want)
	}
	_, err := peek(t, cut(nil), nil)
	require.ErrorIs(t, err, io.EOF)
}

func TestPeekPassesReadErrorsOn(t *testing.T) {
	reset := errors.New("connection reset")
	conn := cut([]byte("\x16\x03\x01"))
	conn.err = reset
	_, _, err := alpn.PeekClientHello(conn)
	require.ErrorIs(t, err, reset)
	require.EqualError(t, err, "alpn: ClientHello: byte 3: read failed, at least 9 bytes expected: connection reset")
}

func TestPeekNamesTheDamagedByte(t *testing.T) {
	const random = "\x03\x03................................"
	for _, c := range []struct{ name, stream, want string }{
		{"version of the record", "\x16\x09\x01\x00\x04", "byte 1: record version 9.1 is none of TLS"},
		{"empty record", "\x16\x03\x01\x00\x00", "byte 3: empty handshake record (RFC 8446, section 5.1)"},
		{"record too long", "\x16\x03\x01\x40\x01", "byte 3: too long: record of 16385 bytes; at most 16384 (RFC 8446, section 5.1)"},
		{"another message", "\x16\x03\x01\x00\x04\x02\x00\x00\x00", "byte 5: handshake message of type 2 (server_hello), not a ClientHello (1)"},
		{"another record within", "\x16\x03\x01\x00\x02\x01\x00\x15\x03\x01\x00\x02\x02\x00", "byte 7: record of type 21 (alert) inside the ClientHello"},
		{"message too long", "\x16\x03\x01\x00\x04\x01\xff\xff\xff", "byte 6: too long: 16777215 bytes announced, at most 65536 are read"},
		{"nothing in it", in(""), "byte 9: legacy_version: 2 bytes wanted, 0 left"},
		{"no version", in("\x03"), "byte 9: legacy_version: 2 bytes wanted, 1 left"},
		{"session id", in(random + "\x21" + string(make([]byte, 40))), "byte 43: legacy_session_id: length 33; at most 32"},
		{"session id cut", in(random + "\x20xx"), "byte 43: legacy_session_id: length 32, but 2 bytes left"},
		{"odd cipher suites", in(random + "\x00\x00\x03abc"), "byte 44: cipher_suites: length 3 is no multiple of 2"},
		{"no cipher suites", in(random + "\x00\x00\x00\x01\x00"), "byte 44: cipher_suites: empty"},
		{"no compression", in(random + "\x00\x00\x02\x13\x01\x00"), "byte 48: legacy_compression_methods: empty"},
		{"after extensions", in(random + "\x00\x00\x02\x13\x01\x01\x00\x00\x00z"), "byte 52: extensions: 1 bytes after its end"},
		{"extension cut", with("\x00\x10\x00\x09\x00"), "byte 54: application_layer_protocol_negotiation: length 9, but 1 bytes left"},
		{"extension without length", with("\x00\x10\x00"), "byte 54: application_layer_protocol_negotiation: length wants 2 bytes, 1 left"},
		{"unknown extension cut", with("\x99\x99\x00\x09\x00"), "byte 54: extension 39321: length 9, but 1 bytes left"},
		{"twice", with("\x00\x17\x00\x00\x00\x17\x00\x00"), "byte 56: extended_master_secret: sent twice (RFC 8446, section 4.2)"},
		{"empty ALPN", with("\x00\x10\x00\x02\x00\x00"), "byte 56: application_layer_protocol_negotiation: empty"},
		{"empty name", with("\x00\x10\x00\x03\x00\x01\x00"), "byte 58: application_layer_protocol_negotiation: name: empty"},
		{"name too long", with("\x00\x10\x00\x05\x00\x03\x09h2"), "byte 58: application_layer_protocol_negotiation: name: length 9, but 2 bytes left"},
		{"after the list", with("\x00\x10\x00\x06\x00\x03\x02h2z"), "byte 61: application_layer_protocol_negotiation: 1 bytes after its end"},
		{"two hosts", with("\x00\x00\x00\x0a\x00\x08\x00\x00\x01a\x00\x00\x01b"), "byte 62: server_name: two host names (RFC 6066, section 3)"},
		{"no host", with("\x00\x00\x00\x05\x00\x03\x00\x00\x00"), "byte 59: server_name: name: empty"},
		{"empty key", with("\x00\x33\x00\x06\x00\x04\x00\x1d\x00\x00"), "byte 60: key_share: key: empty"},
		{"odd groups", with("\x00\x0a\x00\x03\x00\x01z"), "byte 56: supported_groups: length 1 is no multiple of 2"},
	} {
		_, err := peek(t, cut([]byte(c.stream)), []byte(c.stream))
		require.EqualError(t, err, "alpn: ClientHello: "+c.want, c.name)
	}
}

// in is body as a hello in one record.
func in(body string) string {
	msg := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return string(inRecords(msg, 1<<14))
}

// with is a hello that has just these extensions, from byte 52 on.
func with(extensions string) string {
	n := len(extensions)
	return in("\x03\x03................................\x00\x00\x02\x13\x01\x01\x00" + string([]byte{byte(n >> 8), byte(n)}) + extensions)
}

func TestDamageIsCountedInTheStream(t *testing.T) {
	whole := []byte(with("\x00\x10\x00\x03\x00\x01\x00")) // byte 58 of it, 53 of the message
	for size, want := range map[int]string{
		10:  "byte 83: ", // sixth record of 15 bytes
		53:  "byte 63: ", // first byte of the second record
		54:  "byte 58: ",
		100: "byte 58: ",
	} {
		records := inRecords(whole[5:], size)
		_, err := peek(t, cut(records), records)
		require.EqualError(t, err, "alpn: ClientHello: "+want+"application_layer_protocol_negotiation: name: empty")
	}
}
