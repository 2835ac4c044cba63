package sender

// Key decides the fate of one transmission by hashing what it is, so that the
// same seed loses the same segments however the scheduler interleaved the
// writes. Change nothing here lightly: every seed written down in a test means
// other losses afterwards.
type Key struct{ state uint64 }

// NewKey is the key of one direction of one connection: the seed of its link,
// its ordinal among the connections of the link, and the direction as any two
// numbers.
func NewKey(seed, connection, direction uint64) Key {
	return Key{absorb(absorb(absorb(0, seed), connection), direction)}
}

// handshakeCell is a cell that no segment begins in.
const handshakeCell = -1

// SYN is a transmission of the first segment of a handshake; that of the other
// direction is the SYN-ACK. Attempt 0 is the first.
func SYN(attempt int) Segment { return Segment{Cell: handshakeCell, Attempt: attempt} }

// Draw is a number in [0, 1) that belongs to this transmission, uniform and
// independent of all others.
func (k Key) Draw(s Segment) float64 {
	h := absorb(absorb(absorb(k.state, uint64(s.Cell)), uint64(s.Nth)), uint64(s.Attempt))
	return float64(h>>11) / (1 << 53)
}

// Lost says whether this transmission is lost with probability p.
func (k Key) Lost(s Segment, p float64) bool { return k.Draw(s) < p }

// absorb takes one more word into the state. The finalizer is that of
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014), whose every output bit depends on every input bit.
func absorb(state, word uint64) uint64 {
	z := (state+0x9e3779b97f4a7c15)*0xd1342543de82ef95 ^ word
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
