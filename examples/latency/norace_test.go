//go:build !race

package latency

// seeds is over how many seeds a table under loss is made: one is not a
// picture. A page over HTTP/3 takes ten times as long to load as one over TCP, so
// that this many is for whom asks for it.
const seeds = inReadme
