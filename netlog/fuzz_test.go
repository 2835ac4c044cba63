package netlog

import (
	"bytes"
	"testing"
)

// FuzzAuthority: whatever a host is, it is itself, in any case of its letters.
func FuzzAuthority(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:443", "::1", "https://user@Example.com/", "bücher.example.", "a:b:c", "[", "%zz", ":"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a := parseAuthority(s); !a.covers(a) {
			t.Errorf("%q is not %v", s, a)
		}
	})
}

// FuzzHello: what a client writes, in whatever pieces, never stops the writing.
func FuzzHello(f *testing.F) {
	f.Add([]byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"), 3)
	f.Add([]byte("CONNECT a:443 HTTP/1.1\r\n\r\n"), 5)
	f.Fuzz(func(t *testing.T, sent []byte, cut int) {
		var h helloReader
		if cut = max(cut, 1); len(sent)/cut > 100 {
			return
		}
		for more := true; more && len(sent) > 0; {
			n := min(cut, len(sent))
			_, more = h.write(sent[:n])
			sent = sent[n:]
		}
	})
}

// FuzzTail: in whatever pieces bytes are read, the last ones are kept.
func FuzzTail(f *testing.F) {
	f.Add(bytes.Repeat([]byte("0123456789"), 20), 7)
	f.Add([]byte("\x15\x03\x03\x00\x02\x01\x00"), 1)
	f.Fuzz(func(t *testing.T, read []byte, cut int) {
		cut = max(cut, 1)
		var end tail
		for rest := read; len(rest) > 0; {
			n := min(cut, len(rest))
			end.add(rest[:n])
			rest = rest[n:]
		}
		if want := read[max(0, len(read)-longestTail):]; !bytes.Equal(end, want) {
			t.Errorf("kept %x, want %x", []byte(end), want)
		}
		end.endsTLS()
	})
}
