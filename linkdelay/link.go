package linkdelay

import (
	"fmt"
	"time"
)

// Path is what happens to bytes on their way in one direction. Its zero value
// is a perfect one: everything arrives at once.
type Path struct {
	// Delay is how long each byte and each datagram travels, counted from when
	// it was sent. Zero is none; at most a day.
	Delay time.Duration
}

// Link joins two hosts. Its zero value is a perfect one.
type Link struct {
	// Up leads from the first named side to the second, as in
	// SetLink("pc.test", "origin.test", link); Down is the way back. On a link
	// that nothing names, as the default of a Network, Up leads from the host
	// that spoke first (dialled, or sent a datagram), which is the client.
	Up, Down Path
	// Seed makes what is random on the link the same in every run. A Path that
	// only delays draws nothing from it.
	Seed uint64
}

// RTT is a Link whose round trip takes d, half of it each way. An odd
// nanosecond is part of the way down.
func RTT(d time.Duration) Link {
	up := d / 2
	return Link{Up: Path{Delay: up}, Down: Path{Delay: d - up}}
}

// maxDelay keeps sums of delays far away from the end of time, and catches
// units gone wrong.
const maxDelay = 24 * time.Hour

func (l Link) validate() error {
	if err := l.Up.validate("Link.Up"); err != nil {
		return err
	}
	return l.Down.validate("Link.Down")
}

func (p Path) validate(name string) error {
	if p.Delay < 0 {
		return fmt.Errorf("linkdelay: %s.Delay: %v is negative", name, p.Delay)
	}
	if p.Delay > maxDelay {
		return fmt.Errorf("linkdelay: %s.Delay: %v is more than %v", name, p.Delay, maxDelay)
	}
	return nil
}
