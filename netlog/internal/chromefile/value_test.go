package chromefile

import (
	"encoding/json"
	"strings"
	"testing"
)

var values = []string{
	`{"a":[1,2.5,-0,1e9,1E-2,0.0],"b":{"c":"\u00e9\n\"","d":null},"e":true,"f":[],"g":{}}`,
	`{}`, `[]`, `""`, `"\""`, `0`, `-1.5e+10`, `null`, ` { "a" : [ 1 , 2 ] } `, "{\"bad utf\xff\":\"\xc3\"}",
	`{"a" 1}`, `{"a":1,}`, `[1,]`, `{,}`, `01`, `1.`, `.5`, `-`, `1e`, `+1`, `nul`, `tru e`, `"\x"`, `"\u12g4"`, "\"a\nb\"", `{"a":1 "b":2}`, `{a:1}`, `'a'`, `[1 2]`, `}`, `]`, `,`,
}

// TestValueAgreesWithTheStandardLibrary holds the splitter to encoding/json on
// what is a value and where it ends.
func TestValueAgreesWithTheStandardLibrary(t *testing.T) {
	for _, s := range values {
		agree(t, s)
		for cut := range len(s) {
			agree(t, s[:cut])
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, s := range values {
		f.Add(s)
	}
	f.Fuzz(agree)
}

func agree(t *testing.T, s string) {
	t.Helper()
	if depthOf(s) > maxDepth {
		return
	}
	c := cursor{b: []byte(s + "\n")} // so that a number has an end
	c.space()
	v := c.value(0)
	ends := v == whole && strings.Trim(string(c.b[c.i:]), " \n\r\t") == ""
	if valid := json.Valid([]byte(s)); ends != valid {
		t.Errorf("%q: verdict %d at %d, valid is %v", s, v, c.i, valid)
	}
}

// depthOf is at least how deep brackets are nested.
func depthOf(s string) int { return strings.Count(s, "{") + strings.Count(s, "[") }

// TestVerdictOnBeginnings: what is valid is short until its end, and never bad.
func TestVerdictOnBeginnings(t *testing.T) {
	for _, s := range values[:4] {
		for cut := range len(s) {
			c := cursor{b: []byte(s[:cut])}
			if v := c.value(0); v != short {
				t.Errorf("%q: verdict %d, want that it goes on", s[:cut], v)
			}
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		c := cursor{b: []byte(strings.Repeat(open, maxDepth+1))}
		if v := c.value(0); v != bad {
			t.Errorf("%s: verdict %d", open, v)
		}
		c = cursor{b: []byte(strings.Repeat(open, maxDepth))}
		if v := c.value(0); v != short {
			t.Errorf("%s: verdict %d", open, v)
		}
	}
}
