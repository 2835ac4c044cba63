package sender

import "time"

// Dialled is a handshake (RFC 9293, section 3.5), for both of its ends.
type Dialled struct {
	Established Instant       // the dialler has the SYN-ACK
	Accepted    Instant       // the listener has the dialler's acknowledgement
	RTT         time.Duration // of the segments that got through
	Resent      int           // SYNs and SYN-ACKs after the first of each
}

const (
	firstSYN   = time.Second // RFC 6298, section 2.1
	synRetries = 6
	ackRetries = 5 // of the SYN-ACK
)

// Window is the initial window after this handshake: one segment if more than
// one transmission was lost (RFC 5681, section 3.1, as RFC 6298, section 5.7,
// and Linux temper it), else segments.
func (d Dialled) Window(segments int) int {
	if d.Resent > 1 {
		return 1
	}
	return segments
}

// retry is a packet that is sent again after a second, two, four …
type retry struct {
	at   Instant // of the next transmission
	wait time.Duration
	sent int
	left int
}

func (r *retry) send() (attempt int) {
	r.sent++
	r.at = r.at.add(r.wait)
	r.wait *= 2
	return r.sent - 1
}

// Handshake is played step by step, on paths that may change while it goes on.
type Handshake struct {
	there, back Path
	syn, answer retry
	heard       ring[Instant] // arrivals of SYNs
	established Instant
	up, down    time.Duration
	failed      bool
}

// NewHandshake begins now, on the paths there and back; nothing is sent before
// the first Step.
func NewHandshake(now Instant, there, back Path) *Handshake {
	h := &Handshake{there: there, back: back, established: Never}
	h.syn = retry{at: now, wait: firstSYN, left: synRetries + 1}
	h.answer = retry{at: Never, wait: firstSYN, left: ackRetries + 1}
	return h
}

// Over says that no step is left: the answer that counts is on its way, or the
// dialler gave up.
func (h *Handshake) Over() bool { return h.failed || h.established <= h.Next() }

// Next is the instant of the next step.
func (h *Handshake) Next() Instant {
	at := min(h.syn.at, h.answer.at)
	if h.heard.size > 0 {
		at = min(at, *h.heard.front())
	}
	return at
}

// Result is for when it is Over. Not ok is that nothing was heard when the
// dialler gave up, in the instant that Established says, after 127 seconds.
func (h *Handshake) Result() (d Dialled, ok bool) {
	resent := max(h.syn.sent-1, 0) + max(h.answer.sent-1, 0)
	if h.failed {
		return Dialled{Established: h.syn.at, Accepted: Never, Resent: resent}, false
	}
	return Dialled{h.established, h.back.Back(h.established), h.up + h.down, resent}, true
}

// Cut loses what is on its way, also where it is Over, which it may not be then.
func (h *Handshake) Cut() {
	h.heard = ring[Instant]{}
	h.established = Never
}

// Step plays what happens at Next, and says whether a SYN is heard then.
func (h *Handshake) Step() (heard bool) {
	now := h.Next()
	switch {
	case h.heard.size > 0 && *h.heard.front() == now:
		h.heard.pop()
		h.answer.at = now // every SYN is answered at once
		return true
	case h.answer.at == now:
		h.reply(now)
	case h.syn.sent == h.syn.left:
		h.failed = true
	default:
		h.ask(now)
	}
	return false
}

func (h *Handshake) ask(now Instant) {
	at, lost := h.there.Send(now, SYN(h.syn.send()))
	if lost {
		return
	}
	if h.heard.size > 0 {
		at = max(at, *h.heard.back())
	}
	h.heard.push(at)
	if h.up == 0 {
		h.up = at.since(now)
	}
}

func (h *Handshake) reply(now Instant) {
	if h.answer.sent == h.answer.left {
		h.answer.at = Never
		return
	}
	at, lost := h.back.Send(now, SYN(h.answer.send()))
	if !lost && at < h.established {
		h.established, h.down = at, at.since(now)
	}
}
