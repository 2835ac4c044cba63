package chromefile

// verdict is what can be said of JSON of which only the beginning may be there.
type verdict int

const (
	whole verdict = iota
	short         // all is well so far
	bad           // no continuation makes it valid
)

// maxDepth is far above what Chromium nests (about ten), and keeps what a
// search for the next event costs within a constant times the size.
const maxDepth = 32

// cursor goes over the JSON in b. It holds it to RFC 8259, but for UTF-8.
type cursor struct {
	b []byte
	i int
}

func (c *cursor) space() {
	for c.i < len(c.b) && isSpace(c.b[c.i]) {
		c.i++
	}
}

func isSpace(ch byte) bool { return ch == ' ' || ch == '\n' || ch == '\r' || ch == '\t' }

// is takes ch if it comes next.
func (c *cursor) is(ch byte) verdict {
	switch {
	case c.i == len(c.b):
		return short
	case c.b[c.i] != ch:
		return bad
	}
	c.i++
	return whole
}

// value goes past a value that is inside of depth others.
func (c *cursor) value(depth int) verdict {
	if c.i == len(c.b) {
		return short
	}
	switch ch := c.b[c.i]; ch {
	case '"':
		return c.text()
	case '{':
		return c.object(depth + 1)
	case '[':
		return c.array(depth + 1)
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	default:
		return c.number()
	}
}

func (c *cursor) object(depth int) verdict {
	if depth > maxDepth {
		return bad
	}
	m := members{depth: depth}
	for {
		more, v := m.next(c)
		if v != whole || !more {
			return v
		}
	}
}

// members goes over the members of one object.
type members struct {
	depth int
	begun bool
	key   []byte // without quotes, escapes as they are
	value []byte
}

// next moves to the next member. At the end of the object more is false and c
// is behind it.
func (m *members) next(c *cursor) (more bool, v verdict) {
	if v := m.nextKey(c); v != whole || m.key == nil {
		return false, v
	}
	start := c.i
	if v := c.value(m.depth); v != whole {
		return false, v
	}
	m.value = c.b[start:c.i]
	return true, whole
}

// nextKey moves to the next member's value; key is nil at the object's end.
func (m *members) nextKey(c *cursor) verdict {
	m.key = nil
	opener := byte('{')
	if m.begun {
		c.space()
		if v := c.is('}'); v != bad {
			return v
		}
		opener = ','
	}
	if v := c.is(opener); v != whole {
		return v
	}
	c.space()
	if !m.begun {
		m.begun = true
		if v := c.is('}'); v != bad {
			return v
		}
	}
	return m.name(c)
}

func (m *members) name(c *cursor) verdict {
	start := c.i
	if c.i < len(c.b) && c.b[c.i] != '"' {
		return bad
	}
	if v := c.text(); v != whole {
		return v
	}
	key := c.b[start+1 : c.i-1]
	c.space()
	if v := c.is(':'); v != whole {
		return v
	}
	c.space()
	m.key = key
	return whole
}

func (c *cursor) array(depth int) verdict {
	if depth > maxDepth {
		return bad
	}
	c.i++
	c.space()
	if v := c.is(']'); v != bad {
		return v
	}
	for {
		if v := c.value(depth); v != whole {
			return v
		}
		c.space()
		if v := c.is(']'); v != bad {
			return v
		}
		if v := c.is(','); v != whole {
			return v
		}
		c.space()
	}
}

// text goes past a string. A raw control character is where a torn line ends,
// so that no quote in a later event closes it.
func (c *cursor) text() verdict {
	if v := c.is('"'); v != whole {
		return v
	}
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; {
		case ch == '"':
			c.i++
			return whole
		case ch == '\\':
			if v := c.escape(); v != whole {
				return v
			}
		case ch < ' ':
			return bad
		default:
			c.i++
		}
	}
	return short
}

func (c *cursor) escape() verdict {
	if c.i+1 == len(c.b) {
		return short
	}
	switch c.b[c.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.i += 2
		return whole
	case 'u':
		c.i += 2
		return c.hex4()
	}
	return bad
}

func (c *cursor) hex4() verdict {
	for range 4 {
		if c.i == len(c.b) {
			return short
		}
		switch ch := c.b[c.i] | 0x20; {
		case ch >= '0' && ch <= '9', ch >= 'a' && ch <= 'f':
			c.i++
		default:
			return bad
		}
	}
	return whole
}

func (c *cursor) literal(word string) verdict {
	for k := range len(word) {
		if v := c.is(word[k]); v != whole {
			return v
		}
	}
	return whole
}

// number needs the byte behind it to see its end.
func (c *cursor) number() verdict {
	if c.is('-') == whole && c.i == len(c.b) {
		return short
	}
	if c.is('0') != whole {
		if v := c.digits(); v != whole {
			return v
		}
	}
	if c.is('.') == whole {
		if v := c.digits(); v != whole {
			return v
		}
	}
	if c.is('e') == whole || c.is('E') == whole {
		if c.is('+') != whole {
			c.is('-')
		}
		if v := c.digits(); v != whole {
			return v
		}
	}
	if c.i == len(c.b) {
		return short
	}
	return whole
}

func (c *cursor) digits() verdict {
	start := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	switch {
	case c.i == len(c.b):
		return short
	case c.i == start:
		return bad
	}
	return whole
}
