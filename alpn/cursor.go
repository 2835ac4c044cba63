package alpn

import (
	"encoding/binary"
	"fmt"
)

// flaw is the first thing that is wrong in a message.
type flaw struct {
	at  int // byte of the message
	why string
}

// cursor reads a message, or a part of it, from front to back. After a flaw
// every read returns zero and every part is empty, so a parser needs no check
// between two reads. All cursors of one message share the flaw.
type cursor struct {
	left []byte
	at   int // where left begins in the message
	flaw **flaw
}

func (c *cursor) more() bool { return len(c.left) > 0 && *c.flaw == nil }

func (c *cursor) fail(at int, format string, args ...any) {
	if *c.flaw == nil {
		*c.flaw = &flaw{at, fmt.Sprintf(format, args...)}
	}
}

func (c *cursor) bytes(n int, field string) []byte {
	if *c.flaw == nil && n > len(c.left) {
		c.fail(c.at, "%s: %d bytes wanted, %d left", field, n, len(c.left))
	}
	if *c.flaw != nil {
		return nil
	}
	taken := c.left[:n:n]
	c.left, c.at = c.left[n:], c.at+n
	return taken
}

// number is an unsigned one of size bytes.
func (c *cursor) number(size int, field string) (n int) {
	for _, b := range c.bytes(size, field) {
		n = n<<8 | int(b)
	}
	return n
}

// part is a vector with a length prefix of size bytes, in whole units of unit
// bytes.
func (c *cursor) part(size, unit int, field string) cursor {
	at := c.at
	if len(c.left) < size {
		c.fail(at, "%s: length wants %d bytes, %d left", field, size, len(c.left))
	}
	n := c.number(size, field)
	switch {
	case n%unit != 0:
		c.fail(at, "%s: length %d is no multiple of %d", field, n, unit)
	case n > len(c.left):
		c.fail(at, "%s: length %d, but %d bytes left", field, n, len(c.left))
	}
	start := c.at
	return cursor{c.bytes(n, field), start, c.flaw}
}

// filled is a part that must not be empty.
func (c *cursor) filled(size, unit int, field string) cursor {
	at := c.at
	p := c.part(size, unit, field)
	if len(p.left) == 0 {
		c.fail(at, "%s: empty", field)
	}
	return p
}

func (c *cursor) end(field string) {
	if len(c.left) > 0 {
		c.fail(c.at, "%s: %d bytes after its end", field, len(c.left))
	}
}

// numbers are all of c, two bytes each.
func numbers[T ~uint16](c cursor) []T {
	all := make([]T, len(c.left)/2)
	for i := range all {
		all[i] = T(binary.BigEndian.Uint16(c.left[2*i:]))
	}
	return all
}
