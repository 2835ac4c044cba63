package linkdelay

// tally is a Ledger that is being written, under the wire's mutex.
type tally struct {
	in, duplicated       Count
	dropped              [causes]Count
	lost                 [causes]int64 // segments
	reordered, corrupted int64
	largestDropped       int
}

// arrivals is the part that the mailbox at the far end writes, under its own
// mutex.
type arrivals struct {
	coming     Count
	delivered  Count
	noReceiver Count
	unread     Count

	largestDelivered, largestDropped int
}

func (t *tally) drop(why cause, packets, bytes int) {
	t.dropped[why].add(packets, bytes)
	if packets > 0 {
		t.largestDropped = max(t.largestDropped, bytes)
	}
}

func (t *tally) ledger() Ledger {
	l := Ledger{
		In: t.in, Duplicated: t.duplicated,
		Reordered: t.reordered, Corrupted: t.corrupted, LargestDropped: t.largestDropped,
	}
	for c := none + 1; c < causes; c++ {
		l.drop(c.public(), t.dropped[c])
		if t.lost[c] > 0 {
			l.Segments.plus(Segments{Lost: map[Cause]int64{c.public(): t.lost[c]}})
		}
	}
	return l
}
