package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// bentRun is a server's tap that has an interposer, with two requests open.
func bentRun(t *testing.T) *run {
	r := newRun(ServerSide, "h2", true)
	s := begin().upFrames(func(c *sender) { c.get(1, "/"); c.get(3, "/") })
	for _, st := range s.steps {
		r.send(t, st.up, st.data)
	}
	require.NoError(t, r.tap.Control().ReleaseSettings())
	r.conn.out.Reset()
	return r
}

// TestTableSizeOutlivesADroppedBlock wants an encoder's new table size, which a
// strict decoder waits for, in the next block that passes.
func TestTableSizeOutlivesADroppedBlock(t *testing.T) {
	for _, sizes := range [][]uint32{{0}, {0, 4096}, {100, 1000}} {
		r := bentRun(t)
		require.NoError(t, r.tap.Control().Stream(1).Reset(http2.ErrCodeCancel))
		r.conn.out.Reset()
		new(script).downFrames(func(s *sender) {
			for _, n := range sizes {
				s.SetMaxDynamicTableSize(n)
			}
			s.head(1, true, ":status", "200", "a", "b")
			s.head(3, true, ":status", "200", "a", "b")
		}).each(t, r)
		var resized bytes.Buffer
		e := hpack.NewEncoder(&resized)
		for _, n := range sizes {
			e.SetMaxDynamicTableSize(n)
		}
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: ":method", Value: "GET"})) // one byte
		prefix := resized.Bytes()[:resized.Len()-1]
		out := r.conn.out.Bytes()
		require.Equal(t, uint32(3), binary.BigEndian.Uint32(out[5:]), "the only stream of which a block passed")
		require.True(t, bytes.HasPrefix(out[frameHeaderLen:], prefix), "%x does not begin with %x", out[frameHeaderLen:], prefix)
	}
}

// each passes the steps of a script.
func (s *script) each(t *testing.T, r *run) {
	for _, st := range s.steps {
		r.send(t, st.up, st.data)
	}
}

// TestGoAwayOfNetHTTPGoesNotUp lowers the last stream that net/http names to
// the one that was named before.
func TestGoAwayOfNetHTTPGoesNotUp(t *testing.T) {
	r := bentRun(t)
	require.NoError(t, r.tap.Control().GoAway(1, http2.ErrCodeNo, ""))
	require.EqualError(t, r.tap.Control().GoAway(3, http2.ErrCodeNo, ""), "wire: control: GoAway: last stream 3: it was 1 already, and must not go up")
	new(script).downFrames(func(s *sender) { s.WriteGoAway(3, http2.ErrCodeProtocol, []byte("why")) }).each(t, r)
	require.Equal(t, `GOAWAY NO_ERROR last stream 1, sent; GOAWAY PROTOCOL_ERROR last stream 1, sent, debug "why"`,
		r.log.Connections()[0].GoAway)
	r.tap.Close()
}

// TestBendingAtAnyByte asks for a reset while a frame, or its header, is half
// written, and wants it behind that frame.
func TestBendingAtAnyByte(t *testing.T) {
	down := new(script).downFrames(func(s *sender) {
		s.head(1, false, ":status", "200")
		s.WriteData(1, false, []byte("body"))
		s.head(3, true, ":status", "204")
	}).bytes(false)
	for cut := range len(down) + 1 {
		r := newRun(ServerSide, "h2", true)
		s := begin().upFrames(func(c *sender) { c.get(1, "/"); c.get(3, "/") })
		s.each(t, r)
		r.conn.out.Reset()
		r.send(t, false, down[:cut])
		require.NoError(t, r.tap.Control().Stream(1).Reset(http2.ErrCodeConnect))
		r.send(t, false, down[cut:])
		require.Equal(t, wantReset(down, cut), framesOf(t, r.conn.out.Bytes()), "cut at %d", cut)
		require.Equal(t, "RST_STREAM CONNECT_ERROR sent by server", r.log.Requests()[0].Err)
		require.Equal(t, 204, r.log.Requests()[1].Status)
	}
}

// wantReset has the reset at the first end of a frame from cut on, and nothing
// more of stream 1 behind it.
func wantReset(down []byte, cut int) (want []string) {
	all := []string{"HEADERS 1 200", "DATA 1", "HEADERS 3 204"}
	at, done := 0, false
	for _, frame := range all {
		if at >= cut && !done {
			want, done = append(want, "RST_STREAM 1 CONNECT_ERROR"), true
		}
		if !done || frame[len(frame)-3:] == "204" {
			want = append(want, frame)
		}
		at += frameHeaderLen + int(down[at])<<16 + int(down[at+1])<<8 + int(down[at+2])
	}
	if !done {
		want = append(want, "RST_STREAM 1 CONNECT_ERROR")
	}
	return want
}

// framesOf are frames in words, as any client would read them.
func framesOf(t *testing.T, b []byte) (all []string) {
	fr := http2.NewFramer(nil, bytes.NewReader(b))
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			require.EqualError(t, err, "EOF")
			return all
		}
		text := f.Header().Type.String() + " " + string('0'+byte(f.Header().StreamID))
		switch f := f.(type) {
		case *http2.RSTStreamFrame:
			text += " " + f.ErrCode.String()
		case *http2.MetaHeadersFrame:
			text += " " + f.PseudoValue("status")
		}
		all = append(all, text)
	}
}

// TestBendingWhileWriting has something put in while net/http's write is on its
// way: it must follow that, whoever then writes it.
func TestBendingWhileWriting(t *testing.T) {
	r := bentRun(t)
	r.conn.answer = func() {
		r.conn.answer = nil
		require.NoError(t, r.tap.Control().Ping([8]byte{1}))
	}
	new(script).downFrames(func(s *sender) { s.head(1, true, ":status", "200"); s.head(3, true, ":status", "204") }).each(t, r)
	require.Equal(t, []string{"HEADERS 1 200", "HEADERS 3 204", "PING 0"}, framesOf(t, r.conn.out.Bytes()))
}
