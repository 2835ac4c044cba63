package origin

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const procHead = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func TestParseSockets(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the examples are of a little-endian machine")
	}
	all, err := parseSockets(strings.NewReader(procHead +
		"   0: 0100007F:1F90 0200007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 20 4 30 10 -1\n" +
		"   1: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:0001 0A 00000000:00000000 00:00000000 00000000  1000        0 4712\n" +
		"   2: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:FFFF 01 00000000:00000000 00:00000000 00000000  1000        0 4713\n"))
	require.NoError(t, err)
	var told []string
	for _, s := range all {
		told = append(told, s.remote.String()+" "+s.state+" "+s.inode)
	}
	assert.Equal(t, []string{"127.0.0.2:50000 01 4711", "[::1]:1 0A 4712", "127.0.0.1:65535 01 4713"}, told)
}

// Linux lists a socket twice at times, when others come and go meanwhile.
func TestSocketListedTwice(t *testing.T) {
	line := "0: 0100007F:1F90 0200007F:C350 01 0 0 0 0 0 4711\n"
	listed, err := parseSockets(strings.NewReader(procHead + line + line + strings.Replace(line, "4711", "4712", 1)))
	require.NoError(t, err)
	assert.Len(t, establishedAmong(listed, map[string]bool{"4711": true}), 1)
}

func TestParseSocketsRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"0: 0100007F:1F90":                     "line 2 has 2 fields: want 10 or more",
		"0: 0:0 0100:1F90 01 0 0 0 0 0 0":      `line 2: remote address "0100:1F90": 2 bytes: want 4 or 16`,
		"0: 0:0 0100007G:1F90 01 0 0 0 0 0 0":  `line 2: remote address "0100007G:1F90": encoding/hex: invalid byte`,
		"0: 0:0 0100007F:1F901 01 0 0 0 0 0 0": `value out of range`,
	} {
		_, err := parseSockets(strings.NewReader(procHead + line))
		assert.ErrorContains(t, err, want)
	}
}

func FuzzParseSockets(f *testing.F) {
	f.Add(procHead + "0: 0:0 0100007F:1F90 01 0 0 0 0 0 0")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseSockets(strings.NewReader(text))
		for _, s := range all {
			assert.True(t, err != nil || s.remote.IsValid())
		}
	})
}
