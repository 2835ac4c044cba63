package sender

// Sender is one direction of a connection: a sender, the path, and a receiver.
// It has no goroutine, no lock and no clock. Whoever calls it says what time it
// is, and first of all it plays what happened until then. A time before the
// last one counts as the last one.
type Sender struct {
	path   Path
	mss    int64
	buffer int64

	now     Instant
	records records
	pending pending
	written int64 // bytes
	acked   int64
	read    int64

	cutAt  int64 // bytes with width that are in segments
	cell   int64 // of the last segment
	nth    int32
	opened bool // the last segment may still grow
	ending bool // FIN is to be sent; once it is, to no effect

	flight
	receiver
	recovery
	probe
	rtt    rtt
	rack   rack
	window window
	timer  timer

	stats Stats
}

// Stats counts transmissions.
type Stats struct {
	Sent     int // all
	Lost     int // by the path
	Resent   int // all but the first of each segment; probes included
	Probes   int // tail loss probes
	Timeouts int
	Episodes int // of fast recovery
}

// New is a sender whose handshake ends at now.
func New(now Instant, cfg Config) (*Sender, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Sender{
		path:    cfg.Path,
		mss:     int64(cfg.MSS),
		buffer:  int64(cfg.Buffer),
		now:     now,
		records: newRecords(),
		cell:    -1,
		flight:  newFlight(),
		rtt:     newRTT(cfg.RTT),
		window:  newWindow(cfg.Congestion, cfg.InitialWindow),
		timer:   timer{at: Never},
	}, nil
}

// Write sends p after what was written before, as the window allows. It keeps
// nothing of p and refuses nothing: a writer that wants back-pressure asks
// Space. After Close it does nothing.
func (s *Sender) Write(now Instant, p []byte) {
	s.Advance(now)
	if s.ending || s.dead || len(p) == 0 {
		return
	}
	s.restart()
	s.written += int64(len(p))
	s.records.scan(p, &s.pending)
	s.output()
}

// Close sends FIN after what was written. It takes a place in the order of
// segments, and is lost and late like them.
func (s *Sender) Close(now Instant) {
	s.Advance(now)
	if s.ending || s.dead {
		return
	}
	s.ending = true
	s.output()
}

// Space is how many more bytes the buffer has room for. The receive window is
// no part of the model, so one buffer serves both ends: a byte takes up room
// until it is acknowledged and read.
func (s *Sender) Space(now Instant) int {
	s.Advance(now)
	return int(max(0, s.buffer-(s.written-min(s.acked, s.read))))
}

// Readable is how many bytes have arrived in order and are not read.
func (s *Sender) Readable(now Instant) int {
	s.Advance(now)
	return int(s.arrived - s.read)
}

// Read takes n of the bytes that are readable, or as many as there are, and
// returns how many it took.
func (s *Sender) Read(now Instant, n int) int {
	n = min(n, s.Readable(now))
	s.read += int64(n)
	return n
}

// Ended says that FIN has arrived, after all else.
func (s *Sender) Ended(now Instant) bool {
	s.Advance(now)
	return s.ended
}

// TimedOut says that retransmissions went unanswered for so long that the
// sender gave up, as Linux does after 15 or so. Nothing is sent any more.
func (s *Sender) TimedOut(now Instant) bool {
	s.Advance(now)
	return s.dead
}

// Stats counts what was sent until now.
func (s *Sender) Stats(now Instant) Stats {
	s.Advance(now)
	return s.stats
}
