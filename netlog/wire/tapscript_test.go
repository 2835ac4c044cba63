package wire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/wiretest/netlog"
)

// script is what both sides of a connection send, in order.
type script struct {
	steps []step
	end   string // who closes: "client", "server", "reset", or "" for nobody

	upHpack, downHpack *encoder
	upHead, downHead   int // header bytes that heads() and block() made
}

type step struct {
	up   bool
	data []byte
}

func (s *script) up(data string) *script   { return s.add(true, []byte(data)) }
func (s *script) down(data string) *script { return s.add(false, []byte(data)) }

// upHeads and downHeads add what consists of header bytes only.
func (s *script) upHeads(data string) *script   { s.upHead += len(data); return s.up(data) }
func (s *script) downHeads(data string) *script { s.downHead += len(data); return s.down(data) }

func (s *script) add(up bool, data []byte) *script {
	s.steps = append(s.steps, step{up, data})
	return s
}

func (s *script) closedBy(side string) *script {
	s.end = side
	return s
}

// upFrames and downFrames add what f writes by x/net's own Framer.
func (s *script) upFrames(f func(*sender)) *script   { return s.frames(true, &s.upHpack, f) }
func (s *script) downFrames(f func(*sender)) *script { return s.frames(false, &s.downHpack, f) }

func (s *script) frames(up bool, e **encoder, f func(*sender)) *script {
	if *e == nil {
		*e = newEncoder()
	}
	var buf bytes.Buffer
	before := (*e).blocks
	framer := http2.NewFramer(&buf, nil)
	framer.AllowIllegalWrites = true
	f(&sender{Framer: framer, encoder: *e})
	if made := (*e).blocks - before; up {
		s.upHead += made
	} else {
		s.downHead += made
	}
	return s.add(up, buf.Bytes())
}

type encoder struct {
	*hpack.Encoder
	buf    bytes.Buffer
	blocks int // bytes of all blocks
}

func newEncoder() *encoder {
	e := new(encoder)
	e.Encoder = hpack.NewEncoder(&e.buf)
	return e
}

type sender struct {
	*http2.Framer
	*encoder
}

// block encodes pairs of names and values.
func (s *sender) block(pairs ...string) []byte {
	s.buf.Reset()
	for i := 0; i < len(pairs); i += 2 {
		s.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	s.blocks += s.buf.Len()
	return bytes.Clone(s.buf.Bytes())
}

func (s *sender) head(stream uint32, ends bool, pairs ...string) {
	s.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: s.block(pairs...), EndStream: ends, EndHeaders: true,
	})
}

func (s *sender) get(stream uint32, path string) {
	s.head(stream, true, ":method", "GET", ":scheme", "https", ":authority", "a.test", ":path", path)
}

func (s *sender) post(stream uint32, path string) {
	s.head(stream, false, ":method", "POST", ":scheme", "https", ":authority", "a.test", ":path", path)
}

// fakeConn gives what it is told to and keeps what is written.
type fakeConn struct {
	net.Conn
	in     []byte
	inErr  error
	out    bytes.Buffer
	short  int    // the next Write takes only so much,
	outErr error  // with this error
	answer func() // what the peer does within Write
	closed bool
}

func (c *fakeConn) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		if c.inErr != nil {
			return 0, c.inErr
		}
		return 0, timeout{}
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *fakeConn) Write(p []byte) (int, error) {
	if c.outErr != nil {
		err := c.outErr
		c.outErr = nil
		c.out.Write(p[:c.short])
		return c.short, err
	}
	if c.answer != nil {
		c.answer()
	}
	return c.out.Write(p)
}

func (c *fakeConn) SetReadDeadline(time.Time) error { return nil }

func (c *fakeConn) Close() error { c.closed = true; return nil }

// run plays a script through a Tap.
type run struct {
	log    netlog.Log
	conn   fakeConn
	tap    *Tap
	side   Side
	passed bytes.Buffer // what the tap's owner read
	limits []int
}

func newRun(side Side, protocol string, mark bool) *run {
	r := &run{side: side}
	rec := r.log.Open(netlog.Connection{Host: "host.test:443"})
	r.tap = NewTap(&r.conn, TapConfig{
		Side: side, Protocol: protocol, Record: rec, Mark: mark,
		OnLimit: func(n int) { r.limits = append(r.limits, n) },
	})
	return r
}

// send passes one piece the way it goes on this side.
func (r *run) send(t testing.TB, up bool, data []byte) {
	if up == (r.side == ClientSide) {
		n, err := r.tap.Write(data)
		require.NoError(t, err)
		require.Equal(t, len(data), n)
		return
	}
	r.conn.in = data
	buf := bytes.Repeat([]byte{'?'}, max(1, len(data)))
	for len(r.conn.in) > 0 {
		n, err := r.tap.Read(buf)
		if isTimeout(err) { // the marker holds a few bytes back
			return
		}
		require.NoError(t, err)
		r.passed.Write(buf[:n])
	}
}

func (r *run) finish(t testing.TB, end string) {
	switch {
	case end == "":
		return
	case end == "reset":
		r.conn.inErr = errReset
	case end != r.side.String():
		r.conn.inErr = io.EOF
	}
	if r.conn.inErr != nil {
		r.drain(t)
	}
	r.tap.Close()
	require.True(t, r.conn.closed)
}

func (r *run) drain(t testing.TB) {
	for {
		buf := make([]byte, 7)
		n, err := r.tap.Read(buf)
		r.passed.Write(buf[:n])
		if err != nil {
			require.Equal(t, r.conn.inErr, err)
			return
		}
	}
}

// play runs s, cut at the offsets of its bytes in cuts, or everywhere if cuts
// is nil, and returns what was recorded.
func (s *script) play(t testing.TB, side Side, protocol string, cuts []int) string {
	r := newRun(side, protocol, false)
	at := 0
	for _, st := range s.steps {
		for _, piece := range pieces(st.data, at, cuts) {
			r.send(t, st.up, piece)
		}
		at += len(st.data)
	}
	r.finish(t, s.end)
	s.requirePassive(t, r)
	return summary(&r.log)
}

// requirePassive checks that all bytes came out as they went in.
func (s *script) requirePassive(t testing.TB, r *run) {
	reads, writes := s.bytes(true), s.bytes(false)
	if r.side == ClientSide {
		reads, writes = writes, reads
	}
	require.True(t, bytes.Equal(reads, r.passed.Bytes()), "bytes read differ from bytes sent")
	require.True(t, bytes.Equal(writes, r.conn.out.Bytes()), "bytes written differ")
}

func (s *script) bytes(up bool) (all []byte) {
	for _, st := range s.steps {
		if st.up == up {
			all = append(all, st.data...)
		}
	}
	return all
}

func (s *script) length() int { return len(s.bytes(true)) + len(s.bytes(false)) }

// pieces cuts data, which stands at offset at.
func pieces(data []byte, at int, cuts []int) (all [][]byte) {
	if cuts == nil {
		cuts = everyNth(1, at+len(data))
	}
	begin := 0
	for _, cut := range cuts {
		if cut > at+begin && cut < at+len(data) {
			all = append(all, data[begin:cut-at])
			begin = cut - at
		}
	}
	return append(all, data[begin:])
}

// summary is all that a log says apart from times, of which it says whether
// they are there.
func summary(log *netlog.Log) string {
	var b strings.Builder
	for _, c := range log.Connections() {
		fmt.Fprintf(&b, "%s requests %d most %d up %d(%d) down %d(%d)", c.Protocol, c.Requests, c.MaxStreams,
			c.BytesUp, c.HeaderBytesUp, c.BytesDown, c.HeaderBytesDown)
		if c.StreamLimit != 0 {
			fmt.Fprintf(&b, " limit %d", c.StreamLimit)
		}
		if c.GoAway != "" {
			fmt.Fprintf(&b, " [%s]", c.GoAway)
		}
		if c.FirstUsed.IsZero() {
			b.WriteString(" unused")
		}
		fmt.Fprintf(&b, ": %s\n", cmpOr(c.CloseReason, "open"))
	}
	for _, q := range log.Requests() {
		fmt.Fprintf(&b, "%d %s %s %s: %d up %d+%d down %d+%d", q.Stream, q.Protocol, q.Method, q.URL, q.Status,
			q.HeaderBytesUp, q.BodyBytesUp, q.HeaderBytesDown, q.BodyBytesDown)
		if q.Start.IsZero() || q.Sent.IsZero() || q.FirstByte.IsZero() != (q.Status == 0) {
			b.WriteString(" WRONG TIMES")
		}
		if q.End.IsZero() {
			b.WriteString(" open")
		}
		fmt.Fprintf(&b, " %s\n", cmpOr(q.Err, "ok"))
	}
	return b.String()
}

func cmpOr(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// scriptCase is a script and what it must leave in the log. Where the sides
// differ, as in "received" and "sent", want is the server's.
type scriptCase struct {
	name     string
	protocol string
	script   *script
	want     string
}

// requireAt plays the case whole and byte by byte on both sides, and cut in two at
// every offset, on one side or the other.
func (c *scriptCase) requireAt(t *testing.T) {
	for _, side := range []Side{ServerSide, ClientSide} {
		want := c.script.expand(c.want)
		if side == ClientSide {
			want = otherSide(want)
		}
		require.Equal(t, want, c.script.play(t, side, c.protocol, []int{}), "%v, whole", side)
		require.Equal(t, want, c.script.play(t, side, c.protocol, nil), "%v, byte by byte", side)
		for cut := 1 + int(side); cut < c.script.length(); cut += 2 {
			got := c.script.play(t, side, c.protocol, []int{cut})
			require.Equal(t, want, got, "%v, cut at byte %d", side, cut)
		}
	}
}

// expand puts the bytes of the script where want has {up} and {down}.
func (s *script) expand(want string) string {
	want = strings.TrimLeft(strings.ReplaceAll(want, "\t", ""), "\n")
	up := fmt.Sprintf("up %d(%d)", len(s.bytes(true)), s.upHead)
	down := fmt.Sprintf("down %d(%d)", len(s.bytes(false)), s.downHead)
	return strings.NewReplacer("{up}", up, "{down}", down).Replace(want)
}

func otherSide(want string) string {
	return strings.NewReplacer("received", "sent", "sent]", "received]", "sent,", "received,", "sent;", "received;",
		"reset by client", "reset by server").Replace(want)
}
