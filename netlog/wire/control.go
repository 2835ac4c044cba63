package wire

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// Control bends the protocol of one connection: it says in frames what
// net/http's handlers and clients cannot say. It comes from ControlOf in a
// handler, from ClientConn.Control, and from Prepare in ServerConfig and
// ClientConfig before anything is said.
//
// Frames are put between those of net/http, never inside a header block, and
// what net/http then says about a stream that it does not know to be over is
// swallowed; neither side sees a protocol error. A call may wait for the peer
// like any write, except where it says that it does not.
//
// What is said here is recorded like everything else. As long as nothing was
// asked, a connection's bytes are net/http's own.
type Control struct{ tap *Tap }

// errHTTP1 is of what only HTTP/2 has.
var errHTTP1 = errors.New("only HTTP/2 has it")

// Protocol is "http/1.1" or "h2": what the connection was made for.
func (c *Control) Protocol() string { return c.tap.cfg.Protocol }

// Record is the connection's record.
func (c *Control) Record() *netlog.ConnectionRecord { return c.tap.cfg.Record }

// bend runs change with the connection's interposer, under its lock, and then
// sends what that has left to be sent.
func (c *Control) bend(op string, change func(*interposer) error) error {
	t := c.tap
	t.mu.Lock()
	ip, err := t.interpose()
	if err == nil {
		err = change(ip)
	}
	later := t.takeLater()
	t.mu.Unlock()
	later()
	t.kick()
	if err != nil {
		return fmt.Errorf("wire: control: %s: %w", op, err)
	}
	return nil
}

// GoAway sends GOAWAY (RFC 9113, section 6.8). last is the highest stream that
// is, or will be, served: Stream.ID for "up to this request", two less, or 0, for
// "before this request"; 1<<31-1 only announces that the end is near. Clients'
// streams have odd numbers, and some clients take an even one for a protocol error.
//
// A server then ignores the streams above last, calls no handler for them, and
// cancels handlers that it called already. It answers the others, and closes
// the connection a second after the last of them has ended, unless the client
// has done so. A second GoAway may lower last, not raise it.
//
// debug is opaque additional data, at most MaxDebug bytes.
func (c *Control) GoAway(last int64, code http2.ErrCode, debug string) error {
	return c.bend("GoAway", func(ip *interposer) error { return ip.goAway(last, code, debug) })
}

// Stream is the request on a stream that is not over yet; nil if there is none.
func (c *Control) Stream(id int64) *Stream {
	t := c.tap
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.openStream(uint32(id)); s != nil {
		return &s.Stream
	}
	return nil
}

// StreamOf is the request that has this record; nil if it is over, or another
// connection's. It is meant for RoundTrip's started callback, where it never
// is nil.
func (c *Control) StreamOf(rec *netlog.RequestRecord) *Stream {
	t := c.tap
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && t.last.rec == rec {
		return t.last
	}
	if t.h2 == nil {
		return nil
	}
	for _, s := range t.h2.streams {
		if s.rec == rec {
			return &s.Stream
		}
	}
	return nil
}

// Ping sends a PING frame. The answer is seen in Frames.
func (c *Control) Ping(data [8]byte) error {
	return c.bend("Ping", func(ip *interposer) error {
		ip.out.inject(appendFrame(nil, http2.FramePing, 0, 0, data[:]))
		return nil
	})
}

// SendSettings sends a further SETTINGS frame; its acknowledgement is kept from
// net/http, which goes on by its own settings. That leaves some out of reach:
//
//   - SETTINGS_INITIAL_WINDOW_SIZE may be from 8 KiB to what net/http has stated.
//     Above, net/http would take what the peer sends for too much; below, it
//     would not widen the window before it has closed. Windows that are tiny
//     from the start are ServerConfig.StreamWindow's.
//   - SETTINGS_HEADER_TABLE_SIZE may be at most 4096.
//   - SETTINGS_MAX_CONCURRENT_STREAMS is a promise only: net/http refuses
//     streams by its own limit, which is ServerConfig.MaxConcurrentStreams.
//   - SETTINGS_MAX_FRAME_SIZE may not be more than net/http has stated, or
//     16 KiB where it did not.
func (c *Control) SendSettings(settings ...http2.Setting) error {
	return c.bend("SendSettings", func(ip *interposer) error { return ip.sendSettings(settings) })
}

// HoldSettings holds back all that a server has to say, which begins with its
// SETTINGS, until ReleaseSettings, or until d has passed if d is not 0.
// Requests are served meanwhile. It is for ServerConfig.Prepare.
func (c *Control) HoldSettings(d time.Duration) error {
	return c.bend("HoldSettings", func(ip *interposer) error { return ip.hold(d) })
}

// ReleaseSettings ends HoldSettings.
func (c *Control) ReleaseSettings() error {
	return c.bend("ReleaseSettings", func(ip *interposer) error { ip.release(); return nil })
}
