//go:build race

package latency

// seeds are few, because the race detector makes everything ten times slower and
// finds in the others what it finds in these. The README is not of so few.
const seeds = 10
