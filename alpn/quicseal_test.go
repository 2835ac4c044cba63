package alpn_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/require"
)

// initial is an Initial packet before it is protected.
type initial struct {
	version     uint32
	keyID       []byte // connection ID of which the keys are made; nil is destination
	destination []byte
	token       string
	number      uint32
	frames      string
}

// sealed is the packet as it is sent (RFC 9001, section 5), with a packet
// number of four bytes.
func (p initial) sealed(tb testing.TB) []byte {
	tb.Helper()
	if p.keyID == nil {
		p.keyID = p.destination
	}
	key, iv, hp := alpn.InitialKeys(p.version, p.keyID)
	header := []byte{0xc3}
	if p.version == alpn.QUICv2 {
		header[0] = 0xd3
	}
	header = binary.BigEndian.AppendUint32(header, p.version)
	header = append(header, vector(1, string(p.destination))+vector(1, "")+varint(len(p.token))+p.token...)
	header = append(header, varint(4+len(p.frames)+16)...)
	at := len(header)
	header = binary.BigEndian.AppendUint32(header, p.number)
	for i := range 4 {
		iv[8+i] ^= header[at+i]
	}
	packet := append(header, gcm(tb, key).Seal(nil, iv, []byte(p.frames), header)...)
	mask := make([]byte, 16)
	block(tb, hp).Encrypt(mask, packet[at+4:at+20])
	packet[0] ^= mask[0] & 0x0f
	for i := range 4 {
		packet[at+i] ^= mask[1+i]
	}
	return packet
}

func block(tb testing.TB, key []byte) cipher.Block {
	b, err := aes.NewCipher(key)
	require.NoError(tb, err)
	return b
}

func gcm(tb testing.TB, key []byte) cipher.AEAD {
	g, err := cipher.NewGCM(block(tb, key))
	require.NoError(tb, err)
	return g
}

// varint is of two bytes, as most are.
func varint(n int) string {
	if n < 64 {
		return string([]byte{byte(n)})
	}
	return string([]byte{0x40 | byte(n>>8), byte(n)})
}

func cryptoFrame(offset int, data string) string {
	return "\x06" + varint(offset) + varint(len(data)) + data
}
