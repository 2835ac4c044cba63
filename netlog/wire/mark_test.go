package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// markScript has requests of every shape.
func markScript() *script {
	return begin(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}).upFrames(func(c *sender) {
		c.get(1, "/")
		c.post(3, "/with/body")
		c.WriteDataPadded(3, false, []byte("\x00\x00\x04\x01\x04\x00\x00\x00\x09"), []byte{0, 0, 0, 0}) // looks like HEADERS
		c.head(3, true, "trailer", "t")
		b := c.block(":method", "GET", ":scheme", "https", ":authority", "a.test", ":path", "/"+strings.Repeat("p", 50), markName, "17", markName, "forged")
		c.WriteHeaders(http2.HeadersFrameParam{StreamID: 101, BlockFragment: b[:9], PadLength: 200, EndStream: true})
		c.WriteContinuation(101, false, b[9:10])
		c.WriteContinuation(101, true, b[10:])
		c.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 103, BlockFragment: c.block(":method", "PUT", ":scheme", "https", ":path", "/"), EndHeaders: true,
			PadLength: 7, Priority: http2.PriorityParam{Weight: 1},
		})
		c.WriteData(103, true, nil)
		c.WriteHeaders(http2.HeadersFrameParam{StreamID: 105, BlockFragment: c.block(":method", "GET")})
		c.WriteContinuation(105, true, nil)
		c.WritePing(false, [8]byte{1})
		c.get(1<<31-1, "/last")
	})
}

// decoded is what a server would see: frames in words, header blocks decoded,
// and marks apart.
func decoded(t testing.TB, b []byte) (frames []string, marks []string) {
	require.True(t, bytes.HasPrefix(b, []byte(http2.ClientPreface)))
	fr := http2.NewFramer(nil, bytes.NewReader(b[len(http2.ClientPreface):]))
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return append(frames, fmt.Sprint(err)), marks
		}
		text := fmt.Sprintf("%v %d %v", f.Header().Type, f.Header().StreamID, f.Header().Flags&^http2.FlagHeadersEndHeaders)
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			fields := f.Fields
			if n := len(fields); n > 0 && fields[n-1].Name == markName {
				marks = append(marks, fmt.Sprintf("%d=%s", f.StreamID, fields[n-1].Value))
				fields = fields[:n-1]
			}
			text += fmt.Sprint(fields, f.Truncated)
		case *http2.DataFrame:
			text += string(f.Data())
		}
		frames = append(frames, text)
	}
}

func playMarked(t testing.TB, s *script, cuts []int) *run {
	r := newRun(ServerSide, "h2", true)
	at := 0
	for _, st := range s.steps {
		for _, piece := range pieces(st.data, at, cuts) {
			r.send(t, st.up, piece)
		}
		at += len(st.data)
	}
	r.finish(t, "client")
	return r
}

// TestTapMark wants each request's block to end in its mark, and nothing else
// to change, wherever the bytes are cut.
func TestTapMark(t *testing.T) {
	s := markScript()
	before, none := decoded(t, s.bytes(true))
	require.Equal(t, []string{"101=forged"}, none)
	for i, text := range before { // the client's own last one is no mark
		before[i] = strings.Replace(text, `name "wiretest-stream" = "17"`, "", 1)
	}
	plain := s.play(t, ServerSide, "h2", []int{})
	cuts := [][]int{{}, nil}
	for cut := 1; cut < s.length(); cut++ {
		cuts = append(cuts, []int{cut})
	}
	for _, c := range cuts {
		r := playMarked(t, s, c)
		after, marks := decoded(t, r.passed.Bytes())
		require.Equal(t, []string{"1=1", "3=3", "101=101", "103=103", "105=105", "2147483647=2147483647"}, marks, "%v", c)
		require.Len(t, after, len(before))
		require.Equal(t, plain[strings.Index(plain, "\n"):], strings.ReplaceAll(summary(&r.log)[strings.Index(summary(&r.log), "\n"):],
			"connection closed before the answer ended: closed by client", "open ok"))
	}
}

// TestTapMarkInSmallReads wants the same bytes from a reader of any size.
func TestTapMarkInSmallReads(t *testing.T) {
	s := markScript()
	want := playMarked(t, s, []int{}).passed.Bytes()
	for size := 1; size < 40; size++ {
		conn := &fakeConn{in: s.bytes(true), inErr: io.EOF}
		tap := NewTap(conn, TapConfig{Mark: true})
		var got bytes.Buffer
		_, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{tap}, make([]byte, size))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got.Bytes()), "reads of %d bytes", size)
	}
}

// TestTapMarkLetsOtherThingsPass wants bytes that are no frames to come out as
// they went in, the beginning of a frame header at the end of the connection
// too.
func TestTapMarkLetsOtherThingsPass(t *testing.T) {
	get := new(script).upFrames(func(c *sender) { c.get(1, "/") }).bytes(true)
	for name, sent := range map[string]string{
		"HTTP/1.1":                  aGet + aGet,
		"like the preface":          "PRI * HTTP/1.1\r\n\r\n" + string(get),
		"a cut preface":             http2.ClientPreface[:20],
		"a cut frame header":        http2.ClientPreface + string(get[:8]),
		"frames that make no sense": http2.ClientPreface + "\x00\x00\x00\x09\x04\x00\x00\x00\x01" + string(get) + string(get),
		"nothing":                   "",
	} {
		for _, size := range []int{1, 5, 9, 1000} {
			tap := NewTap(&fakeConn{in: []byte(sent), inErr: io.EOF}, TapConfig{Mark: true})
			var got bytes.Buffer
			_, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{tap}, make([]byte, size))
			require.NoError(t, err)
			require.Equal(t, sent, got.String(), "%s, reads of %d", name, size)
		}
	}
}

func TestTapMarkIsOffOnTheClientSide(t *testing.T) {
	s := begin().downFrames(func(s *sender) { s.head(1, true, ":status", "200") })
	r := newRun(ClientSide, "h2", true)
	for _, st := range s.steps {
		r.send(t, st.up, st.data)
	}
	s.requirePassive(t, r)
}

// TestTapMarkSurvivesADeadline wants the held back bytes behind the deadline.
func TestTapMarkSurvivesADeadline(t *testing.T) {
	s := markScript()
	want := playMarked(t, s, []int{}).passed.Bytes()
	r := newRun(ServerSide, "h2", true)
	for _, b := range s.bytes(true) {
		r.send(t, true, []byte{b})
		r.conn.inErr = timeout{}
		r.drain(t)
	}
	require.True(t, bytes.Equal(want, r.passed.Bytes()))
}

// timeout is a passed deadline, or nothing to read yet.
type timeout struct{}

func (timeout) Error() string   { return "timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestStreamMark(t *testing.T) {
	for _, c := range []struct {
		values, left []string
		id           int64
		ok           bool
	}{
		{nil, nil, 0, false},
		{[]string{"7"}, nil, 7, true},
		{[]string{"5", "9"}, []string{"5"}, 9, true},
		{[]string{"x"}, []string{"x"}, 0, false},
	} {
		r := &http.Request{Header: http.Header{"Other": {"o"}}}
		if c.values != nil {
			r.Header["Wiretest-Stream"] = c.values
		}
		id, ok := streamMark(r)
		require.Equal(t, c.id, id)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.left, r.Header["Wiretest-Stream"])
		require.Len(t, r.Header, 1+min(1, len(c.left)))
	}
}

func TestTapClaim(t *testing.T) {
	s := begin().upFrames(func(c *sender) {
		c.get(1, "/reset")
		c.WriteRSTStream(1, http2.ErrCodeCancel)
	})
	r := newRun(ServerSide, "h2", true)
	for _, st := range s.steps {
		r.send(t, st.up, st.data)
	}
	require.Nil(t, r.tap.Stream(1))
	rec := r.tap.claim(1)
	require.Equal(t, "RST_STREAM CANCEL sent by client", rec.rec.Request().Err)
	require.Nil(t, r.tap.claim(1))
}
