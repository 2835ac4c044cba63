package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// FuzzTap wants any bytes of both sides to pass as they are, to be recorded
// alike however they are cut, and to change by marks only.
func FuzzTap(f *testing.F) {
	for _, c := range slices.Concat(h2Scripts(), h1Scripts()) {
		f.Add(c.script.bytes(true), c.script.bytes(false), true, byte(3))
		f.Add(c.script.bytes(true), c.script.bytes(false), false, byte(11))
	}
	f.Add(markScript().bytes(true), []byte(nil), true, byte(1))
	f.Add([]byte("\r\n\n0\n\n"), []byte("\r"), true, byte(2)) // where does the message begin?
	f.Fuzz(func(t *testing.T, up, down []byte, upFirst bool, size byte) {
		s := new(script).add(upFirst, up).closedBy("client")
		if !upFirst {
			s.steps[0].data = down
			s.add(true, up)
		} else {
			s.add(false, down)
		}
		cuts := everyNth(int(size)+1, s.length())
		for _, side := range []Side{ServerSide, ClientSide} {
			whole := s.play(t, side, "h2", []int{})
			require.Equal(t, whole, s.play(t, side, "h2", cuts), "cut every %d bytes", int(size)+1)
		}
		requireMarksOnly(t, s, cuts)
	})
}

func everyNth(n, length int) []int {
	all := []int{}
	for i := n; i < length; i += n {
		all = append(all, i)
	}
	return all
}

// requireMarksOnly compares what a server reads with and without marks, as far
// as it can be read.
func requireMarksOnly(t *testing.T, s *script, cuts []int) {
	up := s.bytes(true)
	whole, cut := playMarked(t, s, []int{}).passed.Bytes(), playMarked(t, s, cuts).passed.Bytes()
	require.True(t, bytes.Equal(whole, cut), "marked differently when cut")
	if !bytes.HasPrefix(up, []byte(http2.ClientPreface)) {
		require.True(t, bytes.Equal(up, whole), "marked what is not h2")
		return
	}
	require.True(t, bytes.Equal(up, unmarked(whole)), "not the same bytes without the marks")
}

// unmarked takes the marks away as bytes: a CONTINUATION that holds a mark and
// nothing else, and the flag that it took from the frame before.
func unmarked(b []byte) []byte {
	out := bytes.Clone(b[:len(http2.ClientPreface)])
	last := 0 // where the last frame begins in out
	for b = b[len(out):]; len(b) >= frameHeaderLen; {
		n := frameHeaderLen + (int(b[0])<<16 | int(b[1])<<8 | int(b[2]))
		n = min(n, len(b))
		if isMark(b[:n]) {
			out[last+4] |= byte(http2.FlagHeadersEndHeaders)
		} else {
			last = len(out)
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return append(out, b...)
}

func isMark(frame []byte) bool {
	return len(frame) > frameHeaderLen+2 && http2.FrameType(frame[3]) == http2.FrameContinuation &&
		bytes.HasPrefix(frame[frameHeaderLen+2:], []byte(markName))
}
