package alpn_test

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/require"
)

// builder makes a hello by hand.
type builder struct {
	version    uint16
	suites     []uint16
	extensions []uint16
	bodies     map[uint16]string // where not the usual one
}

func (b builder) message() []byte {
	msg := []byte{1, 0, 0, 0}
	msg = binary.BigEndian.AppendUint16(msg, b.version)
	msg = append(msg, make([]byte, 32+1)...)
	msg = append(msg, vector(2, numbers(b.suites))...)
	msg = append(msg, 1, 0)
	if b.extensions != nil {
		var all string
		for _, id := range b.extensions {
			all += numbers([]uint16{id}) + vector(2, b.body(id))
		}
		msg = append(msg, vector(2, all)...)
	}
	msg[2], msg[3] = byte((len(msg)-4)>>8), byte(len(msg)-4)
	return msg
}

func (b builder) body(id uint16) string {
	if body, ok := b.bodies[id]; ok {
		return body
	}
	usual := map[uint16]string{
		0:      vector(2, "\x00"+vector(2, "a.test")),
		10:     vector(2, numbers([]uint16{0x2a2a, 29})),
		11:     vector(1, "\x00"),
		16:     protocols("h2", "http/1.1"),
		27:     vector(1, "\x00\x02"),
		43:     vector(1, numbers([]uint16{0x7a7a, 0x0304, 0x0303})),
		45:     vector(1, "\x01"),
		51:     vector(2, ""),
		0xfe0d: "\x00\x00\x01\x00\x01\x2a" + vector(2, strings.Repeat("e", 32)) + vector(2, strings.Repeat("p", 144)),
	}
	return usual[id]
}

// parsed is what PeekClientHello makes of it.
func (b builder) parsed(tb testing.TB) *alpn.ClientHello {
	tb.Helper()
	stream := inRecords(b.message(), 1<<14)
	hello, err := peek(tb, cut(stream), stream)
	require.NoError(tb, err)
	return hello
}

func vector(size int, content string) string {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(content)))
	return string(length[8-size:]) + content
}

func numbers(values []uint16) string {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return string(b)
}

func protocols(names ...string) string {
	var all string
	for _, name := range names {
		all += vector(1, name)
	}
	return vector(2, all)
}

// hexes are what the published vectors list: 1301,1302.
func hexes(tb testing.TB, text string) (values []uint16) {
	tb.Helper()
	for _, one := range strings.Split(text, ",") {
		b, err := hex.DecodeString(one)
		require.NoError(tb, err)
		values = append(values, binary.BigEndian.Uint16(b))
	}
	return values
}
