package sender

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
)

// draw is one number of a key, by everything that goes into it.
type draw struct {
	seed, connection, direction uint64
	cell                        int64
	nth, attempt                int
}

func (d draw) value() float64 {
	return NewKey(d.seed, d.connection, d.direction).Draw(Segment{Cell: d.cell, Nth: d.nth, Attempt: d.attempt})
}

// along names the ways from one draw to its neighbour.
var along = map[string]func(d *draw, n int){
	"seed":       func(d *draw, n int) { d.seed += uint64(n) },
	"connection": func(d *draw, n int) { d.connection += uint64(n) },
	"direction":  func(d *draw, n int) { d.direction += uint64(n) },
	"cell":       func(d *draw, n int) { d.cell += int64(n) },
	"nth":        func(d *draw, n int) { d.nth += n },
	"attempt":    func(d *draw, n int) { d.attempt += n },
}

func TestDrawsAreUniform(t *testing.T) {
	const n, bins = 50_000, 100
	for name, step := range along {
		var count [bins]float64
		for i := range n {
			d := draw{seed: 7}
			step(&d, i)
			count[int(d.value()*bins)]++
		}
		chi2 := 0.0
		for _, c := range count {
			chi2 += (c - n/bins) * (c - n/bins) / (n / bins)
		}
		// 99 degrees of freedom: mean 99, deviation 14.
		assert.InDelta(t, 99, chi2, 60, "along %s", name)
	}
}

func TestNeighbouringDrawsAreIndependent(t *testing.T) {
	const n = 30_000
	for name, step := range along {
		for far, next := range along {
			sum, both := 0.0, 0
			for i := range n {
				a := draw{seed: 7, cell: 5}
				step(&a, i)
				b := a
				next(&b, 1)
				x, y := a.value(), b.value()
				sum += (x - 0.5) * (y - 0.5) * 12
				if x < 0.05 && y < 0.05 {
					both++
				}
			}
			assert.InDelta(t, 0, sum/n, 5/math.Sqrt(n), "correlation of neighbours by %s, along %s", far, name)
			assert.InDelta(t, 0.0025*n, both, 5*math.Sqrt(0.0025*n), "both lost at 5 %%: neighbours by %s, along %s", far, name)
		}
	}
}

func TestTheFieldsAreNotExchangeable(t *testing.T) {
	seen := map[float64]draw{}
	for i := range 4096 {
		d := draw{uint64(i & 3), uint64(i >> 2 & 3), uint64(i >> 4 & 3), int64(i >> 6 & 3), i >> 8 & 3, i >> 10 & 3}
		if other, ok := seen[d.value()]; ok {
			t.Fatalf("%+v and %+v are one draw", d, other)
		}
		seen[d.value()] = d
	}
}

func TestEveryBitMatters(t *testing.T) {
	for i := range 64 {
		base, flipped := uint64(0), 0
		for n := range uint64(1000) {
			base = absorb(base, n)
			flipped += bits.OnesCount64(absorb(1, base) ^ absorb(1, base^1<<i))
		}
		assert.InDelta(t, 32, float64(flipped)/1000, 1, "output bits that change with bit %d", i)
	}
}

// A seed that somebody wrote down has to mean the same losses in a year.
func TestDrawsNeverChange(t *testing.T) {
	assert.Equal(t, 0.2506453791703287, draw{}.value())
	assert.Equal(t, 0.4330349527951466, draw{1, 2, 3, 4, 5, 6}.value())
	assert.Equal(t, 0.6239465548301143, NewKey(42, 0, 1).Draw(SYN(0)))
}

func TestLossHasItsProbability(t *testing.T) {
	key := NewKey(1, 0, 0)
	assert.False(t, key.Lost(Segment{}, 0))
	assert.True(t, key.Lost(Segment{}, 1))
	lost := 0
	for i := range 100_000 {
		if key.Lost(Segment{Cell: int64(i)}, 0.01) {
			lost++
		}
	}
	assert.InDelta(t, 1000, lost, 100)
}
