package linkdelay

import (
	"fmt"
	"time"
)

const (
	// maxDelay keeps sums of delays far away from the end of time, and catches
	// units gone wrong.
	maxDelay = 24 * time.Hour
	// maxRate is a terabit per second.
	maxRate = 1e12
	// minMaxDatagram is what QUIC needs of a path (RFC 9000, section 14).
	minMaxDatagram = 1200
)

func (l Link) validate() error {
	if err := l.Up.validate("Link.Up"); err != nil {
		return err
	}
	return l.Down.validate("Link.Down")
}

func (p Path) validate(name string) error {
	for _, check := range []func() (field, why string){
		p.checkTimes, p.checkJitter, p.checkRate, p.checkProbabilities, p.checkBurst, p.checkSizes, p.checkCongestion,
	} {
		if field, why := check(); why != "" {
			return fmt.Errorf("linkdelay: %s.%s: %s", name, field, why)
		}
	}
	switch {
	case p.UDP == nil:
		return nil
	case p.UDP.UDP != nil:
		return fmt.Errorf("linkdelay: %s.UDP.UDP: is set; there is one path for datagrams", name)
	}
	return p.UDP.validate(name + ".UDP")
}

func (p Path) checkTimes() (field, why string) {
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"Delay", p.Delay}, {"Jitter", p.Jitter}, {"QueueTime", p.QueueTime},
		{"ReorderBy", p.ReorderBy}, {"Burst.Good", p.Burst.Good}, {"Burst.Bad", p.Burst.Bad},
	} {
		if f.d < 0 {
			return f.name, fmt.Sprintf("%v is negative", f.d)
		}
		if f.d > maxDelay {
			return f.name, fmt.Sprintf("%v is more than %v", f.d, maxDelay)
		}
	}
	return "", ""
}

func (p Path) checkJitter() (field, why string) {
	if p.Jitter > p.Delay {
		return "Jitter", fmt.Sprintf("%v is more than the Delay of %v, and nothing arrives before it was sent", p.Jitter, p.Delay)
	}
	switch {
	case p.Shape > Normal:
		return "Shape", fmt.Sprintf("%d is neither Uniform nor Normal", p.Shape)
	case p.Shape != Uniform && p.Jitter == 0:
		return "Shape", "is set without Jitter, and nothing varies"
	}
	return "", ""
}

func (p Path) checkRate() (field, why string) {
	switch {
	case p.Rate < 0:
		return "Rate", fmt.Sprintf("%d bits per second is negative", p.Rate)
	case p.Rate > maxRate:
		return "Rate", fmt.Sprintf("%d bits per second is more than %d", p.Rate, int64(maxRate))
	case p.Queue < 0:
		return "Queue", fmt.Sprintf("%d bytes is negative", p.Queue)
	case p.Queue > 0 && p.QueueTime > 0:
		return "QueueTime", "is set and so is Queue; one says how long the queue is"
	case p.Rate == 0 && p.Queue > 0:
		return "Queue", "is set without a Rate, and nothing queues"
	case p.Rate == 0 && p.QueueTime > 0:
		return "QueueTime", "is set without a Rate, and nothing queues"
	case p.Rate == 0 && p.PerConnection:
		return "PerConnection", "is set without a Rate, and nothing queues"
	case p.Buffer < 0:
		return "Buffer", fmt.Sprintf("%d bytes is negative", p.Buffer)
	}
	return "", ""
}

func (p Path) checkProbabilities() (field, why string) {
	for _, f := range []struct {
		name string
		p    float64
	}{
		{"Loss", p.Loss}, {"Burst.Loss", p.Burst.Loss}, {"LossOver.Loss", p.LossOver.Loss},
		{"Reorder", p.Reorder}, {"Duplicate", p.Duplicate}, {"Corrupt", p.Corrupt},
	} {
		if !(f.p >= 0 && f.p <= 1) { // NaN is neither
			return f.name, fmt.Sprintf("%v is no probability, from 0 to 1", f.p)
		}
	}
	return "", ""
}

func (p Path) checkBurst() (field, why string) {
	switch b := p.Burst; {
	case b.Good == 0 && b.Bad > 0:
		return "Burst.Good", "is zero and Bad is not; both have a mean duration"
	case b.Bad == 0 && b.Good > 0:
		return "Burst.Bad", "is zero and Good is not; both have a mean duration"
	case b.Bad == 0 && b.Loss > 0:
		return "Burst.Loss", "is set without Good and Bad, and no time is bad"
	case b.Good > 0 && min(b.Good, b.Bad) < time.Microsecond:
		return "Burst", fmt.Sprintf("a mean duration of %v is less than a microsecond", min(b.Good, b.Bad))
	}
	return "", ""
}

func (p Path) checkSizes() (field, why string) {
	switch {
	case p.MaxDatagram < 0:
		return "MaxDatagram", fmt.Sprintf("%d bytes is negative", p.MaxDatagram)
	case p.MaxDatagram > 0 && p.MaxDatagram < minMaxDatagram:
		return "MaxDatagram", fmt.Sprintf("%d bytes is less than %d, and a path that does not carry "+
			"datagrams of that size is none for QUIC (RFC 9000, section 14): it fails before the handshake. "+
			"To lose smaller ones use Drop", p.MaxDatagram, minMaxDatagram)
	case p.LossOver.Size < 0:
		return "LossOver.Size", fmt.Sprintf("%d bytes is negative", p.LossOver.Size)
	case p.LossOver.Size > 0 && p.LossOver.Loss == 0:
		return "LossOver.Loss", "is zero and Size is not; nothing would be lost"
	case p.LossOver.ShortHeader && p.LossOver.Loss == 0:
		return "LossOver.Loss", "is zero and ShortHeader is set; nothing would be lost"
	case p.ReorderBy > 0 && p.Reorder == 0:
		return "ReorderBy", "is set without Reorder, and nothing is reordered"
	}
	return "", ""
}

func (p Path) checkCongestion() (field, why string) {
	if p.Congestion > Reno {
		return "Congestion", fmt.Sprintf("%d is none of Auto, NoWindow, Cubic, Reno", p.Congestion)
	}
	if p.Congestion == NoWindow && p.Rate > 0 && (p.lossy() || p.Jitter > 0) {
		return "Congestion", "NoWindow with a Rate and with loss or Jitter floods the queue, and is retransmitted for ever"
	}
	return "", ""
}
