package sender

// prr is proportional rate reduction (RFC 6937): in recovery the window comes
// down to ssthresh evenly over a round trip, and the connection keeps sending.
type prr struct {
	before       int // the window before the loss
	prrDelivered int // since
	prrOut       int // sent since
}

// reduce takes delivered segments. While more than ssthresh is in the network,
// it sends in proportion; below, as slow start would, if things go well.
func (w *window) reduce(delivered int, advanced, lost bool, pipe int) {
	if delivered == 0 || w.law == nil {
		return
	}
	w.prrDelivered += delivered
	room := w.ssthresh - pipe
	var send int
	if room < 0 {
		send = (w.ssthresh*w.prrDelivered+w.before-1)/w.before - w.prrOut
	} else {
		send = max(w.prrDelivered-w.prrOut, delivered)
		if advanced && !lost {
			send++
		}
		send = min(send, room)
	}
	if w.prrOut == 0 {
		send = max(send, 1) // the first retransmission does not wait
	}
	w.cwnd = pipe + max(send, 0)
}
