package chrome

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// conn speaks the DevTools protocol over the browser's pipes: JSON objects,
// each ended by a NUL byte.
type conn struct {
	heard func(event) // called by read; must not block

	mu      sync.Mutex
	w       io.Writer             // guarded by mu
	last    int                   // id of the last command; guarded by mu
	waiting map[int]chan<- answer // those not answered; guarded by mu

	ended chan struct{} // closed when read has ended: nothing comes any more
}

type command struct {
	ID      int    `json:"id"`
	Session string `json:"sessionId,omitempty"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

// answer is to the command of that ID.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type event struct {
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

func newConn(w io.Writer, heard func(event)) *conn {
	return &conn{heard: heard, w: w, waiting: make(map[int]chan<- answer), ended: make(chan struct{})}
}

// read delivers what comes over r until that ends.
func (c *conn) read(r io.Reader) {
	defer close(c.ended)
	for in := bufio.NewReader(r); ; {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		c.deliver(text[:len(text)-1])
	}
}

func (c *conn) deliver(text []byte) {
	var message struct {
		ID int `json:"id"`
		answer
		event
	}
	if json.Unmarshal(text, &message) != nil {
		return // whoever waits for it waits until its context ends
	}
	if message.ID == 0 {
		c.heard(message.event)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.waiting[message.ID]; ok {
		delete(c.waiting, message.ID)
		waiting <- message.answer // has room
	}
}

// call sends a command and waits for its answer, which result is filled from;
// it may be nil. session is "" for the browser as a whole.
func (c *conn) call(ctx context.Context, session, method string, params, result any) error {
	answered, err := c.send(session, method, params)
	if err != nil {
		return err
	}
	select {
	case a := <-answered:
		return a.into(method, result)
	case <-c.ended:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errGone is that the browser's end of the pipes is closed: the browser has
// ended, or will in a moment.
var errGone = errors.New("the browser has ended")

// send writes under the lock: what is written is far smaller than a pipe, and
// the browser reads at once.
func (c *conn) send(session, method string, params any) (<-chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	text, err := json.Marshal(command{c.last, session, method, params})
	if err != nil {
		return nil, err
	}
	answered := make(chan answer, 1)
	c.waiting[c.last] = answered
	if _, err := c.w.Write(append(text, 0)); err != nil {
		return nil, errGone
	}
	return answered, nil
}

func (a answer) into(method string, result any) error {
	if a.Error != nil {
		return fmt.Errorf("%s: %s", method, a.Error.Message)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(a.Result, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}
