package sender

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moment is when a reader sees something new.
type moment struct {
	at      Instant
	arrived int64
	ended   bool
}

// script is writes at instants, and the end.
type script struct {
	writes []write
	close  Instant
}

type write struct {
	at Instant
	p  []byte
}

// rated is a path with a rate, a queue that drops what does not fit, and loss.
type rated struct {
	delay, perByte time.Duration
	queue          time.Duration
	key            Key
	loss           float64
	busy           Instant
	log            []sending
}

func (r *rated) Send(sent Instant, s Segment) (Instant, bool) {
	free := max(r.busy, sent)
	lost := r.key.Lost(s, r.loss) || r.queue > 0 && free.since(sent) > r.queue
	if !lost {
		r.busy = free.add(r.perByte * time.Duration(s.Width+40))
		free = r.busy
	}
	r.log = append(r.log, sending{s, sent, free.add(r.delay), lost})
	return free.add(r.delay), lost
}

func (r *rated) Back(sent Instant) Instant { return sent.add(r.delay) }
func (r *rated) Least() time.Duration      { return r.delay }

// play writes the script and advances by step, which says where to look next.
func play(t testing.TB, cfg Config, what script, step func(s *Sender, now Instant) Instant) ([]moment, *Sender) {
	t.Helper()
	s := start(t, 0, cfg)
	var seen []moment
	now := Instant(0)
	look := func() {
		n := s.Readable(now)
		m := moment{now, s.read + int64(n), s.Ended(now)}
		if last := len(seen) - 1; n > 0 || m.ended && !seen[last].ended {
			s.Read(now, n)
			seen = append(seen, m)
		}
	}
	seen = append(seen, moment{})
	for !s.Ended(now) {
		next := step(s, now)
		if len(what.writes) > 0 {
			next = min(next, what.writes[0].at)
		} else {
			next = min(next, max(what.close, now+1))
		}
		if next <= now || next > Instant(time.Hour) {
			t.Fatalf("the stream stalls at %d: %d of %d bytes arrived, next look at %d", now, s.arrived, s.written, next)
		}
		now = next
		look()
		for len(what.writes) > 0 && what.writes[0].at == now {
			s.Write(now, what.writes[0].p)
			what.writes = what.writes[1:]
		}
		if len(what.writes) == 0 && now >= what.close {
			s.Close(now)
			what.close = Never
		}
	}
	return seen, s
}

// nextRead looks only when the model says so.
func nextRead(s *Sender, _ Instant) Instant { return s.NextRead() }

// everyEvent looks whenever anything happens.
func everyEvent(s *Sender, _ Instant) Instant { return s.Next() }

// randomly looks at random instants too.
func randomly(rng *rand.Rand) func(*Sender, Instant) Instant {
	return func(s *Sender, now Instant) Instant {
		return min(s.Next(), now+1+Instant(rng.Int64N(int64(20*ms))))
	}
}

// randomScript writes total bytes in bursts, each of them in one instant.
func randomScript(rng *rand.Rand, bursts int) script {
	var what script
	at := Instant(1)
	for range bursts {
		what.writes = append(what.writes, write{at, text(1 + rng.IntN(1+rng.IntN(40_000)))})
		at += Instant(rng.Int64N(int64(60 * ms)))
		if rng.IntN(5) == 0 {
			at += Instant(rng.Int64N(int64(time.Second)))
		}
		at++
	}
	what.close = at
	return what
}

// chopped writes the same in pieces, each burst still in one instant.
func chopped(rng *rand.Rand, what script) script {
	out := script{close: what.close}
	for _, w := range what.writes {
		for p := w.p; len(p) > 0; {
			n := 1 + rng.IntN(len(p))
			if rng.IntN(3) > 0 {
				n = 1 + rng.IntN(min(len(p), 2_000))
			}
			out.writes = append(out.writes, write{w.at, p[:n]})
			p = p[n:]
		}
	}
	return out
}

func (s script) size() (n int64) {
	for _, w := range s.writes {
		n += int64(len(w.p))
	}
	return n
}

// randomConfig is made anew for each play, because a path has state.
func randomConfig(seed uint64) Config {
	rng := rand.New(rand.NewPCG(seed, 1))
	path := &rated{key: NewKey(seed, 0, 0), loss: []float64{0, 0.01, 0.05, 0.3}[rng.IntN(4)]}
	path.delay = []time.Duration{0, 1, time.Millisecond, oneWay, oneWay + 1}[rng.IntN(5)]
	if rng.IntN(2) == 0 {
		path.perByte = time.Duration(rng.IntN(3_000))
		path.queue = time.Duration(rng.IntN(3)) * 40 * time.Millisecond
	}
	return Config{Path: path, RTT: max(2*path.delay, 1), Congestion: Congestion(rng.IntN(3)), MSS: 1 + rng.IntN(1460)*rng.IntN(2) + 99}
}

func checkOnce(t testing.TB, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	what := randomScript(rng, 1+rng.IntN(12))
	cfg := randomConfig(seed)
	want, s := play(t, cfg, what, everyEvent)
	sent := cfg.Path.(*rated).log
	checkSegments(t, what, sent, s)

	for _, other := range []struct {
		name string
		what script
		step func(*Sender, Instant) Instant
	}{
		{"looking when NextRead says so", what, nextRead},
		{"looking at random instants", what, randomly(rng)},
		{"writing in pieces", chopped(rng, what), everyEvent},
		{"writing in pieces, looking when NextRead says so", chopped(rng, what), nextRead},
		{"writing in pieces, looking at random instants", chopped(rng, what), randomly(rng)},
	} {
		cfg := randomConfig(seed)
		got, _ := play(t, cfg, other.what, other.step)
		requireSame(t, sent, cfg.Path.(*rated).log, "seed %d: %s: other segments were sent", seed, other.name)
		requireSame(t, want, got, "seed %d: %s: the reader sees something else", seed, other.name)
	}
}

// requireSame is require.Equal, whose reflection costs more than the plays.
func requireSame[T comparable](t testing.TB, want, got []T, message string, args ...any) {
	t.Helper()
	if !slices.Equal(want, got) {
		require.Equal(t, want, got, append([]any{message}, args...)...)
	}
}

// checkSegments holds that every byte was sent, cut once, and read once.
func checkSegments(t testing.TB, what script, sent []sending, s *Sender) {
	t.Helper()
	var size, offset int64
	fins := 0
	for _, g := range sent {
		if g.Attempt > 0 {
			continue
		}
		if offset != g.Offset {
			require.Equal(t, offset, g.Offset, "segments leave a hole or overlap")
		}
		offset += int64(g.Width)
		size += int64(g.Size)
		if g.FIN {
			fins++
		}
	}
	require.Equal(t, what.size(), size, "bytes sent")
	require.Equal(t, what.size(), s.arrived, "bytes arrived")
	require.Equal(t, what.size(), s.read, "bytes read")
	require.Equal(t, 1, fins, "segments with FIN")
	lost := 0
	for _, g := range sent {
		if g.lost {
			lost++
		}
	}
	require.Equal(t, Stats{Sent: len(sent), Lost: lost}, Stats{Sent: s.stats.Sent, Lost: s.stats.Lost}, "counts")
	settle(t, s)
}

// settle plays what is left, after which nothing may be.
func settle(t testing.TB, s *Sender) {
	t.Helper()
	for s.Next() != Never {
		s.Advance(s.Next())
	}
	require.True(t, idle(s), "something is never acknowledged")
	require.Equal(t, s.written, s.acked)
	require.Zero(t, s.sackedOut, "sackedOut")
	require.Zero(t, s.lostOut, "lostOut")
	require.Zero(t, s.resentOut, "resentOut")
	require.Equal(t, int64(nobody), s.oldest, "order of transmission")
	require.Zero(t, s.arrivals.size, "arrivals")
	require.Zero(t, s.acks.size, "acks")
	require.Equal(t, int(s.buffer), s.Space(s.now), "space")
}

func TestResultsDependNeitherOnAdvancingNorOnChunks(t *testing.T) {
	for seed := uint64(50); seed < 150; seed++ { // 100 that reach every case of a tail loss probe
		checkOnce(t, seed)
	}
}

func FuzzResultsDependNeitherOnAdvancingNorOnChunks(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkOnce(t, seed) })
}

func TestTimeDoesNotRunBackwards(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay}})
	s.Write(10*ms, text(100))
	assert.Equal(t, 100, s.Readable(60*ms))
	s.Write(5*ms, text(50))
	assert.Equal(t, 100, s.Readable(60*ms), "written at 60 ms, though the clock was read before")
	assert.Equal(t, 150, s.Readable(110*ms))
}
