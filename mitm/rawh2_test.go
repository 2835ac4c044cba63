package mitm_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawH2 is one end of a connection of HTTP/2.
type rawH2 struct {
	t      testing.TB
	conn   net.Conn
	framer *http2.Framer
	accept func(*rawH2Call) // nil on the client's end
	calls  sync.WaitGroup

	writing  chan struct{} // holds a token while somebody writes: nobody waits for a mutex in virtual time
	block    bytes.Buffer  // belongs to who writes
	encoder  *hpack.Encoder
	settings []http2.Setting // to be sent first
	mute     bool            // belongs to who writes

	mu        sync.Mutex // never held while blocking
	streams   map[uint32]*rawH2Call
	nextID    uint32
	window    int64 // for the connection
	initial   int64 // for a new stream
	stated    map[http2.SettingID]uint32
	goAway    *http2.GoAwayFrame
	goingAway bool          // this end has said so
	gone      error         // why no frame comes anymore
	changed   chan struct{} // closed and renewed whenever something of this has changed
}

func newRawH2(t testing.TB, conn net.Conn, accept func(*rawH2Call)) *rawH2 {
	c := &rawH2{
		t:       t,
		conn:    conn,
		framer:  http2.NewFramer(conn, conn),
		accept:  accept,
		writing: make(chan struct{}, 1),
		streams: make(map[uint32]*rawH2Call),
		nextID:  1,
		window:  65535,
		initial: 65535,
		stated:  make(map[http2.SettingID]uint32),
		changed: make(chan struct{}),
	}
	c.encoder = hpack.NewEncoder(&c.block)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.MaxHeaderListSize = 4 << 20
	return c
}

// greet sends what comes first, and takes the client's preface.
func (c *rawH2) greet() error {
	var err error
	if c.accept == nil {
		_, err = io.WriteString(c.conn, http2.ClientPreface)
	} else {
		err = c.takePreface()
	}
	c.state()
	return err
}

// state sends the settings of this end, as the first of what it says.
func (c *rawH2) state() {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	c.mute = false
	c.framer.WriteSettings(c.settings...)
}

func (c *rawH2) takePreface() error {
	_, err := io.ReadFull(c.conn, make([]byte, len(http2.ClientPreface)))
	return err
}

// run reads frames until the connection ends, and waits for the calls.
func (c *rawH2) run() {
	defer c.calls.Wait()
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			c.end(err)
			return
		}
		c.take(frame)
	}
}

// write sends frames. Before the settings of this end it sends nothing: what
// would have to be acknowledged is not.
func (c *rawH2) write(frames func()) {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if c.mute {
		return
	}
	frames() // a peer that has gone is seen by next
}

// change is a change of what mu guards.
func (c *rawH2) change(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *rawH2) end(err error) { c.change(func() { c.gone = err }) }

func (c *rawH2) take(frame http2.Frame) {
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		c.takeSettings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.write(func() { c.framer.WritePing(true, f.Data) })
		}
	case *http2.WindowUpdateFrame:
		c.change(func() { c.widen(f.StreamID, int64(f.Increment)) })
	case *http2.GoAwayFrame:
		copied := *f
		c.change(func() { c.goAway = &copied })
	case *http2.MetaHeadersFrame:
		c.takeHeaders(f)
	case *http2.DataFrame:
		c.takeData(f)
	case *http2.RSTStreamFrame:
		c.push(f.StreamID, event{kind: "reset", code: f.ErrCode})
	}
}

func (c *rawH2) takeSettings(f *http2.SettingsFrame) {
	if f.IsAck() {
		return
	}
	c.change(func() {
		f.ForeachSetting(func(s http2.Setting) error {
			c.stated[s.ID] = s.Val
			if s.ID == http2.SettingInitialWindowSize {
				for _, call := range c.streams {
					call.window += int64(s.Val) - c.initial
				}
				c.initial = int64(s.Val)
			}
			return nil
		})
	})
	c.write(func() { c.framer.WriteSettingsAck() })
}

func (c *rawH2) widen(id uint32, n int64) {
	if id == 0 {
		c.window += n
	} else if call := c.streams[id]; call != nil {
		call.window += n
	}
}

// takeHeaders takes the head of a request, of an answer, or trailers.
func (c *rawH2) takeHeaders(f *http2.MetaHeadersFrame) {
	fields := make(http.Header)
	for _, one := range f.RegularFields() {
		fields.Add(one.Name, one.Value)
	}
	e := event{kind: "head", fields: fields}
	switch {
	case f.PseudoValue("status") != "":
		e.start = f.PseudoValue("status")
	case f.PseudoValue("method") != "":
		e.start = f.PseudoValue("method") + " " + f.PseudoValue("path")
		fields.Set("Host", f.PseudoValue("authority"))
		c.begin(f.StreamID)
	default:
		e.kind = "end"
	}
	c.push(f.StreamID, e)
	if f.StreamEnded() && e.kind == "head" {
		c.push(f.StreamID, event{kind: "end"})
	}
}

func (c *rawH2) begin(id uint32) {
	var call *rawH2Call
	c.change(func() { call = c.add(id) })
	c.calls.Go(func() { c.accept(call) })
}

func (c *rawH2) add(id uint32) *rawH2Call {
	call := &rawH2Call{conn: c, id: id, window: c.initial}
	c.streams[id] = call
	return call
}

// takeData gives the windows back, unless the call does that by itself.
func (c *rawH2) takeData(f *http2.DataFrame) {
	data, length := string(f.Data()), f.Length
	var slow bool
	c.change(func() {
		call := c.streams[f.StreamID]
		slow = call != nil && call.slow
	})
	if length > 0 && !slow {
		c.write(func() {
			c.framer.WriteWindowUpdate(0, length)
			c.framer.WriteWindowUpdate(f.StreamID, length)
		})
	}
	if data != "" {
		c.push(f.StreamID, event{kind: "data", data: data})
	}
	if f.StreamEnded() {
		c.push(f.StreamID, event{kind: "end"})
	}
}

func (c *rawH2) push(id uint32, e event) {
	c.change(func() {
		if call := c.streams[id]; call != nil {
			call.events = append(call.events, e)
		}
	})
}

// open is a client's next stream. It gets its id with its head.
func (c *rawH2) open(authority string) *rawH2Call {
	return &rawH2Call{conn: c, authority: authority}
}

// wait waits until ready, which is called with mu held, or for too long.
func (c *rawH2) wait(ready func() bool) bool {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		c.mu.Lock()
		if ready() {
			c.mu.Unlock()
			return true
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timeout.C:
			return false
		}
	}
}

// rawH2Call is one stream of it.
type rawH2Call struct {
	conn      *rawH2
	id        uint32 // 0 before a client's head
	authority string
	protocol  string // of extended CONNECT
	scheme    string // "" is https

	// Guarded by conn.mu.
	events []event
	window int64
	slow   bool // it does not give the window back
}

func (c *rawH2Call) head(start string, size int64, fields ...string) {
	ends := size == nothing && start[0] != '1'
	c.conn.write(func() {
		c.conn.block.Reset()
		c.pseudo(start)
		if size >= 0 {
			c.field("content-length", fmt.Sprint(size))
		}
		for _, field := range fields {
			name, value := splitField(field)
			c.field(strings.ToLower(name), value)
		}
		if c.id == 0 { // ids rise in the order in which they are sent
			c.conn.change(func() {
				c.id = c.conn.nextID
				c.window = c.conn.initial
				c.conn.nextID += 2
				c.conn.streams[c.id] = c
			})
		}
		c.headers(ends || size == 0)
	})
}

func (c *rawH2Call) pseudo(start string) {
	method, path, request := strings.Cut(start, " ")
	if !request {
		c.field(":status", start)
		return
	}
	c.field(":method", method)
	if method == http.MethodConnect && c.protocol == "" { // RFC 9113, section 8.5
		c.field(":authority", path)
		return
	}
	c.field(":scheme", cmp.Or(c.scheme, "https"))
	c.field(":authority", c.authority)
	c.field(":path", path)
	if c.protocol != "" {
		c.field(":protocol", c.protocol)
	}
}

func (c *rawH2Call) field(name, value string) {
	c.conn.encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
}

// headers sends the block in frames of 16 KiB.
func (c *rawH2Call) headers(ends bool) {
	block := c.conn.block.Bytes()
	first := block[:min(len(block), 16<<10)]
	block = block[len(first):]
	c.conn.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: c.id, BlockFragment: first, EndStream: ends, EndHeaders: len(block) == 0,
	})
	for len(block) > 0 {
		part := block[:min(len(block), 16<<10)]
		block = block[len(part):]
		c.conn.framer.WriteContinuation(c.id, len(block) == 0, part)
	}
}

func (c *rawH2Call) data(s string) {
	for s != "" {
		n := c.take(len(s))
		if n == 0 {
			return // a peer that has gone is seen by next
		}
		part := s[:n]
		c.conn.write(func() { c.conn.framer.WriteData(c.id, false, []byte(part)) })
		s = s[n:]
	}
}

// take waits for room in the windows.
func (c *rawH2Call) take(want int) (n int) {
	c.conn.wait(func() bool {
		n = int(max(0, min(int64(want), 16<<10, c.window, c.conn.window)))
		c.window -= int64(n)
		c.conn.window -= int64(n)
		return n > 0 || c.conn.gone != nil || c.wasReset()
	})
	return n
}

// resume gives the window of n bytes back that slow has not.
func (c *rawH2Call) resume(n uint32) {
	c.conn.change(func() { c.slow = false })
	c.conn.write(func() { c.conn.framer.WriteWindowUpdate(c.id, n) })
}

func (c *rawH2Call) wasReset() bool {
	return len(c.events) > 0 && c.events[len(c.events)-1].kind == "reset"
}

func (c *rawH2Call) end(trailers ...string) {
	c.conn.write(func() {
		if len(trailers) == 0 {
			c.conn.framer.WriteData(c.id, true, nil)
			return
		}
		c.conn.block.Reset()
		for _, field := range trailers {
			name, value := splitField(field)
			c.field(strings.ToLower(name), value)
		}
		c.headers(true)
	})
}

func (c *rawH2Call) reset(code http2.ErrCode) {
	c.conn.write(func() { c.conn.framer.WriteRSTStream(c.id, code) })
}

func (c *rawH2Call) next() (e event) {
	arrived := c.conn.wait(func() bool {
		switch {
		case len(c.events) > 0:
			e, c.events = c.events[0], c.events[1:]
		case c.conn.gone != nil:
			e = event{kind: "closed", data: c.conn.gone.Error()}
		default:
			return false
		}
		return true
	})
	if !arrived {
		return event{kind: "nothing for " + patience.String()}
	}
	return e
}
