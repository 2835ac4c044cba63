package alpn_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
)

// The examples of https://github.com/salesforce/ja3.
func TestJA3OfThePublishedExamples(t *testing.T) {
	first := builder{
		version: 769, suites: []uint16{47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4},
		extensions: []uint16{0, 10, 11},
		bodies:     map[uint16]string{10: vector(2, numbers([]uint16{23, 24, 25}))},
	}
	second := builder{version: 769, suites: []uint16{4, 5, 10, 9, 100, 98, 3, 6, 19, 18, 99}}
	for _, c := range []struct {
		hello      builder
		text, hash string
	}{
		{first, "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0", "ada70206e40642a3e4461f35503241d5"},
		{second, "769,4-5-10-9-100-98-3-6-19-18-99,,,", "de350869b8c85de67a350c8d186f11e6"},
	} {
		hello := c.hello.parsed(t)
		assert.Equal(t, c.text, hello.JA3Text())
		assert.Equal(t, c.hash, hello.JA3())
	}
}

// The worked example of JA4.md, and hellos of the captures that its reference
// implementation is tested with (python/test/testdata), from their JA4_ro.
func TestJA4OfThePublishedVectors(t *testing.T) {
	for ro, want := range map[string]string{
		"t13d1516h2_1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035_001b,0000,0033,0010,4469,0017,002d,000d,0005,0023,0012,002b,ff01,000b,000a,0015_0403,0804,0401,0503,0805,0501,0806,0601":                     "t13d1516h2_8daaf6152771_e5627efa2ab1",
		"t13d1516h2_1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035_0000,0017,ff01,000a,000b,0023,0010,0005,000d,0012,0033,002d,002b,001b,4469,0015_0403,0804,0401,0503,0805,0501,0806,0601":                     "t13d1516h2_8daaf6152771_e5627efa2ab1",
		"t13d1517h2_1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035_fe0d,0010,0017,0033,44cd,ff01,000a,000d,0023,002b,000b,ca34,002d,0000,0005,001b,0012_0904,0905,0906,0403,0804,0401,0503,0805,0501,0806,0601": "t13d1517h2_8daaf6152771_cb7bf5808d99",
	} {
		part := strings.Split(ro, "_")
		b := builder{
			version: 0x0303, suites: hexes(t, part[1]), extensions: hexes(t, part[2]),
			bodies: map[uint16]string{13: vector(2, numbers(hexes(t, part[3])))},
		}
		assert.Equal(t, want, b.parsed(t).JA4())

		text := b.parsed(t).JA4Text()
		slices.Sort(b.suites)
		assert.True(t, strings.HasPrefix(text, part[0]+"_"+strings.ReplaceAll(hexList(b.suites), " ", "")+"_0005,"), text)
		assert.True(t, strings.HasSuffix(text, ",ff01_"+part[3]), text)

		b.suites = append([]uint16{0x0a0a}, b.suites...)
		b.extensions = append([]uint16{0xfafa}, b.extensions...)
		b.bodies[13] = vector(2, "\x4a\x4a"+numbers(hexes(t, part[3])))
		assert.Equal(t, want, b.parsed(t).JA4(), "with GREASE, and suites in another order")
	}
}

func hexList(values []uint16) string {
	const digits = "0123456789abcdef"
	var all []string
	for _, v := range values {
		all = append(all, string([]byte{digits[v>>12], digits[v>>8&15], digits[v>>4&15], digits[v&15]}))
	}
	return strings.Join(all, ",")
}

// The rules and examples of JA4.md, one by one.
func TestJA4OfItsRules(t *testing.T) {
	b := builder{version: 0x0303, suites: []uint16{0x1301}, extensions: []uint16{16}}
	for name, want := range map[string]string{
		"h2": "h2", "http/1.1": "h1", "x": "xx",
		"\xab": "ab", "\xab\xcd": "ad", "\x30\xab": "3b", "\x30\x31\xab\xcd": "3d", "\x30\xab\xcd\x31": "01",
	} {
		b.bodies = map[uint16]string{16: protocols(name)}
		assert.Equal(t, "t12i0101"+want, b.parsed(t).JA4()[:10], "%q", name)
	}
	b.bodies = map[uint16]string{16: protocols("\x0a\x0a", "h2")}
	assert.Equal(t, "t12i0101h2_", b.parsed(t).JA4()[:11], "ALPN with GREASE")

	none := builder{version: 0x0301, suites: []uint16{0x0a0a}}
	assert.Equal(t, "t10i000000_000000000000_000000000000", none.parsed(t).JA4())
	none.version = 0x0300
	assert.Equal(t, "ts3i", none.parsed(t).JA4()[:4])
	none.version = 0x0399
	assert.Equal(t, "t00i", none.parsed(t).JA4()[:4])

	many := builder{version: 0x0302, suites: make([]uint16, 120), extensions: []uint16{0, 57}}
	assert.Equal(t, "q11d990200_", many.parsed(t).JA4()[:11], "over QUIC, and more suites than two digits count")

	unsigned := builder{version: 0x0303, suites: []uint16{1}, extensions: hexes(t, "0005,000a,000b,0012,0015,0017,001b,0023,002b,002d,0033,4469,ff01")}
	assert.Equal(t, "_0005,000a,000b,0012,0015,0017,001b,0023,002b,002d,0033,4469,ff01", unsigned.parsed(t).JA4Text()[15:], "no signature algorithms, no underscore")
}

func TestGREASE(t *testing.T) {
	var found []uint16
	for v := range 1 << 16 {
		if alpn.IsGREASE(uint16(v)) {
			found = append(found, uint16(v))
		}
	}
	assert.Equal(t, hexes(t, "0a0a,1a1a,2a2a,3a3a,4a4a,5a5a,6a6a,7a7a,8a8a,9a9a,aaaa,baba,caca,dada,eaea,fafa"), found) // RFC 8701, section 2
}
