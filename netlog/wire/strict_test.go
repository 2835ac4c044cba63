package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// strict is a peer by hand that takes nothing from the other side that RFC 9113
// does not allow. It keeps what came, and says what was wrong.
type strict struct {
	t      testing.TB
	conn   net.Conn
	client bool // it is the client
	fr     *http2.Framer
	read   sync.WaitGroup

	write chan struct{} // held while a frame is written
	enc   *hpack.Encoder
	block bytes.Buffer

	mu       sync.Mutex
	change   chan struct{} // closed and replaced at each frame
	frames   []string
	streams  map[uint32]*strictStream
	window   int64 // that the other side has left
	initial  int64
	settings int // sent and not acknowledged
	goneAway int64
	pings    int
	wrong    []string
	err      error
}

type strictStream struct {
	window             int64
	head, ended, reset bool
	weEnded, weReset   bool
	body               []byte
	status             string
	header, trailer    http.Header
	code               http2.ErrCode
}

func newStrict(t testing.TB, conn net.Conn, client bool, settings ...http2.Setting) *strict {
	s := &strict{
		t: t, conn: conn, client: client, fr: http2.NewFramer(conn, conn), write: make(chan struct{}, 1),
		change: make(chan struct{}), streams: make(map[uint32]*strictStream), window: 65535, initial: 65535, goneAway: 1<<31 - 1,
	}
	s.enc = hpack.NewEncoder(&s.block)
	s.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for _, n := range settings {
		if n.ID == http2.SettingInitialWindowSize {
			s.initial = int64(n.Val)
		}
	}
	s.settings = 1
	if client {
		_, err := conn.Write([]byte(http2.ClientPreface))
		require.NoError(t, err)
	} else {
		preface := make([]byte, len(http2.ClientPreface))
		_, err := io.ReadFull(conn, preface)
		require.NoError(t, err)
	}
	require.NoError(t, s.fr.WriteSettings(settings...))
	s.read.Go(s.readAll)
	t.Cleanup(func() {
		conn.Close()
		s.read.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.wrong) > 0 {
			t.Errorf("the other side broke the protocol: %q\nframes: %q", s.wrong, s.frames)
		}
	})
	return s
}

func (s *strict) readAll() {
	for first := true; ; first = false {
		f, err := s.fr.ReadFrame()
		s.mu.Lock()
		if err != nil {
			s.err = err
			if _, ours := err.(http2.ConnectionError); ours {
				s.bad("%v: %v", err, s.fr.ErrorDetail())
			}
			if _, ours := err.(http2.StreamError); ours {
				s.bad("%v: %v", err, s.fr.ErrorDetail())
			}
			s.tell()
			s.mu.Unlock()
			return
		}
		if first && f.Header().Type != http2.FrameSettings {
			s.bad("the first frame is %v", f.Header())
		}
		reply := s.take(f)
		s.tell()
		s.mu.Unlock()
		if reply != nil {
			s.do(reply)
		}
	}
}

func (s *strict) tell() {
	close(s.change)
	s.change = make(chan struct{})
}

func (s *strict) bad(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// do writes, one at a time.
func (s *strict) do(f func()) {
	s.write <- struct{}{}
	defer func() { <-s.write }()
	f()
}

// take checks a frame, and returns what to answer.
func (s *strict) take(f http2.Frame) (reply func()) {
	h := f.Header()
	st := s.streams[h.StreamID]
	if h.StreamID != 0 {
		s.checkStream(h, st)
		if st == nil {
			st = &strictStream{window: s.initial}
			s.streams[h.StreamID] = st
		}
	}
	text := fmt.Sprintf("%v %d", h.Type, h.StreamID)
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			text += " ACK"
			if s.settings--; s.settings < 0 {
				s.bad("a SETTINGS ACK too many")
			}
			break
		}
		f.ForeachSetting(func(n http2.Setting) error { text += " " + n.String(); return nil })
		reply = func() { s.fr.WriteSettingsAck() }
	case *http2.PingFrame:
		if f.IsAck() {
			text += " ACK"
			s.pings++
			break
		}
		data := f.Data
		reply = func() { s.fr.WritePing(true, data) }
	case *http2.GoAwayFrame:
		text += fmt.Sprintf(" %v last %d %s", f.ErrCode, f.LastStreamID, f.DebugData())
		if int64(f.LastStreamID) > s.goneAway {
			s.bad("GOAWAY goes up from %d to %d", s.goneAway, f.LastStreamID)
		}
		s.goneAway = int64(f.LastStreamID)
	case *http2.MetaHeadersFrame:
		text += s.takeHeaders(f, st)
	case *http2.DataFrame:
		text += fmt.Sprintf(" %d", h.Length)
		s.takeData(f, st)
	case *http2.RSTStreamFrame:
		text += " " + f.ErrCode.String()
		st.reset, st.code = true, f.ErrCode
	}
	if h.Flags.Has(http2.FlagDataEndStream) && (h.Type == http2.FrameData || h.Type == http2.FrameHeaders) {
		text += " END"
		st.ended = true
	}
	s.frames = append(s.frames, text)
	return reply
}

// checkStream is RFC 9113, section 5.1.
func (s *strict) checkStream(h http2.FrameHeader, st *strictStream) {
	switch {
	case st == nil && (s.client || h.Type != http2.FrameHeaders || h.StreamID%2 == 0):
		s.bad("%v on an idle stream", h)
	case st == nil:
	case st.weReset: // it may not know yet
	case st.reset:
		s.bad("%v after RST_STREAM %v", h, st.code)
	case st.ended && h.Type != http2.FrameWindowUpdate && h.Type != http2.FrameRSTStream:
		s.bad("%v after END_STREAM", h)
	}
	if s.client && int64(h.StreamID) > s.goneAway && h.Type != http2.FrameRSTStream {
		s.bad("%v on a stream that GOAWAY has refused", h)
	}
}

func (s *strict) takeHeaders(f *http2.MetaHeadersFrame, st *strictStream) string {
	header := make(http.Header)
	for _, field := range f.Fields {
		header.Add(field.Name, field.Value)
	}
	status := f.PseudoValue("status")
	switch {
	case st.head && !f.StreamEnded():
		s.bad("trailers of stream %d do not end it", f.StreamID)
	case st.head:
		st.trailer = header
	case s.client && status == "":
		s.bad("a head without status on stream %d", f.StreamID)
	case s.client && status[0] == '1':
		return " " + status
	default:
		st.head, st.header, st.status = true, header, status
	}
	return " " + status
}

func (s *strict) takeData(f *http2.DataFrame, st *strictStream) {
	n := int64(f.Header().Length)
	s.window -= n
	st.window -= n
	switch {
	case !st.head:
		s.bad("DATA before a head on stream %d", f.StreamID)
	case s.window < 0 || st.window < 0:
		s.bad("DATA on stream %d exceeds a window: connection %d, stream %d", f.StreamID, s.window, st.window)
	}
	st.body = append(st.body, f.Data()...)
}

// until waits until ok, or the connection's end.
func (s *strict) until(what string, ok func() bool) {
	s.t.Helper()
	for {
		s.mu.Lock()
		done, change, err := ok(), s.change, s.err
		frames := slices.Clone(s.frames)
		s.mu.Unlock()
		if done {
			return
		}
		if err != nil {
			s.t.Fatalf("waiting for %s: %v\nframes: %q", what, err, frames)
		}
		<-change
	}
}

// untilClosed waits for the connection's end.
func (s *strict) untilClosed() {
	s.read.Wait()
}

// got waits for a frame.
func (s *strict) got(frame string) {
	s.t.Helper()
	s.until(frame, func() bool { return slices.Contains(s.frames, frame) })
}

// stream is a copy of what is known of a stream.
func (s *strict) stream(id uint32) strictStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.streams[id]; st != nil {
		return *st
	}
	return strictStream{}
}

func (s *strict) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// over waits until the other side has ended or reset the stream.
func (s *strict) over(id uint32) strictStream {
	s.t.Helper()
	s.until(fmt.Sprintf("the end of stream %d", id), func() bool {
		st := s.streams[id]
		return st != nil && (st.ended || st.reset)
	})
	return s.stream(id)
}

// wasReset waits until the other side has reset the stream.
func (s *strict) wasReset(id uint32) http2.ErrCode {
	s.t.Helper()
	s.until(fmt.Sprintf("a reset of stream %d", id), func() bool { return s.streams[id] != nil && s.streams[id].reset })
	return s.stream(id).code
}

// heads sends a header block.
func (s *strict) heads(id uint32, end bool, pairs ...string) {
	s.do(func() {
		s.block.Reset()
		for i := 0; i < len(pairs); i += 2 {
			s.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		s.mu.Lock()
		if s.streams[id] == nil {
			s.streams[id] = &strictStream{window: s.initial}
		}
		s.mu.Unlock()
		s.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: s.block.Bytes(), EndHeaders: true, EndStream: end})
	})
}

// asks sends a request's head.
func (s *strict) asks(id uint32, method, path string, end bool, pairs ...string) {
	s.heads(id, end, append([]string{":method", method, ":scheme", "http", ":authority", "origin.test", ":path", path}, pairs...)...)
}

func (s *strict) data(id uint32, end bool, text string) {
	s.do(func() { s.fr.WriteData(id, end, []byte(text)) })
}

func (s *strict) resets(id uint32, code http2.ErrCode) {
	s.mu.Lock()
	s.streams[id].weReset = true
	s.mu.Unlock()
	s.do(func() { s.fr.WriteRSTStream(id, code) })
}

// widen lets the other side send more.
func (s *strict) widen(id uint32, n int) {
	s.mu.Lock()
	if id == 0 {
		s.window += int64(n)
	} else {
		s.streams[id].window += int64(n)
	}
	s.mu.Unlock()
	s.do(func() { s.fr.WriteWindowUpdate(id, uint32(n)) })
}
