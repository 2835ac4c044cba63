package origin

import (
	"bytes"
	"log"
	"sync"
)

// maxComplaints keeps a handler that panics in a loop from filling memory.
const maxComplaints = 64 << 10

// complaints keeps what an HTTP server logs until it is known whether anybody
// wants to see it. Logged to the test at once, a line of a handler that outlives
// its test would panic.
type complaints struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (c *complaints) logger() *log.Logger { return log.New(c, "", 0) }

func (c *complaints) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text.Len() < maxComplaints {
		c.text.Write(line)
	}
	return len(line), nil
}

func (c *complaints) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}
