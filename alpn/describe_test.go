package alpn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClientHelloAsText(t *testing.T) {
	b := builder{
		version: 0x0303, suites: []uint16{0x0a0a, 0x1301}, extensions: []uint16{0x1a1a, 0, 16, 43, 10, 13, 51, 45, 35, 42, 0xfe0d, 27, 0x9999, 41},
		bodies: map[uint16]string{
			13: vector(2, "\x04\x03\x99\x99"), 35: "ticket", 45: vector(1, "\x2a\x01\x07"),
			16: protocols("\x0a\x0a", "h2"), 51: vector(2, "\x2a\x2a"+vector(2, "\x00")+"\x11\xec"+vector(2, strings.Repeat("k", 1216))),
			41: vector(2, vector(2, "session")+"\x00\x00\x00\x2a") + vector(2, vector(1, strings.Repeat("b", 32))),
		},
	}
	hello := b.parsed(t)
	assert.Equal(t, strings.Join([]string{
		"ClientHello of 1619 bytes in records of TLS 1.0",
		"\tserver name: a.test",
		"\tALPN: GREASE (0x0a0a), h2",
		"\tversions: GREASE (0x7a7a), TLS 1.3, TLS 1.2",
		"\tcipher suites: GREASE (0x0a0a), TLS_AES_128_GCM_SHA256",
		"\tgroups: GREASE (0x2a2a), X25519",
		"\tkey shares: GREASE (0x2a2a) (1 bytes), X25519MLKEM768 (1216 bytes)",
		"\tsignature algorithms: ECDSAWithP256AndSHA256, SignatureScheme(39321)",
		"\tPSK modes: GREASE (0x2a), psk_dhe_ke, 0x07",
		"\tresumption: pre-shared key (identity of 7 bytes), session ticket (6 bytes), early data follows",
		"\tECH: outer (or GREASE), config 42, KDF 1, AEAD 1, 144 bytes encrypted",
		"\textensions: GREASE (0x1a1a), server_name, application_layer_protocol_negotiation, supported_versions, supported_groups, signature_algorithms, key_share, psk_key_exchange_modes, session_ticket, early_data, encrypted_client_hello, compress_certificate, extension 39321, pre_shared_key",
		"\tJA3: " + hello.JA3(),
		"\tJA4: " + hello.JA4(),
	}, "\n"), hello.String())

	assert.Equal(t, uint32(42), hello.PSKs[0].Age)
	assert.Equal(t, []uint16{2}, hello.CertCompression)
	assert.True(t, hello.EarlyData)
	ticket, sent := hello.Extension(35)
	assert.True(t, sent)
	assert.Equal(t, "ticket", string(ticket))
}

func TestRarerExtensionsNameTheDamagedByte(t *testing.T) {
	for _, c := range []struct{ name, extension, want string }{
		{"early data", "\x00\x2a\x00\x01z", "byte 56: early_data: 1 bytes after its end"},
		{"binder missing", preSharedKey("session"), "byte 71: pre_shared_key: binders: empty"},
		{"binder too many", preSharedKey("session", 32, 32), "byte 73: pre_shared_key: more binders than identities (1)"},
		{"binder too short", preSharedKey("session", 31), "byte 73: pre_shared_key: binder: length 31; at least 32"},
		{"not last", preSharedKey("session", 32) + "\x00\x17\x00\x00", "byte 106: extended_master_secret: after pre_shared_key, which must be the last (RFC 8446, section 4.2.11)"},
		{"not last and unknown", preSharedKey("session", 32) + "\x99\x99\x00\x01z\x00\x17\x00\x00", "byte 106: extension 39321: after pre_shared_key, which must be the last (RFC 8446, section 4.2.11)"},
		{"not last but twice", preSharedKey("session", 32) + preSharedKey("session", 32), "byte 106: pre_shared_key: sent twice (RFC 8446, section 4.2)"},
		{"ECH type", "\xfe\x0d\x00\x01\x02", "byte 56: encrypted_client_hello: type 2; must be 0 (outer) or 1 (inner)"},
		{"ECH without payload", "\xfe\x0d\x00\x0a\x00\x00\x01\x00\x01\x07\x00\x00\x00\x00", "byte 64: encrypted_client_hello: payload: empty"},
		{"ECH inner", "\xfe\x0d\x00\x02\x01z", "byte 57: encrypted_client_hello: 1 bytes after its end"},
	} {
		stream := []byte(with(c.extension))
		_, err := peek(t, cut(stream), stream)
		require.EqualError(t, err, "alpn: ClientHello: "+c.want, c.name)
	}
	stream := []byte(with("\xfe\x0d\x00\x01\x01"))
	hello, err := peek(t, cut(stream), stream)
	require.NoError(t, err)
	assert.True(t, hello.ECH.Inner)
	assert.Contains(t, hello.String(), "\tECH: inner\n")
}

// preSharedKey is the extension with one identity and with binders of these
// lengths.
func preSharedKey(identity string, binders ...int) string {
	var all string
	for _, n := range binders {
		all += vector(1, strings.Repeat("b", n))
	}
	return "\x00\x29" + vector(2, vector(2, vector(2, identity)+"\x00\x00\x00\x2a")+vector(2, all))
}

func TestPreSharedKeyWithTheShortestBinder(t *testing.T) {
	stream := []byte(with("\x00\x17\x00\x00" + preSharedKey("session", 32)))
	hello, err := peek(t, cut(stream), stream)
	require.NoError(t, err)
	require.Len(t, hello.PSKs, 1)
	assert.Equal(t, "session", string(hello.PSKs[0].Identity))
	assert.Len(t, hello.PSKs[0].Binder, 32)
}
