package sender

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What Linux 6.18 took for a request of 100 bytes and its answer at a round
// trip of 100 ms on an open connection, in ms, if a router in userspace drops
// each segment that carries data with a probability of 5 %.
type kernelSpread struct {
	congestion Congestion
	answer     int
	runs       int
	mean       float64
	quantiles  map[float64]float64
}

var kernelSpreads = []kernelSpread{
	{Reno, 1_000, 2000, 136, map[float64]float64{.5: 100, .75: 100, .95: 424, .98: 432}},
	{Reno, 16_384, 1500, 251, map[float64]float64{.1: 200, .25: 201, .5: 201, .75: 231, .9: 332, .95: 608, .98: 635}},
	{Reno, 200_000, 840, 1913, map[float64]float64{.1: 602, .25: 1104, .5: 1911, .75: 2615, .9: 3119, .95: 3413, .98: 3668}},
	{Cubic, 16_384, 1000, 265, map[float64]float64{.1: 201, .25: 201, .5: 201, .75: 236, .9: 517, .95: 624, .98: 655}},
	{Cubic, 200_000, 840, 1584, map[float64]float64{.1: 608, .25: 803, .5: 1343, .75: 2167, .9: 2925, .95: 3327, .98: 3831}},
	// Measured apart from the others, on fewer connections.
	{Reno, 1_000, 48, 177, map[float64]float64{.5: 102, .9: 432}},
	{Reno, 16_384, 48, 241, map[float64]float64{.5: 204, .9: 334}},
	{Reno, 200_000, 48, 1980, map[float64]float64{.5: 2144, .9: 3188}},
}

// TestRandomLossesTakeAsLongAsByLinux compares the model's quantiles over as
// many seeds. A quantile p of n runs is itself uncertain: with 99.5 % it lies
// between the true quantiles p - 2.81 sqrt(p(1-p)/n) and p + the same. (Some 40
// figures are compared; at 95 % one or two would be off by chance.) Linux's figure
// has to lie between the model's there, give or take 8 % for what a machine adds.
func TestRandomLossesTakeAsLongAsByLinux(t *testing.T) {
	const seeds, tolerance, sigmas = 1_000, 0.08, 2.81
	played := map[string][]float64{}
	for _, linux := range kernelSpreads {
		what := fmt.Sprintf("%v, %d bytes", linux.congestion, linux.answer)
		if played[what] == nil {
			played[what] = randomExchanges(t, linux.congestion, linux.answer, seeds)
		}
		got, name := played[what], fmt.Sprintf("%s, %d runs of Linux", what, linux.runs)
		root := math.Sqrt(float64(linux.runs))
		for p, want := range linux.quantiles {
			spread := sigmas * math.Sqrt(p*(1-p)) / root
			low := quantile(got, p-spread) * (1 - tolerance)
			high := quantile(got, p+spread) * (1 + tolerance)
			assert.True(t, low <= want && want <= high, "%s: quantile %v: Linux %v ms, model %.0f to %.0f", name, p, want, low, high)
		}
		mean, deviation := moments(got)
		off := sigmas*deviation/root + tolerance/2*mean
		assert.InDelta(t, linux.mean, mean, off, "%s: mean in ms", name)
	}
}

// randomExchanges are their times in ms, sorted.
func randomExchanges(t *testing.T, c Congestion, answer int, seeds uint64) []float64 {
	times := make([]float64, 0, seeds)
	what := text(answer)
	for seed := range seeds {
		at := exchangeOver(t, c, unlogged{NewKey(seed, 0, 0)}, unlogged{NewKey(seed, 0, 1)}, what)
		times = append(times, float64(at)/float64(ms))
	}
	slices.Sort(times)
	return times
}

// unlogged is a path of constant delay that loses 5 %.
type unlogged struct{ key Key }

func (u unlogged) Send(sent Instant, s Segment) (Instant, bool) {
	return sent.add(oneWay), u.key.Lost(s, 0.05)
}

func (u unlogged) Back(sent Instant) Instant { return sent.add(oneWay) }
func (u unlogged) Least() time.Duration      { return oneWay }

func quantile(sorted []float64, p float64) float64 {
	return sorted[min(int(max(p, 0)*float64(len(sorted))), len(sorted)-1)]
}

func moments(xs []float64) (mean, deviation float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		deviation += (x - mean) * (x - mean) / float64(len(xs))
	}
	return mean, math.Sqrt(deviation)
}
