package sender

import (
	"errors"
	"fmt"
	"time"
)

// Congestion is what governs the congestion window.
type Congestion uint8

const (
	Cubic    Congestion = iota // RFC 9438, what Linux does unless told otherwise
	Reno                       // RFC 5681
	NoWindow                   // no window at all: what is written is sent at once
)

// Config is a connection in one direction, just after its handshake.
type Config struct {
	// Path carries the segments; it must not be nil.
	Path Path
	// RTT is what the handshake measured. Zero is a path without delay.
	RTT time.Duration
	// MSS is the most bytes with width in a segment. Zero is the usual one.
	MSS int
	// InitialWindow is how many segments may be out at first. Zero is 10
	// (RFC 6928); see [Dialled.Window].
	InitialWindow int
	Congestion    Congestion
	// Buffer is how many bytes Space lets a writer have written that are not
	// both acknowledged and read. Zero is 4 MiB.
	Buffer int
}

// MSS is the usual size of a segment: 1,500 bytes of Ethernet less the headers
// of IPv4 and TCP.
const MSS = 1460

const (
	defaultWindow = 10
	defaultBuffer = 4 << 20
)

// withDefaults also refuses what no connection can be.
func (c Config) withDefaults() (Config, error) {
	if err := c.validate(); err != nil {
		return Config{}, err
	}
	if c.MSS == 0 {
		c.MSS = MSS
	}
	if c.InitialWindow == 0 {
		c.InitialWindow = defaultWindow
	}
	if c.Buffer == 0 {
		c.Buffer = defaultBuffer
	}
	return c, nil
}

func (c Config) validate() error {
	switch {
	case c.Path == nil:
		return errors.New("sender: Config.Path: is nil")
	case c.RTT < 0:
		return fmt.Errorf("sender: Config.RTT: %v is negative", c.RTT)
	case c.MSS < 0:
		return fmt.Errorf("sender: Config.MSS: %d is negative", c.MSS)
	case c.InitialWindow < 0:
		return fmt.Errorf("sender: Config.InitialWindow: %d is negative", c.InitialWindow)
	case c.Congestion > NoWindow:
		return fmt.Errorf("sender: Config.Congestion: %d is none of Cubic, Reno, NoWindow", c.Congestion)
	case c.Buffer < 0:
		return fmt.Errorf("sender: Config.Buffer: %d is negative", c.Buffer)
	}
	return nil
}

// String is the name of the control.
func (c Congestion) String() string {
	switch c {
	case Cubic:
		return "cubic"
	case Reno:
		return "reno"
	case NoWindow:
		return "no window"
	}
	return fmt.Sprintf("Congestion(%d)", uint8(c))
}
