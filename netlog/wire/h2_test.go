package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// begin is the client's preface and both sides' SETTINGS.
func begin(settings ...http2.Setting) *script {
	s := new(script)
	s.up(http2.ClientPreface)
	s.upFrames(func(c *sender) { c.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3}) })
	s.downFrames(func(c *sender) { c.WriteSettings(settings...); c.WriteSettingsAck() })
	return s.upFrames(func(c *sender) { c.WriteSettingsAck() })
}

func h2Exchanges() []scriptCase {
	return []scriptCase{{
		name: "a whole exchange",
		script: begin(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7}).
			upFrames(func(c *sender) {
				c.post(1, "/a")
				c.WriteDataPadded(1, false, []byte("hello"), make([]byte, 9))
				c.WritePing(false, [8]byte{})
				c.WriteData(1, false, []byte("world!"))
				c.head(1, true, "x-sum", "11")
			}).
			downFrames(func(s *sender) {
				s.WriteWindowUpdate(0, 100)
				s.head(1, false, ":status", "201")
				s.WriteData(1, false, []byte("created"))
				s.WriteDataPadded(1, false, nil, make([]byte, 3))
				s.head(1, true, "grpc-status", "0")
			}).closedBy("client"),
		want: `
			h2 requests 1 most 1 {up} {down} limit 7: closed by client
			1 h2 POST https://a.test/a: 201 up 21+11 down 16+7 ok
		`,
	}, {
		name: "padding, priority, continuations",
		script: begin().upFrames(func(c *sender) {
			b := c.block(":method", "GET", ":scheme", "https", ":authority", "a.test", ":path", "/long", "cookie", strings.Repeat("c", 20))
			c.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: b[:5], EndStream: true, PadLength: 4,
				Priority: http2.PriorityParam{StreamDep: 0, Weight: 5},
			})
			c.WriteContinuation(1, false, b[5:11])
			c.WriteContinuation(1, false, nil)
			c.WriteContinuation(1, true, b[11:])
		}).downFrames(func(s *sender) {
			b := s.block(":status", "204", "server", "x")
			s.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:1], EndStream: true, PadLength: 255})
			s.WriteContinuation(1, true, b[1:])
		}).closedBy("server"),
		want: `
			h2 requests 1 most 1 {up} {down}: closed by server
			1 h2 GET https://a.test/long: 204 up 29+0 down 4+0 ok
		`,
	}, {
		name: "interim answers are not final",
		script: begin().upFrames(func(c *sender) { c.get(1, "/") }).downFrames(func(s *sender) {
			s.head(1, false, ":status", "103", "link", "</a.css>")
			s.head(1, false, ":status", "103", "link", "</a.css>")
			s.head(1, true, ":status", "304")
		}).closedBy("client"),
		want: `
			h2 requests 1 most 1 {up} {down}: closed by client
			1 h2 GET https://a.test/: 304 up 9+0 down 17+0 ok
		`,
	}}
}

func h2Streams() []scriptCase {
	return []scriptCase{{
		name: "concurrent streams, answered out of order",
		script: begin().upFrames(func(c *sender) {
			c.get(1, "/1")
			c.get(3, "/3")
			c.get(5, "/5")
		}).downFrames(func(s *sender) {
			s.head(5, false, ":status", "200")
			s.head(1, false, ":status", "200")
			s.WriteData(5, true, []byte("five"))
			s.WriteData(1, true, []byte("o"))
			s.head(3, true, ":status", "404")
		}).upFrames(func(c *sender) { c.get(7, "/7") }).downFrames(func(s *sender) {
			s.head(7, true, ":status", "200")
		}).closedBy("server"),
		want: `
			h2 requests 4 most 3 {up} {down}: closed by server
			1 h2 GET https://a.test/1: 200 up 12+0 down 1+1 ok
			3 h2 GET https://a.test/3: 404 up 7+0 down 1+0 ok
			5 h2 GET https://a.test/5: 200 up 7+0 down 1+4 ok
			7 h2 GET https://a.test/7: 200 up 7+0 down 1+0 ok
		`,
	}, {
		name: "the answer ends before the request",
		script: begin().upFrames(func(c *sender) {
			c.post(1, "/")
			c.WriteData(1, false, []byte("one"))
		}).downFrames(func(s *sender) {
			s.head(1, true, ":status", "413")
		}).upFrames(func(c *sender) {
			c.WriteData(1, true, []byte("two"))
			c.WriteData(1, true, []byte("on a closed stream"))
			c.head(1, true, "late", "trailer")
		}).downFrames(func(s *sender) {
			s.WriteRSTStream(1, http2.ErrCodeNo)
		}).closedBy("server"),
		want: `
			h2 requests 1 most 1 {up} {down}: closed by server
			1 h2 POST https://a.test/: 413 up 9+6 down 5+0 ok
		`,
	}, {
		name: "the server's SETTINGS come first, and change",
		script: new(script).downFrames(func(s *sender) {
			s.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0xffffffff})
		}).up(http2.ClientPreface).downFrames(func(s *sender) {
			s.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 12})
		}).closedBy("client"),
		want: `h2 requests 0 most 0 {up} {down} limit 12 unused: closed by client
		`,
	}}
}

func h2Endings() []scriptCase {
	return []scriptCase{{
		name: "resets, and what is under way behind them",
		script: begin().upFrames(func(c *sender) {
			c.post(1, "/1")
			c.get(3, "/3")
			c.get(5, "/5")
			c.WriteRSTStream(3, http2.ErrCodeCancel)
		}).downFrames(func(s *sender) {
			s.WriteRSTStream(1, http2.ErrCodeRefusedStream)
			s.head(3, false, ":status", "200", "x-new", "entry of the table")
			s.WriteData(3, true, []byte("too late"))
			s.head(5, false, ":status", "200", "x-new", "entry of the table")
			s.WriteRSTStream(5, 0x99)
		}).upFrames(func(c *sender) {
			c.WriteData(1, true, []byte("too late"))
		}).closedBy("client"),
		want: `
			h2 requests 3 most 3 {up} {down}: closed by client
			1 h2 POST https://a.test/1: 0 up 12+0 down 0+0 RST_STREAM REFUSED_STREAM sent by server
			3 h2 GET https://a.test/3: 0 up 7+0 down 0+0 RST_STREAM CANCEL sent by client
			5 h2 GET https://a.test/5: 200 up 7+0 down 2+0 RST_STREAM unknown error code 0x99 sent by server
		`,
	}, {
		name: "GOAWAY refuses what is above its last stream",
		script: begin().upFrames(func(c *sender) {
			c.get(1, "/1")
			c.get(3, "/3")
		}).downFrames(func(s *sender) {
			s.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil)
			s.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("slow\ndown"))
		}).upFrames(func(c *sender) {
			c.get(5, "/5")
		}).downFrames(func(s *sender) {
			s.head(1, true, ":status", "200")
		}).closedBy("server"),
		want: `
			h2 requests 3 most 2 {up} {down} [GOAWAY NO_ERROR last stream 2147483647, sent; GOAWAY ENHANCE_YOUR_CALM last stream 1, sent, debug "slow\ndown"]: closed by server
			1 h2 GET https://a.test/1: 200 up 12+0 down 1+0 ok
			3 h2 GET https://a.test/3: 0 up 7+0 down 0+0 refused by GOAWAY ENHANCE_YOUR_CALM last stream 1
			5 h2 GET https://a.test/5: 0 up 7+0 down 0+0 refused by GOAWAY ENHANCE_YOUR_CALM last stream 1
		`,
	}, {
		name: "the connection is cut",
		script: begin().upFrames(func(c *sender) { c.get(1, "/") }).downFrames(func(s *sender) {
			s.head(1, false, ":status", "200")
			s.WriteData(1, false, []byte("hal"))
		}).closedBy("reset"),
		want: `
			h2 requests 1 most 1 {up} {down}: reset by client
			1 h2 GET https://a.test/: 200 up 9+0 down 1+3 connection closed before the answer ended: reset by client
		`,
	}}
}

func h2Targets() []scriptCase {
	return []scriptCase{{
		name: "CONNECT takes a stream and leaves the connection unused",
		script: begin().upFrames(func(c *sender) {
			c.head(1, false, ":method", "CONNECT", ":authority", "b.test:443")
			c.head(3, false, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", "a.test", ":path", "/ws")
		}).downFrames(func(s *sender) {
			s.head(1, false, ":status", "200")
			s.head(3, true, ":status", "403")
		}).upFrames(func(c *sender) {
			c.WriteData(1, true, []byte("tunnelled"))
		}).downFrames(func(s *sender) {
			s.WriteData(1, true, []byte("back"))
		}).closedBy("client"),
		want: `
			h2 requests 0 most 2 {up} {down} unused: closed by client
			1 h2 CONNECT b.test:443: 200 up 19+9 down 1+4 ok
			3 h2 CONNECT https://a.test/ws: 403 up 30+0 down 5+0 ok
		`,
	}, {
		name: "targets",
		script: begin().upFrames(func(c *sender) {
			c.head(1, true, ":method", "GET", ":scheme", "http", ":path", "/", "host", "by.host")
			c.head(3, true, ":method", "OPTIONS", ":scheme", "https", ":authority", "a.test:8443", ":path", "*")
		}).closedBy("client"),
		want: `
			h2 requests 2 most 2 {up} {down}: closed by client
			1 h2 GET http://by.host/: 0 up 10+0 down 0+0 connection closed before the answer ended: closed by client
			3 h2 OPTIONS https://a.test:8443: 0 up 23+0 down 0+0 connection closed before the answer ended: closed by client
		`,
	}}
}

func h2Oddities() []scriptCase {
	return []scriptCase{{
		name: "a push promise keeps the table in step",
		script: begin().upFrames(func(c *sender) { c.get(1, "/") }).downFrames(func(s *sender) {
			s.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true, PadLength: 3,
				BlockFragment: s.block(":method", "GET", ":scheme", "https", ":authority", "a.test", ":path", "/pushed", "x-both", "both")})
			s.head(1, true, ":status", "200", "x-both", "both")
			s.head(2, false, ":status", "200", "x-both", "both")
			s.WriteData(2, true, []byte("pushed"))
		}).closedBy("client"),
		want: `
			h2 requests 1 most 1 {up} {down}: closed by client
			1 h2 GET https://a.test/: 200 up 9+0 down 2+0 ok
		`,
	}, {
		name: "frames of unknown types, and on unknown streams",
		script: begin().upFrames(func(c *sender) {
			c.WriteRawFrame(0xfe, 0xff, 77, []byte("greased"))
			c.WriteRawFrame(0xfd, 0xff, 0, nil)
			c.WritePriority(9, http2.PriorityParam{Weight: 3})
			c.WriteData(9, true, []byte("nowhere"))
			c.WriteRSTStream(9, http2.ErrCodeCancel)
			c.get(11, "/")
		}).downFrames(func(s *sender) {
			s.WriteRawFrame(0x10, 0, 0, []byte("\x00\x00\x00\x00u=1"))
			s.head(9, true, ":status", "500")
			s.head(11, true, ":status", "200")
		}).closedBy("client"),
		want: `
			h2 requests 1 most 1 {up} {down}: closed by client
			11 h2 GET https://a.test/: 200 up 9+0 down 1+0 ok
		`,
	}, {
		name: "a header block that cannot be decoded",
		script: begin().upFrames(func(c *sender) {
			c.get(1, "/")
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0xff, 0xff, 0xff}, EndStream: true, EndHeaders: true})
			c.blocks += 3
			c.get(5, "/")
		}).downFrames(func(s *sender) {
			s.head(5, false, ":status", "200")
			s.WriteData(5, true, []byte("ok"))
		}).closedBy("client"),
		want: `
			h2 requests 3 most 3 {up} {down}: closed by client; wire: h2: client's frame at byte 66: header block of stream 3: decoding error: truncated headers
			1 h2 GET https://a.test/: 0 up 9+0 down 0+0 connection closed before the answer ended: closed by client
			3 h2 unknown : 0 up 3+0 down 0+0 connection closed before the answer ended: closed by client
			5 h2 unknown : 200 up 4+0 down 1+2 ok
		`,
	}, {
		name:   "HTTP/1.1 is spoken where h2 was agreed",
		script: new(script).upHeads("PUT / HTTP/1.1\r\nHost: a.test\r\n\r\n").downHeads("HTTP/1.1 204 No Content\r\n\r\n").closedBy("client"),
		want: `
			http/1.1 requests 1 most 1 {up} {down}: closed by client
			0 http/1.1 PUT https://a.test/: 204 up 32+0 down 27+0 ok
		`,
	}}
}

func h2Scripts() []scriptCase {
	return slices.Concat(h2Exchanges(), h2Streams(), h2Endings(), h2Targets(), h2Oddities())
}

func TestTapHTTP2Scripts(t *testing.T) {
	for _, c := range h2Scripts() {
		c.protocol = "h2"
		t.Run(c.name, c.requireAt)
	}
}

// TestTapTableSize wants requests decoded while the table that their encoder uses
// grows and shrinks by what the server allows.
func TestTapTableSize(t *testing.T) {
	var puts []string
	s := begin(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 20000})
	s.upFrames(func(c *sender) {
		c.SetMaxDynamicTableSizeLimit(20000)
		c.SetMaxDynamicTableSize(20000)
		c.get(1, "/oldest")
		for i := range 30 { // 10 kB, more than the first table
			c.head(uint32(3+2*i), true, ":method", "PUT", "x", strings.Repeat(string(rune('a'+i)), 300))
			puts = append(puts, "PUT")
		}
		c.get(101, "/oldest")
	}).downFrames(func(s *sender) {
		s.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		s.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 1<<32 - 1})
	}).upFrames(func(c *sender) {
		c.SetMaxDynamicTableSize(0)
		c.get(103, "/empty")
		c.SetMaxDynamicTableSizeLimit(1 << 20)
		c.SetMaxDynamicTableSize(1 << 20)
		c.get(105, "/huge")
		c.get(107, "/huge")
	})
	for _, cuts := range [][]int{{}, nil} {
		got := s.play(t, ServerSide, "h2", cuts)
		require.Equal(t, 30, strings.Count(got, "PUT"), got)
		for _, want := range []string{
			"101 h2 GET https://a.test/oldest: 0 up 4+0", // all four fields from the table
			"103 h2 GET https://a.test/empty:", "105 h2 GET https://a.test/huge:", "107 h2 GET https://a.test/huge: 0 up 4+0",
		} {
			require.Contains(t, got, want)
		}
	}
}

// TestTapMalformedFrames wants the parser to stop there, say so once, and let all
// bytes pass.
func TestTapMalformedFrames(t *testing.T) {
	for want, frame := range map[string]func(*sender){
		"DATA on stream 0":                                   func(c *sender) { c.WriteData(0, true, nil) },
		"HEADERS on stream 0":                                func(c *sender) { c.get(0, "/") },
		"HEADERS on stream 2, which is not a client's":       func(c *sender) { c.get(2, "/") },
		"RST_STREAM on stream 0":                             func(c *sender) { c.WriteRSTStream(0, 0) },
		"RST_STREAM of 3 bytes":                              func(c *sender) { c.WriteRawFrame(http2.FrameRSTStream, 0, 1, []byte("abc")) },
		"SETTINGS of 7 bytes":                                func(c *sender) { c.WriteRawFrame(http2.FrameSettings, 0, 0, make([]byte, 7)) },
		"SETTINGS on stream 1, not on the connection":        func(c *sender) { c.WriteRawFrame(http2.FrameSettings, 0, 1, nil) },
		"GOAWAY of 7 bytes":                                  func(c *sender) { c.WriteRawFrame(http2.FrameGoAway, 0, 0, make([]byte, 7)) },
		"GOAWAY on stream 1, not on the connection":          func(c *sender) { c.WriteRawFrame(http2.FrameGoAway, 0, 1, make([]byte, 8)) },
		"CONTINUATION on stream 1 without a header block":    func(c *sender) { c.WriteContinuation(1, true, nil) },
		"DATA has more padding (9) than payload":             func(c *sender) { c.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte("\x09abc")) },
		"DATA of 0 bytes is too short for its flags":         func(c *sender) { c.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, nil) },
		"HEADERS of 5 bytes is too short for its flags":      func(c *sender) { c.WriteRawFrame(http2.FrameHeaders, 0x28, 1, []byte("\x00abcd")) },
		"PUSH_PROMISE of 3 bytes is too short for its flags": func(c *sender) { c.WriteRawFrame(http2.FramePushPromise, 0, 1, []byte("abc")) },
	} {
		t.Run(want, func(t *testing.T) {
			s := begin().upFrames(frame).upFrames(func(c *sender) { c.get(3, "/") }).closedBy("client")
			for _, cuts := range [][]int{{}, nil} {
				got := s.play(t, ServerSide, "h2", cuts)
				require.Contains(t, got, "requests 0 ")
				require.Contains(t, got, ": closed by client; wire: h2: client's frame at byte 48: "+want+"\n")
			}
		})
	}
}

func TestTapMalformedBlocks(t *testing.T) {
	open := func(c *sender) {
		c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
	}
	for want, frame := range map[string]func(*sender){
		"DATA on stream 1 inside the header block of stream 1":         func(c *sender) { c.WriteData(1, true, nil) },
		"CONTINUATION on stream 3 inside the header block of stream 1": func(c *sender) { c.WriteContinuation(3, true, nil) },
		"HEADERS on stream 3 inside the header block of stream 1":      func(c *sender) { c.get(3, "/") },
	} {
		s := begin().upFrames(open).upFrames(frame).closedBy("client")
		got := s.play(t, ServerSide, "h2", nil)
		require.Contains(t, got, "; wire: h2: client's frame at byte 58: "+want+"\n")
	}
}

// TestTapHugeHeader wants a field beyond the limit to end the decoding, while the
// requests go on being counted.
func TestTapHugeHeader(t *testing.T) {
	s := begin().upFrames(func(c *sender) {
		b := c.block(":method", "GET", "x", strings.Repeat("\x00", maxFieldLen+1))
		c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:16], EndStream: true})
		for b = b[16:]; len(b) > 1<<20; b = b[1<<20:] {
			c.WriteContinuation(1, false, b[:1<<20])
		}
		c.WriteContinuation(1, true, b)
		c.get(3, "/")
	}).closedBy("client")
	got := s.play(t, ServerSide, "h2", []int{})
	require.Contains(t, got, "h2 requests 2 ")
	require.Contains(t, got, s.expand("{up}"))
	require.Contains(t, got, "header block of stream 1: hpack: string too long\n")
	require.Contains(t, got, "3 h2 unknown : 0 up 9+0")
}
