package wire

import (
	"bytes"
	"net"
	"testing"

	"example.com/wiretest/netlog"
)

// nullConn takes and gives without touching memory, so that what is measured
// is the tap.
type nullConn struct{ net.Conn }

func (nullConn) Read(p []byte) (int, error)  { return len(p), nil }
func (nullConn) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkTapData passes a body in frames of 16 KiB.
func BenchmarkTapData(b *testing.B) {
	r := benchTap(ServerSide, false)
	s := begin().upFrames(func(c *sender) { c.post(1, "/") })
	data := new(script).downFrames(func(s *sender) { s.WriteData(1, false, make([]byte, 16<<10)) }).steps[0].data
	benchSend(r, s)
	r.tap.Conn = nullConn{}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r.tap.Write(data)
	}
}

// BenchmarkTapMarkedUpload reads a body as http2.Framer does, header and
// payload apart, through a tap that marks.
func BenchmarkTapMarkedUpload(b *testing.B) {
	r := benchTap(ServerSide, true)
	benchSend(r, begin().upFrames(func(c *sender) { c.post(1, "/") }))
	data := new(script).upFrames(func(c *sender) { c.WriteData(1, false, make([]byte, 16<<10)) }).steps[0].data
	conn := &loopConn{data: data}
	r.tap.Conn = conn
	header, payload := make([]byte, frameHeaderLen), make([]byte, len(data)-frameHeaderLen)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r.tap.Read(header)
		r.tap.Read(payload)
	}
}

// loopConn gives the same bytes for ever.
type loopConn struct {
	net.Conn
	data []byte
	at   int
}

func (c *loopConn) Read(p []byte) (int, error) {
	n := copy(p, c.data[c.at:])
	c.at = (c.at + n) % len(c.data)
	return n, nil
}

// BenchmarkTapBodyHTTP1 passes a body of HTTP/1.1 in pieces of 16 KiB.
func BenchmarkTapBodyHTTP1(b *testing.B) {
	r := benchTap(ClientSide, false)
	r.tap.Write([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n"))
	data := make([]byte, 16<<10)
	r.tap.Conn = nullConn{}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r.tap.Write(data)
	}
}

// BenchmarkTapRequests is a GET and its answer without a body.
func BenchmarkTapRequests(b *testing.B) {
	for _, mark := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "marked"}[mark], func(b *testing.B) {
			r := benchTap(ServerSide, mark)
			s := begin().upFrames(func(c *sender) { c.get(1, "/path") })
			benchSend(r, s)
			get := s.upFrames(func(c *sender) { c.get(3, "/path") }).steps[4].data
			answer := new(script).downFrames(func(s *sender) { s.head(1, true, ":status", "200") }).steps[0].data
			buf := make([]byte, 4096)
			id := uint32(1)
			b.ReportAllocs()
			for b.Loop() {
				id += 2
				putStream(get, id)
				putStream(answer, id)
				r.conn.in = get
				r.tap.Read(buf)
				r.tap.Write(answer)
				r.conn.out.Reset()
				if mark {
					r.tap.claim(int64(id))
				}
			}
		})
	}
}

func putStream(frame []byte, id uint32) {
	frame[5], frame[6], frame[7], frame[8] = byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
}

func benchTap(side Side, mark bool) *run {
	r := &run{side: side}
	r.tap = NewTap(&r.conn, TapConfig{Side: side, Protocol: "h2", Record: r.log.Open(netlog.Connection{}), Mark: mark})
	return r
}

func benchSend(r *run, s *script) {
	for _, st := range s.steps {
		if st.up != (r.side == ServerSide) {
			r.tap.Write(st.data)
			continue
		}
		r.conn.in = bytes.Clone(st.data)
		buf := make([]byte, 4096)
		for len(r.conn.in) > 0 {
			r.tap.Read(buf)
		}
	}
	r.conn.out.Reset()
}
