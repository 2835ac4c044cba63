package chromefile

import (
	"slices"
	"testing"
	"time"
)

func TestParams(t *testing.T) {
	p := Params(`{"n":-7,"quoted":"42","big":9007199254740993,"half":1.5,"whole":2.0,"yes":true,"no":false,` +
		`"s":"a\u00e9\n","raw":"` + "\xff" + `","mark":"%ESCAPED:\u200b caf%C3%A9 100%25","bad":"%ESCAPED:\u200b a%FFb",` +
		`"list":["a",1,"b"],"o":{"x":{"id":5}},"source_dependency":{"id":-3,"type":1}}`)
	for key, want := range map[string]int64{"n": -7, "quoted": 42, "big": 9007199254740993, "whole": 2} {
		if n, ok := p.Int(key); n != want || !ok {
			t.Errorf("%s is %d, %v", key, n, ok)
		}
	}
	for _, key := range []string{"half", "s", "missing", "list"} {
		if n, ok := p.Int(key); ok {
			t.Errorf("%s is %d, want no integer", key, n)
		}
	}
	for key, want := range map[string]string{"s": "aé\n", "raw": "\ufffd", "mark": "café 100%", "bad": "a\ufffdb", "n": "", "missing": ""} {
		if s := p.Str(key); s != want {
			t.Errorf("%s is %q, want %q", key, s, want)
		}
	}
	if id, ok := p.Dependency(); id != -3 || !ok {
		t.Errorf("dependency %d, %v", id, ok)
	}
	if list := p.Strings("list"); !slices.Equal(list, []string{"a", "", "b"}) {
		t.Errorf("list %q", list)
	}
	if id, _ := p.Object("o").Object("x").Int("id"); id != 5 || !p.Bool("yes") || p.Bool("no") || !p.Has("no") || p.Has("nothing") {
		t.Errorf("id %d", id)
	}
	if none := Params(nil); none.Has("a") || none.Strings("a") != nil {
		t.Error("nil has something")
	}
}

func TestMilliseconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`"938379"`: 938379 * time.Millisecond, `12`: 12 * time.Millisecond, `"-4"`: -4 * time.Millisecond, `1.5`: 1500 * time.Microsecond,
	} {
		if d, ok := milliseconds([]byte(text)); d != want || !ok {
			t.Errorf("%s is %v, %v", text, d, ok)
		}
	}
	for _, text := range []string{`""`, `"soon"`, `null`, `1e300`, `"99999999999999999999"`, `9223372036854775807`} {
		if d, ok := milliseconds([]byte(text)); ok {
			t.Errorf("%s is %v, want nothing", text, d)
		}
	}
}
