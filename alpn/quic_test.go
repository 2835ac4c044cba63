package alpn_test

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sampleID is the connection ID of both RFCs' samples.
func sampleID() []byte { return []byte{0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08} }

// sampleFrame is the CRYPTO frame of both RFCs' client Initial.
func sampleFrame(tb testing.TB) string {
	return unhex(tb, `060040f1010000ed0303ebf8fa56f129 39b9584a3896472ec40bb863cfd3e868
		04fe3a47f06a2b69484c000004130113 02010000c000000010000e00000b6578 616d706c652e636f6dff01000100000a
		00080006001d00170018001000070005 04616c706e0005000501000000000033 00260024001d00209370b2c9caa47fba
		baf4559fedba753de171fa71f50f1ce1 5d43e994ec74d748002b000302030400 0d0010000e0403050306030203080408
		050806002d00020101001c0002400100 3900320408ffffffffffffffff050480 00ffff07048000ffff08011001048000
		75300901100f088394c8f03e51570806 048000ffff`)
}

func unhex(tb testing.TB, text string) string {
	tb.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(tb, err)
	return string(b)
}

// RFC 9001, appendix A.1, and RFC 9369, appendix A.1.
func TestInitialKeysOfTheRFCs(t *testing.T) {
	for _, c := range []struct {
		version     uint32
		key, iv, hp string
	}{
		{alpn.QUICv1, "1f369613dd76d5467730efcbe3b1a22d", "fa044b2f42a3fd3b46fb255c", "9f50449e04a0e810283a1e9933adedd2"},
		{alpn.QUICv2, "8b1a0bc121284290a29e0971b5cd045d", "91f73e2351d8fa91660e909f", "45b95e15235d6f45a6b19cbcb0294ba9"},
	} {
		key, iv, hp := alpn.InitialKeys(c.version, sampleID())
		assert.Equal(t, c.key, hex.EncodeToString(key))
		assert.Equal(t, c.iv, hex.EncodeToString(iv))
		assert.Equal(t, c.hp, hex.EncodeToString(hp))
	}
}

// RFC 9001, appendix A.2, and RFC 9369, appendix A.2.
func TestInitialPacketsOfTheRFCs(t *testing.T) {
	for version, file := range map[uint32]string{alpn.QUICv1: "rfc9001-a2.hex", alpn.QUICv2: "rfc9369-a2.hex"} {
		datagram := []byte(unhex(t, read(t, file)))
		require.Len(t, datagram, 1200)
		var reader alpn.InitialReader
		hello, err := reader.Datagram(datagram)
		require.NoError(t, err, file)
		require.NotNil(t, hello, file)
		assert.Equal(t, version, hello.QUICVersion)
		assert.Equal(t, "example.com", hello.ServerName)
		assert.Equal(t, []string{"alpn"}, hello.ALPN)
		assert.Equal(t, []uint16{0x1301, 0x1302}, hello.CipherSuites)
		assert.Equal(t, sampleFrame(t)[4:], string(hello.Raw))
		assert.Equal(t, "q13d0211an_", hello.JA4()[:11])
		assert.Empty(t, reader.Missing())
	}
}

func read(tb testing.TB, file string) string {
	tb.Helper()
	b, err := os.ReadFile("testdata/" + file)
	require.NoError(tb, err)
	return string(b)
}

// split is a hello as frames of size bytes each.
func split(hello string, size int) (frames []string) {
	for at := 0; at < len(hello); at += size {
		frames = append(frames, cryptoFrame(at, hello[at:min(at+size, len(hello))]))
	}
	return frames
}

func TestInitialsInAnyOrder(t *testing.T) {
	hello := sampleFrame(t)[4:]
	for _, version := range []uint32{alpn.QUICv1, alpn.QUICv2} {
		for size := 1; size < len(hello); size += 1 + size/8 {
			frames := split(hello, size)
			rand.Shuffle(len(frames), func(i, k int) { frames[i], frames[k] = frames[k], frames[i] })
			frames = append(frames[:len(frames)-1:len(frames)-1], frames[0], frames[len(frames)-1]) // one twice
			var reader alpn.InitialReader
			for i, frame := range frames {
				p := initial{version: version, destination: sampleID(), number: uint32(i), frames: "\x01" + frame + strings.Repeat("\x00", 20)}
				got, err := reader.Datagram(p.sealed(t))
				require.NoError(t, err)
				if i < len(frames)-1 {
					require.Nil(t, got, "frames of %d bytes: %d of %d", size, i, len(frames))
					require.NotEmpty(t, reader.Missing())
					continue
				}
				require.NotNil(t, got, "frames of %d bytes; missing %s", size, reader.Missing())
				require.Equal(t, hello, string(got.Raw))
			}
		}
	}
}

// Several frames and kinds of frames in a packet, several packets in a
// datagram, overlaps, and what is not for the reader.
func TestInitialsCoalesced(t *testing.T) {
	hello := sampleFrame(t)[4:]
	const ack = "\x02\x05\x00\x01\x00\x01\x00" + "\x03\x00\x00\x00\x00\x01\x02\x03"
	tail := initial{version: alpn.QUICv1, destination: sampleID(), frames: ack + cryptoFrame(100, hello[100:]) + cryptoFrame(60, hello[60:150])}
	head := initial{version: alpn.QUICv1, destination: sampleID(), number: 1, frames: cryptoFrame(40, hello[40:70]) + cryptoFrame(0, hello[:50])}
	zeroRTT := "\xd0\x00\x00\x00\x01\x08" + string(sampleID()) + "\x00\x05early"
	var reader alpn.InitialReader
	got, err := reader.Datagram([]byte(string(tail.sealed(t)) + zeroRTT + string(head.sealed(t)) + zeroRTT + "\x00\x00\x00"))
	require.NoError(t, err)
	require.NotNil(t, got)
	require.Equal(t, hello, string(got.Raw))

	again, err := reader.Datagram([]byte("whatever comes later"))
	require.NoError(t, err)
	require.Same(t, got, again)
}

// Each packet of a datagram is read whatever the others are (RFC 9000, section
// 12.2).
func TestInitialsCoalescedWithDamage(t *testing.T) {
	good := string(initial{version: alpn.QUICv1, destination: sampleID(), frames: sampleFrame(t)}.sealed(t))
	bad := []byte(good)
	bad[40] ^= 1
	for name, datagram := range map[string]string{
		"before":           string(bad) + good,
		"behind":           good + string(bad),
		"no packet at all": good + "\xff\xff\xff\xff\xff",
	} {
		var reader alpn.InitialReader
		hello, err := reader.Datagram([]byte(datagram))
		require.NoError(t, err, name)
		require.NotNil(t, hello, name)
	}
}

func TestInitialReaderMissesNothingOfAHelloThatIsNone(t *testing.T) {
	var reader alpn.InitialReader
	_, err := reader.Datagram(initial{version: alpn.QUICv1, destination: sampleID(), frames: cryptoFrame(0, "\x01\x00\x00\x02\x03\x03")}.sealed(t))
	require.Error(t, err)
	require.Equal(t, "nothing: all 6 bytes came, and are no ClientHello", reader.Missing())
}

// After its first flight a client sends to the connection ID that the server
// chose, with the keys of the first; after a Retry with the keys of the new one.
func TestInitialsToAnotherConnectionID(t *testing.T) {
	hello := sampleFrame(t)[4:]
	chosen := []byte{1, 2, 3, 4}
	for name, second := range map[string]initial{
		"server's choice": {destination: chosen, keyID: sampleID()},
		"after Retry":     {destination: chosen, token: "token"},
	} {
		first := initial{version: alpn.QUICv1, destination: sampleID(), frames: cryptoFrame(0, hello[:100])}
		second.version, second.number, second.frames = alpn.QUICv1, 1, cryptoFrame(100, hello[100:])
		var reader alpn.InitialReader
		_, err := reader.Datagram(first.sealed(t))
		require.NoError(t, err)
		got, err := reader.Datagram(second.sealed(t))
		require.NoError(t, err, name)
		require.NotNil(t, got, name)
	}
}

func TestInitialReaderSaysWhatIsMissing(t *testing.T) {
	hello := sampleFrame(t)[4:]
	var reader alpn.InitialReader
	assert.Equal(t, "no datagram came", reader.Missing())
	for _, c := range []struct {
		frames, want string
	}{
		{strings.Repeat("\x01", 10), "no CRYPTO frame came"},
		{cryptoFrame(200, hello[200:]), "the beginning, bytes 0 to 199"},
		{cryptoFrame(0, hello[:2]), "all behind byte 1"},
		{cryptoFrame(0, hello[:50]), "bytes 50 to 199 of 241"},
		{cryptoFrame(100, hello[100:150]), "bytes 50 to 99, 150 to 199 of 241"},
		{cryptoFrame(50, hello[50:200]), ""},
	} {
		_, err := reader.Datagram(initial{version: alpn.QUICv1, destination: sampleID(), frames: c.frames}.sealed(t))
		require.NoError(t, err)
		assert.Equal(t, c.want, reader.Missing())
	}
}

func TestInitialReaderNamesTheDamagedByte(t *testing.T) {
	id := string(sampleID())
	packet := func(frames string) string {
		return string(initial{version: alpn.QUICv1, destination: sampleID(), frames: frames}.sealed(t))
	}
	damaged := []byte(packet(cryptoFrame(0, "hello, what is this")))
	damaged[40] ^= 1
	const pad = "\x01\x01\x01\x01"
	for _, c := range []struct{ name, datagram, want string }{
		{"nothing", "", "QUIC datagram 1: byte 0: empty"},
		{"HTTP", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", `QUIC datagram 1: byte 0: not an Initial packet but one with a short header, which comes after the hello, or no QUIC: "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"`},
		{"DNS", "\x12\x34\x01\x00\x00\x01", `QUIC datagram 1: byte 0: not QUIC but garbage: "\x124\x01\x00\x00\x01"`},
		{"DTLS", "\x16\xfe\xfd\x00\x00", "QUIC datagram 1: byte 0: not QUIC but a DTLS record"},
		{"Version Negotiation", "\xc0\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", "QUIC datagram 1: byte 1: a Version Negotiation packet, which a server sends"},
		{"another version", "\xc0\xff\x00\x00\x1d", "QUIC datagram 1: byte 1: QUIC version 0xff00001d; v1 (0x00000001) and v2 (0x6b3343cf) are read"},
		{"Retry", "\xf0\x00\x00\x00\x01\x00\x00token", "QUIC datagram 1: byte 0: a Retry packet, which a server sends"},
		{"Retry of v2", "\xc0\x6b\x33\x43\xcf\x00\x00token", "QUIC datagram 1: byte 0: a Retry packet, which a server sends"},
		{"connection ID", "\xc0\x00\x00\x00\x01\x15" + strings.Repeat("i", 30), "QUIC datagram 1: byte 5: destination connection ID: length 21; at most 20"},
		{"cut in the ID", "\xc0\x00\x00\x00\x01\x08" + id[:3], "QUIC datagram 1: byte 5: destination connection ID: length 8, but 3 bytes left"},
		{"token", "\xc0\x00\x00\x00\x01\x08" + id + "\x00\x44\x00", "QUIC datagram 1: byte 17: token: 1024 bytes wanted, 0 left"},
		{"length", "\xc0\x00\x00\x00\x01\x08" + id + "\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "QUIC datagram 1: byte 24: packet of that length: 1073741824 bytes wanted, 0 left"},
		{"too short to open", "\xc0\x00\x00\x00\x01\x08" + id + "\x00\x00\x04abcd", "QUIC datagram 1: byte 16: length: 4 bytes; header protection needs 20"},
		{"damaged", string(damaged), "QUIC datagram 1: byte 0: Initial packet that the keys of connection ID 8394c8f03e515708 do not open: damaged, or from a server"},
		{"forbidden frame", packet("\x01\x08" + pad), "QUIC datagram 1: byte 22: frame of type 0x08, which no Initial packet may hold (RFC 9000, section 12.4)"},
		{"CRYPTO cut", packet("\x06\x00\x09abcd"), "QUIC datagram 1: byte 24: CRYPTO: data: 9 bytes wanted, 4 left"},
		{"CRYPTO without end", packet("\x06\x80\xff\xff\xff\x01a"), "QUIC datagram 1: byte 22: CRYPTO: 1 bytes at offset 16777215; at most 65540 are read"},
		{"a second packet", packet(pad) + "\xc0\x00\x00\x00\x02", "QUIC datagram 1: byte 42: QUIC version 0x00000002; v1 (0x00000001) and v2 (0x6b3343cf) are read"},
		{"another message", packet(cryptoFrame(0, "\x02\x00\x00\x00")), "QUIC CRYPTO stream: byte 0: handshake message of type 2 (server_hello), not a ClientHello (1)"},
		{"too long a message", packet(cryptoFrame(0, "\x01\xff\xff\xff")), "QUIC CRYPTO stream: byte 1: too long: 16777215 bytes announced, at most 65536 are read"},
		{"hello", packet(cryptoFrame(0, "\x01\x00\x00\x02\x03\x03")), "QUIC CRYPTO stream: byte 6: random: 32 bytes wanted, 0 left"},
	} {
		var reader alpn.InitialReader
		_, err := reader.Datagram([]byte(c.datagram))
		require.EqualError(t, err, "alpn: ClientHello: "+c.want, c.name)
	}
}

func TestInitialReaderGoesOnAfterDamage(t *testing.T) {
	good := initial{version: alpn.QUICv1, destination: sampleID(), frames: sampleFrame(t)}.sealed(t)
	var reader alpn.InitialReader
	for at := range good {
		bad := append([]byte(nil), good...)
		bad[at] ^= 0x10
		hello, err := reader.Datagram(bad)
		require.True(t, hello == nil, "byte %d changed, and the packet was taken", at)
		_ = err // most are errors; a changed type is a packet of another kind
	}
	hello, err := reader.Datagram(good)
	require.NoError(t, err)
	require.NotNil(t, hello)
}

// FuzzInitialReader holds that nothing panics: on datagrams as they are, and on
// frames that decrypt.
func FuzzInitialReader(f *testing.F) {
	hello := sampleFrame(f)[4:]
	f.Add([]byte(unhex(f, read(f, "rfc9001-a2.hex"))), []byte("\x06"), true)
	f.Add([]byte(cryptoFrame(0, hello[:100])), []byte(cryptoFrame(100, hello[100:])), false)
	f.Add([]byte("\x02\x05\x00\x01\x00\x01\x00"), []byte("\x1c\x01\x00\x01x"), false)
	f.Fuzz(func(t *testing.T, a, b []byte, raw bool) {
		var reader alpn.InitialReader
		for i, data := range [][]byte{a, b} {
			if !raw && len(data) < 1<<13 {
				data = initial{version: alpn.QUICv1, destination: sampleID(), number: uint32(i), frames: string(data) + "\x01\x01\x01"}.sealed(t)
			}
			hello, err := reader.Datagram(data)
			require.False(t, hello != nil && err != nil)
			require.Equal(t, hello != nil, reader.Missing() == "")
			if hello != nil {
				require.NotEmpty(t, hello.String())
			}
		}
	})
}
