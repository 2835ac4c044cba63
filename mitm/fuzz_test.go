package mitm

import (
	"bufio"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
)

// A pattern that is taken matches its own name, and none that only looks alike.
func FuzzPattern(f *testing.F) {
	for _, entry := range []string{"host", "host:443", "*.example.com", "[::1]:5", "::1", "*.a:0", "a:b:c", "http://x", "*", ""} {
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		pat, err := parsePattern(entry)
		if err != nil {
			return
		}
		port := pat.port
		if port == "" {
			port = "443"
		}
		name := pat.name
		if pat.below {
			name = "sub." + name
		}
		if !pat.matches(plainHost(name), port) && plainHost(name) == name {
			t.Errorf("%q, which is %+v, does not match %q:%s", entry, pat, name, port)
		}
		if pat.matches("not-"+name+"-at-all", port) {
			t.Errorf("%q matches another name", entry)
		}
	})
}

// What is a target can be dialled, and written as one again.
func FuzzTarget(f *testing.F) {
	for _, authority := range []string{"host:443", "[::1]:80", "host", ":1", "host:", "host:65536", "a@b:1", "a b:1"} {
		f.Add(authority)
	}
	f.Fuzz(func(t *testing.T, authority string) {
		target, err := parseTarget(authority)
		if err != nil {
			return
		}
		again, err := parseTarget(target.String())
		if err != nil || again != target {
			t.Errorf("%q is %v, and that is %v, %v", authority, target, again, err)
		}
	})
}

// Whatever Connection says, nothing that belongs to one connection is left.
func FuzzEndToEnd(f *testing.F) {
	f.Add("Connection: a, b\r\nA: 1\r\nB: 2\r\nC: 3\r\nKeep-Alive: x\r\n")
	f.Add("connection: ,\r\nconnection: close,\tX-Y \r\nx-y: z\r\n")
	f.Fuzz(func(t *testing.T, head string) {
		reader := textproto.NewReader(bufio.NewReader(strings.NewReader(head + "\r\n")))
		parsed, err := reader.ReadMIMEHeader()
		if err != nil {
			return
		}
		before := http.Header(parsed).Clone()
		out := endToEnd(http.Header(parsed))
		hop := hopByHop()
		named := hop[:]
		for _, value := range before["Connection"] {
			for name := range strings.SplitSeq(value, ",") {
				named = append(named, http.CanonicalHeaderKey(strings.Trim(name, " \t")))
			}
		}
		for name, values := range before {
			if _, kept := out[name]; kept == slices.Contains(named, name) {
				t.Errorf("%q: kept %v, named %q", name, kept, named)
			} else if kept && !slices.Equal(out[name], values) {
				t.Errorf("%q: %q, want %q", name, out[name], values)
			}
		}
	})
}
