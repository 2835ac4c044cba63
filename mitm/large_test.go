package mitm_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
)

// Bodies of 32 MiB pass both ways while the proxy holds next to nothing of them:
// the receiver has each part before the sender sends the next, so that the first
// byte is out long before the last is in, and the heap does not grow. In memory,
// where nothing is different but the network, it is 4 MiB. Under -race, which has a
// heap of its own, it is two parts of four times what a window begins with.
func TestLargeBodiesAreNotHeld(t *testing.T) {
	const most = 8 << 20
	size := 1 << 20
	if raceDetector {
		size = 256 << 10
	}
	var parts int
	part := strings.Repeat("0123456789abcdef", size/16)
	var turn chan struct{}
	serve := func(o *side) {
		if e := o.next(); e.start == "POST /up" {
			o.take(part, parts, turn)
			o.wantEnd()
			o.head("200", 0)
			return
		}
		o.wantEnd()
		o.head("200", int64(parts*size))
		o.give(part, parts, turn)
	}
	run := func(t *testing.T, s *rawStage) {
		turn, parts = make(chan struct{}, 1), 32
		switch {
		case raceDetector:
			parts = 2
		case inVirtualTime(t):
			parts = 4
		case s.up == alpn.H3: // which costs twice as much
			parts = 16
		}
		client := s.client()
		c := client.call()
		c.head("POST /up", int64(parts*size))
		before := heap()
		grown := c.give(part, parts, turn) - before
		c.wantHead("200")
		c.wantEnd()
		assert.Less(t, grown, int64(most), "upload")

		c = client.call()
		c.head("GET /down", nothing)
		c.wantHead("200")
		before = heap()
		grown = c.take(part, parts, turn) - before
		c.wantEnd()
		assert.Less(t, grown, int64(most), "download")
	}
	eachRawPair(t, serve, run)
	eachRawPairHTTP3(t, serve, run)
}

// give sends n parts, each when the one before has arrived, and the end with the
// last, without which net/http would keep that back. It returns how large the
// heap was at most.
func (s *side) give(part string, n int, arrived <-chan struct{}) (most int64) {
	s.t.Helper()
	for i := range n {
		s.data(part)
		if i == n-1 {
			finish(s)
			if s.proto == alpn.H3 { // its handler's end is that of the answer
				return most
			}
		}
		s.await(arrived)
		if i%16 == 15 || i == 0 {
			most = max(most, heap())
		}
	}
	return most
}

func (s *side) take(part string, n int, arrived chan<- struct{}) (most int64) {
	s.t.Helper()
	for i := range n {
		s.wantData(part)
		arrived <- struct{}{}
		if i%16 == 15 || i == 0 {
			most = max(most, heap())
		}
	}
	return most
}

// heap is what is in use; under -race it is not asked for.
func heap() int64 {
	if raceDetector {
		return 0
	}
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
