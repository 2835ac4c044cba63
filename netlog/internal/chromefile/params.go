package chromefile

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Params are the parameters of an event: a JSON object, looked at in place. A
// parameter that is missing, or is of another kind, is the zero value.
type Params []byte

// value is the JSON of one parameter; nil if there is none.
func (p Params) value(key string) []byte {
	if len(p) == 0 || p[0] != '{' {
		return nil
	}
	c, m := cursor{b: p}, members{depth: 2}
	for {
		more, v := m.next(&c)
		if v != whole || !more {
			return nil
		}
		if string(m.key) == key {
			return m.value
		}
	}
}

// Has reports whether there is such a parameter.
func (p Params) Has(key string) bool { return p.value(key) != nil }

// Int is a number, or a string that holds one.
func (p Params) Int(key string) (n int64, ok bool) {
	value := p.value(key)
	if value == nil {
		return 0, false
	}
	return integer(value)
}

// Bool is true if the parameter is.
func (p Params) Bool(key string) bool { return string(p.value(key)) == "true" }

// Str is a string.
func (p Params) Str(key string) string { return text(p.value(key)) }

// Dependency is the id of the source that this event refers to.
func (p Params) Dependency() (id int64, ok bool) {
	return Params(p.value("source_dependency")).Int("id")
}

// Object is an object among the parameters.
func (p Params) Object(key string) Params { return Params(p.value(key)) }

// Each gives the elements of a list, as long as each returns true.
func (p Params) Each(key string, each func(value Value) bool) {
	list := p.value(key)
	if len(list) == 0 || list[0] != '[' {
		return
	}
	c := cursor{b: list, i: 1}
	for {
		c.space()
		start := c.i
		if c.value(3) != whole || !each(Value(list[start:c.i])) {
			return
		}
		c.space()
		if c.is(',') != whole {
			return
		}
	}
}

// Strings are the strings of a list.
func (p Params) Strings(key string) (all []string) {
	p.Each(key, func(v Value) bool {
		all = append(all, v.Str())
		return true
	})
	return all
}

// Value is any JSON.
type Value []byte

// Str is a string.
func (v Value) Str() string { return text(v) }

// Object is an object.
func (v Value) Object() Params { return Params(v) }

// escapedMark begins strings of which Chromium has percent-encoded what is not
// ASCII.
const escapedMark = "%ESCAPED:"

// text is a copy of the string that value holds: valid UTF-8, "" if it holds
// something else.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	var s string
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		s = strings.ToValidUTF8(string(inner), string(utf8.RuneError))
	} else if json.Unmarshal(value, &s) != nil {
		return ""
	}
	if rest, marked := strings.CutPrefix(s, escapedMark); marked {
		return unescaped(rest)
	}
	return s
}

// unescaped undoes the percent-encoding. A space of no width and a space stand
// between the mark and the text.
func unescaped(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\u200b"), " ")
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}
