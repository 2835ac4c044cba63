package linkdelay

import (
	"math"
	"slices"
	"time"

	"example.com/wiretest/linkdelay/internal/sender"
)

// lossy reports whether segments may be lost.
func (p *Path) lossy() bool { return p.Loss > 0 || p.Burst.Bad > 0 || p.Drop != nil }

// random reports whether anything is drawn from the seed.
func (p *Path) random() bool {
	return p.lossy() || p.Jitter > 0 || p.LossOver.Loss > 0 || p.Reorder > 0 || p.Duplicate > 0 || p.Corrupt > 0
}

// modelled reports whether streams need the model of a TCP sender.
func (p *Path) modelled() bool {
	return p.lossy() || p.Jitter > 0 || p.Congestion == Cubic || p.Congestion == Reno
}

// control is the congestion control of a stream that is modelled.
func (p *Path) control() sender.Congestion {
	switch p.Congestion {
	case NoWindow:
		return sender.NoWindow
	case Reno:
		return sender.Reno
	case Auto:
		if !p.lossy() && (p.Jitter == 0 || p.Rate == 0) {
			return sender.NoWindow
		}
	}
	return sender.Cubic
}

// room is the size of the queue in bytes.
func (p *Path) room() int {
	const (
		usual = 100 * time.Millisecond
		least = 10 * 1500 // packets of Ethernet
	)
	switch {
	case p.Queue > 0:
		return p.Queue
	case p.QueueTime > 0:
		return max(1, p.bytesIn(p.QueueTime))
	}
	return max(least, p.bytesIn(usual))
}

// bytesIn is how much leaves in a time.
func (p *Path) bytesIn(d time.Duration) int { return int(float64(p.Rate) / 8 * d.Seconds()) }

// reorderBy is how late a datagram is that others overtake.
func (p *Path) reorderBy() time.Duration {
	if p.ReorderBy > 0 {
		return p.ReorderBy
	}
	return max(p.Delay/4, time.Millisecond)
}

// purpose tells the draws of one packet apart.
type purpose int

const (
	forLoss purpose = iota
	forBurst
	forSize
	forReorder
	forDuplicate
	forCorrupt
	forWhere
	forJitter
	forJitterToo
)

// dice are the draws of one packet: keyed by what the packet is, not by when
// its turn came, so that a scheduler's whim does not change the figures.
type dice struct {
	key     sender.Key
	segment sender.Segment
}

func (d dice) draw(p purpose) float64 {
	s := d.segment
	s.Nth = s.Nth<<8 | int(p) // as it is for loss
	return d.key.Draw(s)
}

func (d dice) falls(p purpose, probability float64) bool {
	return probability > 0 && d.draw(p) < probability
}

// delay is how long the packet travels.
func (d dice) delay(p *Path) time.Duration {
	if p.Jitter == 0 {
		return p.Delay
	}
	return p.Delay + time.Duration(d.deviation(p.Shape)*float64(p.Jitter))
}

// deviation is from -1 to 1 if uniform, from -3 to 3 if normal.
func (d dice) deviation(shape Shape) float64 {
	if shape == Uniform {
		return 2*d.draw(forJitter) - 1
	}
	// Box and Muller (1958); 1-u is never zero.
	u, v := d.draw(forJitter), d.draw(forJitterToo)
	z := math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
	return min(max(z, -3), 3)
}

// bursts are the good and the bad times of a path.
type bursts struct {
	Burst
	key   sender.Key
	start instant
	flips []instant // the ends of good and bad times in turn, as far as known
}

// bad reports whether an instant, which may be before others that were asked
// for, lies in a bad time.
func (b *bursts) bad(at instant) bool {
	if b.Bad == 0 || at < b.start {
		return false
	}
	for len(b.flips) == 0 || b.flips[len(b.flips)-1] <= at {
		b.extend()
	}
	ended, _ := slices.BinarySearch(b.flips, at+1) // those at or before at
	return ended%2 == 1
}

func (b *bursts) extend() {
	n := len(b.flips)
	last, mean := b.start, b.Good
	if n > 0 {
		last = b.flips[n-1]
	}
	if n%2 == 1 {
		mean = b.Bad
	}
	u := b.key.Draw(sender.Segment{Cell: int64(n)})
	length := -math.Log(1-u) * float64(mean)
	b.flips = append(b.flips, last.add(max(1, time.Duration(length))))
}

// lost is the cause that loses the packet, or none: what does not depend on
// where the packet is.
func (t *track) lost(d dice, p Packet, sent instant) cause {
	switch path := &t.path; {
	case path.Drop != nil && path.Drop(p):
		return byScript
	case d.falls(forLoss, path.Loss):
		return byLoss
	case t.bursts.bad(sent) && (path.Burst.Loss == 0 || d.falls(forBurst, path.Burst.Loss)):
		return byBurst
	}
	return none
}
