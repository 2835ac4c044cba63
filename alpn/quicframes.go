package alpn

import "slices"

// Types of the frames that an Initial packet may hold (RFC 9000, section 12.4).
const (
	framePadding         = 0x00
	framePing            = 0x01
	frameACK             = 0x02
	frameACKWithECN      = 0x03
	frameCrypto          = 0x06
	frameConnectionClose = 0x1c
)

// frames reads all of a packet's, and keeps what CRYPTO frames carry.
func (s *cryptoStream) frames(c cursor) {
	for c.more() {
		at := c.at
		switch kind := c.varint("frame type"); kind {
		case framePadding, framePing:
		case frameACK, frameACKWithECN:
			skipACK(&c, kind == frameACKWithECN)
		case frameCrypto:
			s.frame(&c)
		case frameConnectionClose:
			c.varint("CONNECTION_CLOSE: error code")
			c.varint("CONNECTION_CLOSE: frame type")
			c.bytes(clamped(c.varint("CONNECTION_CLOSE: reason length")), "CONNECTION_CLOSE: reason")
		default:
			c.fail(at, "frame of type %#02x, which no Initial packet may hold (RFC 9000, section 12.4)", kind)
		}
	}
}

// skipACK reads past the fields of RFC 9000, section 19.3.
func skipACK(c *cursor, withECN bool) {
	c.varint("ACK: largest")
	c.varint("ACK: delay")
	ranges := c.varint("ACK: range count")
	c.varint("ACK: first range")
	for ; ranges > 0 && c.more(); ranges-- {
		c.varint("ACK: gap")
		c.varint("ACK: range")
	}
	if withECN {
		c.varint("ACK: ECT(0)")
		c.varint("ACK: ECT(1)")
		c.varint("ACK: CE")
	}
}

// cryptoStream is what CRYPTO frames carry, put together in whatever order they
// come.
type cryptoStream struct {
	bytes []byte
	have  []span // of bytes; sorted, and never touching
}

type span struct{ from, to int }

func (s *cryptoStream) frame(c *cursor) {
	at := c.at
	from := c.varint("CRYPTO: offset")
	size := c.varint("CRYPTO: length")
	if from+size > handshakeHeader+maxHello { // neither is above 2^62
		c.fail(at, "CRYPTO: %d bytes at offset %d; at most %d are read", size, from, handshakeHeader+maxHello)
	}
	data := c.bytes(clamped(size), "CRYPTO: data")
	if len(data) > 0 {
		s.add(int(from), data)
	}
}

func (s *cryptoStream) add(from int, data []byte) {
	to := from + len(data)
	if to > len(s.bytes) {
		s.bytes = append(s.bytes, make([]byte, to-len(s.bytes))...)
	}
	copy(s.bytes[from:], data)
	s.have = slices.DeleteFunc(s.have, func(old span) bool {
		if old.to < from || old.from > to {
			return false
		}
		from, to = min(from, old.from), max(to, old.to)
		return true
	})
	at, _ := slices.BinarySearchFunc(s.have, from, func(old span, from int) int { return old.from - from })
	s.have = slices.Insert(s.have, at, span{from, to})
}

// beginning is what came without a gap.
func (s *cryptoStream) beginning() []byte {
	if len(s.have) == 0 || s.have[0].from > 0 {
		return nil
	}
	return s.bytes[:s.have[0].to:s.have[0].to]
}
