package downgrade

import (
	"container/heap"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// The scheduler is arithmetic of its own: it shares no code with the fixtures,
// so that the two agree only if both are right.

// published are the think times of the page's 170 subresources, in the order of
// the document.
func published() []time.Duration { return thinkTimes(50, 60, 60, 100, 400) }

func thinkTimes(scripts, images, api, minMS, maxMS int) (all []time.Duration) {
	for _, path := range paths(scripts, images, api) {
		sum := md5.Sum([]byte(path))
		spread := binary.BigEndian.Uint64(sum[:8]) % uint64(maxMS-minMS)
		all = append(all, time.Duration(uint64(minMS)+spread)*time.Millisecond)
	}
	return all
}

func paths(scripts, images, api int) (all []string) {
	for i := range scripts {
		all = append(all, fmt.Sprintf("/js/mod%03d.js", i+1))
	}
	for i := range images {
		all = append(all, fmt.Sprintf("/img/%03d.svg", i+1))
	}
	for i := range api {
		all = append(all, fmt.Sprintf("/api/%03d", i+1))
	}
	return all
}

// schedule serves jobs in order, each on the slot that is free first, and
// returns when the last is done and how long each waited. A slot is given by
// the instant from which it is free; travel is added to each job.
func schedule(free []time.Duration, jobs []time.Duration, travel time.Duration) (done time.Duration, waits []time.Duration) {
	slots := slots(slices.Clone(free))
	heap.Init(&slots)
	for _, job := range jobs {
		start := slots[0]
		waits = append(waits, start)
		slots[0] = start + job + travel
		done = max(done, slots[0])
		heap.Fix(&slots, 0)
	}
	return done, waits
}

// free is n slots that are free from one instant on.
func free(n int, from time.Duration) []time.Duration {
	return slices.Repeat([]time.Duration{from}, n)
}

func waiting(waits []time.Duration) (n int) {
	for _, w := range waits {
		if w > 0 {
			n++
		}
	}
	return n
}

type slots []time.Duration

func (s slots) Len() int           { return len(s) }
func (s slots) Less(i, j int) bool { return s[i] < s[j] }
func (s slots) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *slots) Push(x any)        { *s = append(*s, x.(time.Duration)) }
func (s *slots) Pop() any          { panic("never popped") }
