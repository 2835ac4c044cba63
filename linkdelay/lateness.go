package linkdelay

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Lateness is a distribution of how late data was released to its readers; the
// quantiles are exact to an eighth of their value.
type Lateness struct {
	N                int64 // how many releases it is of; the rest is zero where it is 0
	Median, P99, Max time.Duration
}

// lateness is a histogram that any goroutine may add to: eight cells for each
// power of two of nanoseconds.
type lateness struct {
	cells [64 * cellsPerOctave]atomic.Int64
	max   atomic.Int64
}

const (
	octaveBits     = 3
	cellsPerOctave = 1 << octaveBits
)

func (l *lateness) note(d time.Duration) {
	d = max(d, 0)
	l.cells[latenessCell(uint64(d))].Add(1)
	for {
		most := l.max.Load()
		if int64(d) <= most || l.max.CompareAndSwap(most, int64(d)) {
			return
		}
	}
}

func latenessCell(ns uint64) int {
	if ns < cellsPerOctave {
		return int(ns)
	}
	octave := bits.Len64(ns) - octaveBits
	return octave*cellsPerOctave + int(ns>>(octave-1)&(cellsPerOctave-1))
}

// latenessOf is the least of a cell.
func latenessOf(cell int) time.Duration {
	octave, step := cell/cellsPerOctave, cell%cellsPerOctave
	if octave == 0 {
		return time.Duration(step)
	}
	return time.Duration(cellsPerOctave+step) << (octave - 1)
}

func (l *lateness) read() Lateness {
	var counts [len(l.cells)]int64
	out := Lateness{Max: time.Duration(l.max.Load())}
	for i := range l.cells {
		counts[i] = l.cells[i].Load()
		out.N += counts[i]
	}
	out.Median, out.P99 = quantile(counts[:], out.N/2), quantile(counts[:], out.N-1-out.N/100)
	return out
}

// quantile is the cell of the one that so many are below.
func quantile(counts []int64, below int64) time.Duration {
	for cell, n := range counts {
		if below -= n; below < 0 && n > 0 {
			return latenessOf(cell)
		}
	}
	return 0
}
