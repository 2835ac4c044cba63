package sender

// records tells the bytes of a TLS stream that have width from those that TLS
// puts around its plaintext. Where records begin depends on how goroutines
// happened to write, what they carry does not. A stream that is not TLS has
// width throughout. The answer to a CONNECT, or the request, may come first.
type records struct {
	step   func(*records, []byte, *pending) []byte
	header [5]byte
	have   int // of the header, or of the preamble's end
	body   int // bytes with width left in the record
	tail   int // bytes without, behind them

	over   int  // what protection adds to a record of application data
	sealed bool // after ChangeCipherSpec
}

const (
	recordHeader       = 5
	changeCipherRecord = 20
	handshakeRecord    = 22
	applicationRecord  = 23
	heartbeatRecord    = 24

	// A record's protection in TLS 1.3 with the usual ciphers: the content
	// type and a tag of 16 bytes (RFC 8446, section 5.2).
	protection13 = 17
	// Finished in TLS 1.2 has 4 + 12 bytes (RFC 5246, section 7.4.9); what
	// its record has beyond them is the protection of all that follow.
	finished12 = 16
	// No cipher makes Finished longer. A handshake record that is longer is a
	// second hello of TLS 1.3, which ChangeCipherSpec may precede as well
	// (RFC 8446, section D.4).
	maxFinished = 100
	// RFC 5246, section 6.2.3.
	maxRecord = 1<<14 + 2048
)

func newRecords() records { return records{step: (*records).opening, over: protection13} }

// scan adds what was written to what waits to be sent.
func (r *records) scan(p []byte, to *pending) {
	for len(p) > 0 {
		p = r.step(r, p, to)
	}
}

// plain is the rest of a stream that is not TLS.
func (r *records) plain(p []byte, to *pending) []byte {
	to.add(len(p), true)
	return nil
}

// opening looks at the first byte only: the others may come later, and what a
// byte is must not depend on when they do.
func (r *records) opening(p []byte, to *pending) []byte {
	switch p[0] {
	case handshakeRecord:
		r.step = (*records).head
	case 'C', 'H': // CONNECT, or HTTP's answer to it
		r.step = (*records).preamble
	default:
		r.step = (*records).plain
	}
	return p
}

// preamble ends with an empty line. What merely looks like one is a request or
// an answer in the clear, and what follows it is no handshake.
func (r *records) preamble(p []byte, to *pending) []byte {
	const end = "\r\n\r\n"
	for i, b := range p {
		switch {
		case b == end[r.have]:
			r.have++
		case b == end[0]:
			r.have = 1
		default:
			r.have = 0
		}
		if r.have == len(end) {
			r.have, r.step = 0, (*records).first
			to.add(i+1, true)
			return p[i+1:]
		}
	}
	to.add(len(p), true)
	return nil
}

// first is the byte behind a preamble.
func (r *records) first(p []byte, _ *pending) []byte {
	r.step = (*records).plain
	if p[0] == handshakeRecord {
		r.step = (*records).head
	}
	return p
}

// head takes as much of a header as looks like one.
func (r *records) head(p []byte, to *pending) []byte {
	for i, b := range p {
		if !r.plausible(b) {
			r.step = (*records).plain
			return p[i:]
		}
		r.header[r.have] = b
		r.have++
		to.add(1, false)
		if r.have == recordHeader {
			r.have = 0
			r.begin(r.header[0], int(r.header[3])<<8|int(r.header[4]))
			return p[i+1:]
		}
	}
	return nil
}

// plausible says whether b may be the next byte of the header.
func (r *records) plausible(b byte) bool {
	switch r.have {
	case 0:
		return b >= changeCipherRecord && b <= heartbeatRecord
	case 1:
		return b == 3
	case 2:
		return b <= 4
	case 3:
		return true
	default:
		return int(r.header[3])<<8|int(b) <= maxRecord
	}
}

func (r *records) begin(kind byte, length int) {
	switch {
	case kind == changeCipherRecord:
		r.sealed = true
	case kind == handshakeRecord && r.sealed && length <= maxFinished:
		r.over, r.sealed = max(length-finished12, 0), false
	}
	r.body, r.tail = length, 0
	if kind == applicationRecord {
		r.body = max(length-r.over, 0)
		r.tail = length - r.body
	}
	r.step = (*records).inside
}

func (r *records) inside(p []byte, to *pending) []byte {
	wide := min(r.body, len(p))
	narrow := min(r.tail, len(p)-wide)
	to.add(wide, true)
	to.add(narrow, false)
	r.body -= wide
	r.tail -= narrow
	if r.body+r.tail == 0 {
		r.step = (*records).head
	}
	return p[wide+narrow:]
}
