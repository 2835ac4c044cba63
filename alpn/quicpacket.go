package alpn

import "encoding/binary"

// longHeader is what is not protected in a packet of the handshake (RFC 9000,
// section 17.2).
type longHeader struct {
	version     uint32
	kind        byte
	destination []byte // connection ID
	number      int    // where the packet number begins
	end         int    // of the packet
}

// Types of long header packets, as version 1 numbers them.
const (
	packetInitial = iota
	packet0RTT
	packetHandshake
	packetRetry
)

// longestID is the longest a connection ID in both versions (RFC 9000, section 17.2).
const longestID = 20

// noLongHeader says why a datagram, or what is left of it, is not one that a
// client opens a connection with; "" is that it may be.
func noLongHeader(b []byte) string {
	switch {
	case len(b) == 0:
		return "empty"
	case b[0]&0xc0 == 0xc0:
		return ""
	case b[0]&0xc0 == 0x40 && len(b) > longestID:
		return "not an Initial packet but one with a short header, which comes after the hello, or no QUIC: " + shown(b)
	case len(b) > 2 && b[0] == recordHandshake && b[1] == 0xfe: // RFC 9147, section 4: version 254.x
		return "not QUIC but a DTLS record"
	}
	return "not QUIC but garbage: " + shown(b)
}

// parseLongHeader reads the packet at the beginning of b, which is at byte
// start of its datagram; what it returns counts from the beginning of b.
func parseLongHeader(b []byte, start int) (*longHeader, *flaw) {
	var found *flaw
	c := cursor{b, start, &found}
	first := byte(c.number(1, "first byte"))
	p := &longHeader{version: uint32(c.number(4, "version")), kind: first >> 4 & 3}
	switch p.version {
	case QUICv1:
	case QUICv2:
		p.kind = (p.kind + 3) % 4 // RFC 9369, section 3.2: Initial is 1, and so on; Retry 0
	case 0:
		c.fail(start+1, "a Version Negotiation packet, which a server sends")
	default:
		c.fail(start+1, "QUIC version %#08x; v1 (%#08x) and v2 (%#08x) are read", p.version, QUICv1, QUICv2)
	}
	p.destination = connectionID(&c, "destination connection ID")
	connectionID(&c, "source connection ID")
	p.length(&c, start)
	return p, found
}

func connectionID(c *cursor, field string) []byte {
	at := c.at
	id := c.part(1, 1, field)
	if len(id.left) > longestID {
		c.fail(at, "%s: length %d; at most %d", field, len(id.left), longestID)
	}
	return id.left
}

// length finds where the packet ends.
func (p *longHeader) length(c *cursor, start int) {
	switch p.kind {
	case packetRetry:
		c.fail(start, "a Retry packet, which a server sends")
		return
	case packetInitial:
		token := c.varint("token length")
		c.bytes(clamped(token), "token")
	}
	at := c.at
	n := c.varint("length")
	p.number = c.at - start
	rest := c.bytes(clamped(n), "packet of that length")
	p.end = p.number + len(rest)
	if p.kind == packetInitial && len(rest) < 4+16 { // RFC 9001, section 5.4.2: as much as the sample needs
		c.fail(at, "length: %d bytes; header protection needs 20", len(rest))
	}
}

// varint is a variable-length integer (RFC 9000, section 16).
func (c *cursor) varint(field string) uint64 {
	if *c.flaw != nil || len(c.left) == 0 {
		c.bytes(1, field)
		return 0
	}
	size := 1 << (c.left[0] >> 6)
	var wide [8]byte
	copy(wide[8-size:], c.bytes(size, field))
	wide[8-size] &= 0x3f
	return binary.BigEndian.Uint64(wide[:])
}

// clamped is a length that fits an int; one that does not is beyond any
// datagram too.
func clamped(n uint64) int { return int(min(n, 1<<30)) }
