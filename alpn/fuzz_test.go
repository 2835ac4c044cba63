package alpn_test

import (
	"errors"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/require"
)

// FuzzParseClientHello holds that nothing panics, that however a stream is cut
// the result is the same, and that where crypto/tls reads a hello too, it
// reads the same.
func FuzzParseClientHello(f *testing.F) {
	for _, stream := range hellos(f) {
		f.Add(stream, uint8(7))
		f.Add(inRecords(stream[5:], 50), uint8(1))
	}
	f.Add(inRecords(greased(), 30), uint8(3))
	f.Add([]byte("GET / HTTP/1.1\r\n"), uint8(1))
	f.Add([]byte("\x80\x2e\x01\x00\x02"), uint8(2))
	f.Add([]byte("\x15\x03\x01\x00\x02\x02\x2a"), uint8(3))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		want, wantErr := peek(t, cut(stream), stream)
		got, err := peek(t, cut(stream, every(stream, int(size))...), stream)
		require.Equal(t, want, got)
		requireSameFailure(t, wantErr, err)
		if want == nil {
			return
		}
		if info := seenByTLS(stream); info != nil {
			requireSame(t, info, want, "")
		}
	})
}

func every(stream []byte, size int) (at []int) {
	for i := size + 1; i < len(stream); i += size + 1 {
		at = append(at, i)
	}
	return at
}

// requireSameFailure ignores what a message shows of bytes that came later.
func requireSameFailure(t *testing.T, want, got error) {
	t.Helper()
	require.Equal(t, want == nil, got == nil, "%v and %v", want, got)
	if want == nil {
		return
	}
	var a, b *alpn.HelloError
	require.True(t, errors.As(want, &a) && errors.As(got, &b))
	require.Equal(t, a.Looks, b.Looks)
	require.Equal(t, a.Offset, b.Offset)
	require.Equal(t, a.Err, b.Err)
}
