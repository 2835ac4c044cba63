package wire_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// FuzzBend has a server's handlers, and a client's requests, do what they are
// told in any order, and wants a strict peer to find nothing wrong with what
// comes, and net/http with what it gets.
func FuzzBend(f *testing.F) {
	f.Add([]byte("wfr"), []byte("hdht"))
	f.Add([]byte("RwfC"), []byte("hdxhdt"))
	f.Add([]byte("wTb"), []byte("hte"))
	f.Add([]byte("CwwwfG"), []byte("hhhddtee"))
	f.Add([]byte("gwSPwT"), []byte("hdhhtdx"))
	f.Add([]byte("HwfCwTeRA"), []byte("hdhdehT"))
	f.Add([]byte("TwTtA"), []byte("hhhhttx"))
	f.Fuzz(func(t *testing.T, ops, asks []byte) {
		if len(ops) > 40 || len(asks) > 40 {
			return
		}
		synctest.Test(t, func(t *testing.T) { fuzzServer(t, ops, asks) })
		synctest.Test(t, func(t *testing.T) { fuzzClient(t, ops, asks) })
	})
}

// tape hands out the operations, whoever asks.
type tape struct {
	mu  sync.Mutex
	ops []byte
}

func (p *tape) next() (op byte, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ops) == 0 {
		return 0, false
	}
	op, p.ops = p.ops[0], p.ops[1:]
	return op, true
}

// bendBy does one operation that both sides have.
func bendBy(op byte, s *wire.Stream) {
	c := s.Control()
	switch op {
	case 'R':
		s.Reset(http2.ErrCodeConnect)
	case 'A':
		s.ResetAs(http2.ErrCodeHTTP11Required)
	case 'T':
		s.SendTrailers(http.Header{"Un": {"declared"}})
	case 'C':
		s.CloseWrite()
	case 'P':
		c.Ping([8]byte{op})
	case 'S':
		c.SendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 30 << 10})
	case 'G':
		c.GoAway(s.ID(), http2.ErrCodeNo, "up to this")
	case 'g':
		c.GoAway(max(0, s.ID()-2), http2.ErrCodeNo, "before this")
	}
}

func fuzzServer(t *testing.T, ops, asks []byte) {
	todo := &tape{ops: ops}
	p := &pair{t: t, world: newWorld(t, false), spoken: spoken{"h2c", "h2", false}}
	p.config.Prepare = func(c *wire.Control) {
		if len(ops) > 0 && ops[0] == 'H' {
			c.HoldSettings(time.Millisecond)
		} else {
			c.ReleaseSettings() // else net/http itself takes late trailers for a fault
		}
	}
	p.start(func(w http.ResponseWriter, r *http.Request) {
		for {
			op, ok := todo.next()
			switch op {
			case 'w':
				fmt.Fprint(w, strings.Repeat("w", 3000))
			case 'f':
				http.NewResponseController(w).Flush()
			case 'b':
				io.CopyN(io.Discard, r.Body, 10)
			case 'r':
				io.Copy(io.Discard, r.Body)
			case 'x':
				panic(http.ErrAbortHandler)
			case 't':
				w.Header().Set(http.TrailerPrefix+"own", "trailer")
			case 'n':
				wire.StreamOf(r).NoContinue()
			default:
				bendBy(op, wire.StreamOf(r))
			}
			if !ok || op == 'e' {
				return
			}
		}
	})
	c := p.strictClient()
	last := askBy(c, asks)
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	for id := uint32(1); id <= last; id += 2 { // what is still open, ends
		if st := c.stream(id); !st.weEnded && !st.ended && !st.reset && !st.weReset {
			c.resets(id, http2.ErrCodeCancel)
		}
	}
	synctest.Wait()
	requireNoFaults(t, c)
}

// askBy has the strict client say what asks says, in order, as a client may.
func askBy(c *strict, asks []byte) (last uint32) {
	open := func(id uint32) bool {
		st := c.stream(id)
		return id > 0 && !st.weEnded && !st.weReset
	}
	end := func(id uint32) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams[id].weEnded = true
	}
	for _, ask := range asks {
		id := last
		if ask >= 'A' && ask <= 'Z' && last > 1 { // the one before
			id, ask = last-2, ask+'a'-'A'
		}
		switch {
		case ask == 'h' || ask == 'e':
			last += 2 - uint32(1-min(1, last))
			c.asks(last, "POST", "/", ask == 'e', "expect", "100-continue", "x-"+string(ask), fmt.Sprint(last))
			if ask == 'e' {
				end(last)
			}
		case !open(id):
		case ask == 'd':
			c.data(id, false, strings.Repeat("d", 500))
		case ask == 't':
			synctest.Wait() // until a reset of net/http's own has passed, which knows of it sooner than the wire
			c.heads(id, true, "sum", fmt.Sprint(id))
			end(id)
		case ask == 'f':
			c.data(id, true, "")
			end(id)
		case ask == 'x':
			c.resets(id, http2.ErrCodeCancel)
		case ask == 'w':
			c.widen(id, 5000)
			c.widen(0, 5000)
		case ask == 's':
			synctest.Wait()
		}
		if ask%3 == 0 {
			synctest.Wait()
		}
	}
	return last
}

// requireNoFaults wants neither side to have found anything wrong.
func requireNoFaults(t *testing.T, s *strict) {
	for _, frame := range s.all() {
		if strings.HasPrefix(frame, "GOAWAY") {
			require.Contains(t, frame, " this", "net/http has found a fault: %q", s.all())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.wrong, "%q", s.frames)
}

func fuzzClient(t *testing.T, ops, asks []byte) {
	todo := &tape{ops: ops}
	var log netlog.Log
	s, c := newStrictServer(t, newWorld(t, false), &log)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, ask := range asks[:min(len(asks), 6)] {
		running.Go(func() { fuzzRequest(ctx, c, todo, ask) })
		synctest.Wait()
	}
	answerBy(s, asks)
	synctest.Wait()
	cancel()
	running.Wait()
	synctest.Wait()
	requireNoFaults(t, s)
}

// fuzzRequest asks, and bends its request, as the tape says.
func fuzzRequest(ctx context.Context, c *wire.ClientConn, todo *tape, ask byte) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, write := io.Pipe()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://origin.test/", body)
	if ask%2 == 0 {
		req.Trailer = http.Header{"Own": {"trailer"}}
	}
	asked := make(chan *wire.Stream, 1)
	var writing sync.WaitGroup
	writing.Go(func() {
		select {
		case s := <-asked:
			fuzzBody(todo, s, write, cancel)
		case <-ctx.Done():
		}
		write.Close()
	})
	defer writing.Wait()
	resp, err := c.RoundTrip(req, func(rec *netlog.RequestRecord) { asked <- c.Control().StreamOf(rec) })
	if err != nil {
		body.Close()
		cancel()
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	body.Close()
}

func fuzzBody(todo *tape, s *wire.Stream, write io.Writer, cancel func()) {
	for {
		op, ok := todo.next()
		switch op {
		case 'w':
			io.WriteString(write, strings.Repeat("w", 3000))
		case 'x':
			cancel()
		case 'g':
		default:
			bendBy(op, s)
		}
		if !ok || op == 'e' {
			return
		}
	}
}

// answerBy has the strict server answer.
func answerBy(s *strict, asks []byte) {
	s.mu.Lock()
	highest := uint32(0)
	for id := range s.streams {
		highest = max(highest, id)
	}
	s.mu.Unlock()
	for id := uint32(1); id <= highest; id += 2 {
		if s.stream(id).reset {
			continue
		}
		switch asks[int(id)%len(asks)] % 5 {
		case 0:
			s.heads(id, true, ":status", "204", "x", fmt.Sprint(id))
		case 1:
			s.heads(id, false, ":status", "200", "y", fmt.Sprint(id))
			s.data(id, false, "answer")
			s.heads(id, true, "trailer", fmt.Sprint(id))
		case 2:
			s.heads(id, false, ":status", "200")
			s.data(id, true, "answer")
		case 3:
			s.resets(id, http2.ErrCodeRefusedStream)
		}
		synctest.Wait()
	}
}
