package sender

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALostSegmentHoldsBackWhatFollowsAndNothingElse(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(1, 3)}})
	s.Write(0, text(8*1460))
	for _, c := range []struct {
		at   Instant
		want int
	}{
		{50*ms - 1, 0},
		{50 * ms, 3 * 1460}, // what precedes it is on time
		{150*ms - 1, 3 * 1460},
		{150 * ms, 8 * 1460}, // what follows comes with it
	} {
		assert.Equal(t, c.want, s.Readable(c.at), "readable at %d ns", c.at)
	}
}

func TestAStreamWithoutLossTakesOneDelay(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay}, Congestion: NoWindow})
	for i := range Instant(1000) {
		early := s.Readable(i*ms - 1)
		require.Equal(t, int(max(i-50, 0))*5_000, early, "just before %d ms", i)
		require.Equal(t, int(max(i-49, 0))*5_000, s.Readable(i*ms), "at %d ms", i)
		s.Write(i*ms, text(5_000))
	}
}

func TestWritesOfOneInstantMerge(t *testing.T) {
	w := &wire{delay: oneWay}
	s := start(t, 0, Config{Path: w})
	for range 4 {
		s.Write(ms, text(500))
	}
	s.Write(2*ms, text(500))
	s.Close(2 * ms)
	s.Advance(time3)
	require.Len(t, w.sent, 3)
	assert.Equal(t, Segment{Offset: 0, Width: 1460, Size: 1460}, w.sent[0].Segment)
	assert.Equal(t, Segment{Offset: 1460, Width: 540, Size: 540, Cell: 1}, w.sent[1].Segment)
	assert.Equal(t, Segment{Offset: 2000, Width: 500, Size: 500, Cell: 1, Nth: 1, FIN: true}, w.sent[2].Segment)
}

const time3 = 3 * ms

func TestFINTakesItsPlaceAndIsLost(t *testing.T) {
	for _, c := range []struct {
		name         string
		lost         []int64
		arrive, ends Instant
	}{
		{"nothing", nil, 50 * ms, 60 * ms},
		{"the data", []int64{0}, 175 * ms, 175 * ms}, // FIN's acknowledgement tells, 125 ms after the data was sent
		{"FIN", []int64{1}, 50 * ms, 450 * ms},       // a timeout after the data's acknowledgement
	} {
		s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(1, c.lost...)}})
		s.Write(0, text(1460))
		s.Close(10 * ms)
		assert.Equal(t, c.arrive, finish(t, s, 10*ms, 1460), "%s lost: the data", c.name)
		for !s.ended {
			s.Advance(s.NextRead())
		}
		assert.Equal(t, c.ends, s.now, "%s lost: the end", c.name)
		settle(t, s)
	}
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay}})
	s.Close(0)
	s.Close(0)
	s.Write(0, text(5))
	settle(t, s)
	assert.True(t, s.Ended(50*ms))
	assert.Zero(t, s.Readable(50*ms))
	assert.Equal(t, 1, s.Stats(50*ms).Sent)
}

func TestTheBufferHoldsBackAWriter(t *testing.T) {
	const buffer = 100_000
	s := start(t, 0, Config{Path: &wire{delay: oneWay}, Congestion: NoWindow, Buffer: buffer})
	s.Write(0, text(buffer))
	assert.Zero(t, s.Space(0))
	assert.Equal(t, 100*ms, drain(s, false), "all is acknowledged")
	assert.True(t, idle(s))
	assert.Zero(t, s.Space(s.now), "nobody has read")
	s.Read(s.now, 30_000)
	assert.Equal(t, 30_000, s.Space(s.now))
	s.Write(s.now, text(50_000))
	assert.Zero(t, s.Space(s.now), "more than fits is taken, and the writer is told")
}

// drain plays all events, with a reader or without, and returns when the last was.
func drain(s *Sender, reading bool) Instant {
	for s.Next() != Never {
		s.Advance(s.Next())
		if reading {
			s.Read(s.now, math.MaxInt)
		}
	}
	return s.now
}

func TestNextSpaceIsWhenTheBufferDrains(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay}, Buffer: 20_000})
	s.Write(0, text(20_000))
	s.Read(50*ms, math.MaxInt)
	assert.Equal(t, 100*ms, s.NextSpace())
	assert.Equal(t, 14_600, s.Space(100*ms))
}

func TestMemoryIsBoundedByTheBuffer(t *testing.T) {
	const buffer = 1 << 20
	s := start(t, 0, Config{Path: &wire{delay: oneWay, drop: dropping(8, 0)}, Congestion: NoWindow, Buffer: buffer})
	for s.now < Instant(10*time.Second) {
		s.Write(s.now, text(s.Space(s.now)))
		s.Advance(s.Next())
	}
	segments := buffer/1460 + 1
	assert.LessOrEqual(t, len(s.segments), 2*segments)
	assert.LessOrEqual(t, len(s.arrivals.items), 2*segments)
	assert.LessOrEqual(t, len(s.acks.items), 2*segments)
	assert.LessOrEqual(t, len(s.pending.runs.items), 16)
}

func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	for _, loss := range []float64{0, 0.01} {
		path := &silent{rated: rated{delay: oneWay, key: NewKey(1, 0, 0), loss: loss}}
		s := start(t, 0, Config{Path: path})
		p := text(16 << 10)
		round := func() {
			for s.Space(s.now) < len(p) {
				s.Read(min(s.NextRead(), s.NextSpace()), math.MaxInt)
			}
			s.Write(s.now, p)
		}
		for range 5_000 {
			round()
		}
		assert.Zero(t, testing.AllocsPerRun(2_500, round), "per 16 KiB at a loss of %v", loss)
	}
}

func TestASilentPathTimesOut(t *testing.T) {
	w := &wire{delay: oneWay, drop: func(Segment) bool { return true }}
	s := start(t, 0, Config{Path: w})
	s.Write(0, text(1000))
	drain(s, true)
	assert.True(t, s.TimedOut(s.now))
	gaps := make([]time.Duration, 0, len(w.sent))
	for i := range w.sent[1:] {
		gaps = append(gaps, w.sent[i+1].at.since(w.sent[i].at))
	}
	want := []time.Duration{300, 300, 600, 1200, 2400, 4800, 9600, 19200, 38400, 76800, 120000, 120000, 120000, 120000, 120000, 120000}
	for i := range want {
		want[i] *= time.Millisecond
	}
	assert.Equal(t, want, gaps, "the probe, then timeouts that double up to 2 minutes")
	assert.InDelta(t, 924.6, time.Duration(s.now).Seconds(), 130)
	s.Write(s.now, text(1))
	s.Close(s.now)
	assert.Equal(t, Never, s.Next(), "nothing is sent any more")
}

func TestAHoleThatEnds(t *testing.T) {
	for ends, want := range map[Instant]Instant{
		100 * ms:  350 * ms, // the probe
		500 * ms:  650 * ms, // the timeout after it
		1000 * ms: 1250 * ms,
		2000 * ms: 2450 * ms,
		4000 * ms: 4850 * ms,
	} {
		var s *Sender
		s = start(t, 0, Config{Path: &wire{delay: oneWay, drop: func(Segment) bool { return s.now < ends }}})
		s.Write(0, text(1000))
		assert.Equal(t, want, finish(t, s, 0, 1000), "a hole that ends at %d ms", ends/ms)
		settle(t, s)
	}
}

// A path that slows down makes the sender time out for nothing. It must not
// lose count over what then arrives twice.
func TestSpuriousRetransmissions(t *testing.T) {
	for _, c := range []Congestion{Reno, Cubic, NoWindow} {
		w := &wire{delay: oneWay}
		s := start(t, 0, Config{Path: w, Congestion: c})
		for i := range Instant(40) {
			if i == 10 {
				w.delay = 2 * time.Second
			}
			if i == 30 {
				w.delay = 20 * time.Millisecond
			}
			s.Write(i*100*ms, text(20_000))
		}
		s.Close(4100 * ms)
		finish(t, s, s.now, 40*20_000)
		settle(t, s)
		assert.Positive(t, s.Stats(s.now).Resent, "%v", c)
		assert.Zero(t, s.Stats(s.now).Lost, "%v", c)
		assert.True(t, s.Ended(s.now))
	}
}

// A bottleneck of 10 Mbit/s with a queue of 50 ms keeps busy, whatever the law.
func TestABottleneckIsFilled(t *testing.T) {
	for _, c := range []Congestion{Reno, Cubic} {
		path := &rated{delay: oneWay, perByte: 800, queue: 100 * time.Millisecond}
		s := start(t, 0, Config{Path: path, Congestion: c})
		const n = 20 << 20
		s.Write(0, text(n))
		took := time.Duration(finish(t, s, 0, n))
		atBest := time.Duration(n*1500/1460) * 800
		t.Logf("%v: %v, at best %v, %+v", c, took, atBest, s.stats)
		assert.Less(t, took, atBest*13/10, "%v", c)
		assert.Positive(t, s.stats.Lost, "the queue overflows")
		assert.Less(t, s.stats.Resent, 2*s.stats.Lost+10, "retransmissions are few")
		settle(t, s)
	}
}

func TestConfigNamesTheField(t *testing.T) {
	w := &wire{}
	for want, cfg := range map[string]Config{
		"sender: Config.Path: is nil":                                   {},
		"sender: Config.RTT: -1ns is negative":                          {Path: w, RTT: -1},
		"sender: Config.MSS: -1 is negative":                            {Path: w, MSS: -1},
		"sender: Config.InitialWindow: -1 is negative":                  {Path: w, InitialWindow: -1},
		"sender: Config.Congestion: 3 is none of Cubic, Reno, NoWindow": {Path: w, Congestion: 3},
		"sender: Config.Buffer: -1 is negative":                         {Path: w, Buffer: -1},
	} {
		_, err := New(0, cfg)
		assert.EqualError(t, err, want)
	}
}

func TestStatsCount(t *testing.T) {
	w := &wire{delay: oneWay, drop: dropping(1, 0, 11)}
	s := start(t, 0, Config{Path: w, Congestion: Reno})
	s.Write(0, text(12*1460))
	drain(s, true)
	lost := slices.DeleteFunc(slices.Clone(w.sent), func(g sending) bool { return !g.lost })
	assert.Len(t, lost, 2)
	assert.Equal(t, Stats{Sent: 14, Lost: 2, Resent: 2, Episodes: 1}, s.Stats(s.now))
}
