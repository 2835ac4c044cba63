package wire

import (
	"encoding/binary"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// maxOwnFrame is the largest frame that any peer takes (RFC 9113, section
// 4.2).
const maxOwnFrame = 16 << 10

// MaxDebug is how much debug data fits a GOAWAY that any peer takes, in bytes (RFC
// 9113, sections 4.2 and 6.8).
const MaxDebug = maxOwnFrame - 8

func appendFrame(b []byte, kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) []byte {
	n := len(payload)
	b = append(b, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

func appendReset(b []byte, stream uint32, code http2.ErrCode) []byte {
	return appendFrame(b, http2.FrameRSTStream, 0, stream, binary.BigEndian.AppendUint32(nil, uint32(code)))
}

func appendWindowUpdate(b []byte, stream uint32, n int) []byte {
	return appendFrame(b, http2.FrameWindowUpdate, 0, stream, binary.BigEndian.AppendUint32(nil, uint32(n)))
}

func appendGoAway(b []byte, last uint32, code http2.ErrCode, debug string) []byte {
	p := binary.BigEndian.AppendUint32(nil, last)
	p = binary.BigEndian.AppendUint32(p, uint32(code))
	return appendFrame(b, http2.FrameGoAway, 0, 0, append(p, debug...))
}

func appendSettings(b []byte, settings []http2.Setting) []byte {
	var p []byte
	for _, s := range settings {
		p = binary.BigEndian.AppendUint16(p, uint16(s.ID))
		p = binary.BigEndian.AppendUint32(p, s.Val)
	}
	return appendFrame(b, http2.FrameSettings, 0, 0, p)
}

// appendBlock appends a header block that leaves the dynamic table as it is.
// resized are the encoder's changes of the table's size, which have to stand in
// front of the first field after the decoder asked for one (RFC 7541, section
// 4.2).
func appendBlock(b []byte, stream uint32, ends bool, resized []byte, fields []hpack.HeaderField) []byte {
	block := append([]byte(nil), resized...)
	for _, f := range fields {
		block = appendLiteral(block, f)
	}
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if ends {
		flags = http2.FlagHeadersEndStream
	}
	for len(block) > maxOwnFrame {
		b = appendFrame(b, kind, flags, stream, block[:maxOwnFrame])
		block, kind, flags = block[maxOwnFrame:], http2.FrameContinuation, 0
	}
	return appendFrame(b, kind, flags|http2.FlagHeadersEndHeaders, stream, block)
}

// appendLiteral appends a literal field without indexing, or one that never is
// indexed (RFC 7541, section 6.2).
func appendLiteral(b []byte, f hpack.HeaderField) []byte {
	first := byte(0)
	if f.Sensitive {
		first = 0x10
	}
	return appendHpackString(appendHpackString(append(b, first), f.Name), f.Value)
}

// appendHpackString appends a string without Huffman coding (RFC 7541,
// sections 5.1 and 5.2).
func appendHpackString(b []byte, s string) []byte {
	const most = 1<<7 - 1
	n := len(s)
	if n < most {
		return append(append(b, byte(n)), s...)
	}
	b = append(b, most)
	for n -= most; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|1<<7)
	}
	return append(append(b, byte(n)), s...)
}

// tableSizes returns how many bytes of a header block's beginning are changes
// of the table's size (RFC 7541, section 6.3).
func tableSizes(p []byte) (n int) {
	for n < len(p) && p[n]>>5 == 1 {
		more := p[n]&0x1f == 0x1f
		n++
		for more && n < len(p) {
			more = p[n]>>7 == 1
			n++
		}
	}
	return n
}

// unpadded is the content of a frame: without padding, priority and promised
// stream.
func unpadded(f *h2Frame, p []byte) []byte {
	pad := 0
	if f.kind != http2.FrameContinuation && f.flags.Has(http2.FlagHeadersPadded) && len(p) > 0 {
		pad, p = int(p[0]), p[1:]
	}
	skip := 0
	switch {
	case f.kind == http2.FramePushPromise:
		skip = 4
	case f.kind == http2.FrameHeaders && f.flags.Has(http2.FlagHeadersPriority):
		skip = 5
	}
	if skip+pad > len(p) {
		return nil
	}
	return p[skip : len(p)-pad]
}
