package alpn

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// maxHello is the longest body of a handshake message that is read: as long as
// crypto/tls takes.
const maxHello = 64 << 10

// PeekClientHello reads from conn until it has a whole ClientHello, in whatever
// TCP segments and TLS records it comes, up to 64 KiB. It has no time limit but
// conn's read deadline.
//
// The net.Conn it returns takes conn's place: it replays every byte that was
// read, and goes on with conn. It does so after an error too, so nothing is
// lost with a client that does not speak TLS. It has CloseWrite if conn has,
// and NetConn, which returns conn.
//
// The error is a *HelloError. It wraps what Read returned, if that was the
// reason; an end before the first byte is io.EOF, a later one
// io.ErrUnexpectedEOF.
func PeekClientHello(conn net.Conn) (*ClientHello, net.Conn, error) {
	p := peeker{want: clientHello, conn: conn, stream: make([]byte, 0, 2048)} // most hellos fit
	if err := p.read(); err != nil {
		return nil, p.replayed(), err
	}
	hello, flaw := parseClientHello(p.msg)
	if flaw != nil {
		return nil, p.replayed(), p.wrongf(p.offset(flaw.at), "%s", flaw.why)
	}
	hello.RecordVersion = p.recordVersion()
	return hello, p.replayed(), nil
}

// peeker collects a stream, and takes a handshake message out of its records.
type peeker struct {
	want    byte // type of the handshake message
	conn    net.Conn
	stream  []byte // all that was read
	readErr error  // that came with the last bytes, and was not reported
	pos     int    // up to where stream is understood
	msg     []byte
}

func (p *peeker) read() error {
	if err := p.recognise(); err != nil {
		return err
	}
	return p.message()
}

func (p *peeker) replayed() net.Conn { return replay(p.conn, p.stream, p.readErr) }

func (p *peeker) recordVersion() uint16 { return uint16(p.stream[1])<<8 | uint16(p.stream[2]) }

// recognise reads until the stream can only be TLS, or can only be something
// else. It never waits for bytes that a client need not send.
func (p *peeker) recognise() error {
	for {
		if err := p.fill(len(p.stream)+1, recordHeader+handshakeHeader); err != nil {
			return err
		}
		looks, certain := looksLike(p.stream)
		if certain && looks != looksTLS {
			return &HelloError{message: p.name(), Looks: looks, Reason: "not a " + p.name() + " but " + describe(looks, p.stream)}
		}
		if certain {
			return nil
		}
	}
}

// message collects records until they hold one whole handshake message.
func (p *peeker) message() error {
	for want := handshakeHeader; len(p.msg) < want; {
		if err := p.record(want - len(p.msg)); err != nil {
			return err
		}
		if len(p.msg) < handshakeHeader {
			continue
		}
		n, err := p.messageLength()
		if err != nil {
			return err
		}
		if want = handshakeHeader + n; len(p.msg) >= want {
			p.msg = p.msg[:want:want]
		}
	}
	return nil
}

// offset is where byte at of the message lies in the stream.
func (p *peeker) offset(at int) int { return streamOffset(p.stream[:p.pos], at) }

func (p *peeker) messageLength() (int, error) {
	if p.msg[0] != p.want {
		return 0, p.wrongf(p.offset(0), "handshake message of type %d%s, not a %s (%d)", p.msg[0], handshakeName(p.msg[0]), p.name(), p.want)
	}
	n := int(p.msg[1])<<16 | int(p.msg[2])<<8 | int(p.msg[3])
	if n > maxHello {
		return 0, p.wrongf(p.offset(1), "too long: %d bytes announced, at most %d are read", n, maxHello)
	}
	return n, nil
}

// record adds the next record's bytes to the message, which lacks missing.
func (p *peeker) record(missing int) error {
	start := p.pos
	atLeast := start + recordHeader + missing
	if err := p.fill(start+recordHeader, atLeast); err != nil {
		return err
	}
	if err := p.checkRecord(p.stream[start:], start); err != nil {
		return err
	}
	end := start + recordHeader + recordLength(p.stream[start:])
	if err := p.fill(end, max(end, atLeast)); err != nil {
		return err
	}
	p.pos = end
	content := p.stream[start+recordHeader : end : end]
	if p.msg == nil { // mostly it is all, and need not be copied: what is read is never written to
		p.msg = content
		return nil
	}
	p.msg = append(p.msg, content...)
	return nil
}

func (p *peeker) checkRecord(header []byte, at int) error {
	n := recordLength(header)
	switch {
	case header[0] != recordHandshake:
		return p.wrongf(at, "record of type %d%s inside the %s", header[0], recordName(header[0]), p.name())
	case header[1] != 3:
		return p.wrongf(at+1, "record version %d.%d is none of TLS", header[1], header[2])
	case n == 0:
		return p.wrongf(at+3, "empty handshake record (RFC 8446, section 5.1)")
	case n > maxRecord:
		return p.wrongf(at+3, "too long: record of %d bytes; at most %d (RFC 8446, section 5.1)", n, maxRecord)
	}
	return nil
}

// fill reads until the stream is n bytes long. atLeast is for the message: how
// long the stream has to become, as far as that is known.
func (p *peeker) fill(n, atLeast int) error {
	for len(p.stream) < n {
		if p.readErr != nil {
			return p.ended(atLeast)
		}
		p.grow()
		got, err := p.conn.Read(p.stream[len(p.stream):cap(p.stream)])
		p.stream, p.readErr = p.stream[:len(p.stream)+got], err
	}
	return nil
}

func (p *peeker) grow() {
	if len(p.stream) < cap(p.stream) {
		return
	}
	bigger := make([]byte, len(p.stream), 2*cap(p.stream))
	copy(bigger, p.stream)
	p.stream = bigger
}

// ended reports the error of Read. It is the caller's from here on; the conn
// that takes over asks the old one again.
func (p *peeker) ended(atLeast int) error {
	err, at := p.readErr, len(p.stream)
	p.readErr = nil
	if at == 0 && errors.Is(err, io.EOF) {
		return &HelloError{message: p.name(), Reason: "nothing was sent", Err: io.EOF}
	}
	reason := fmt.Sprintf("at least %d bytes expected%s", atLeast, p.soFar())
	if errors.Is(err, io.EOF) {
		return &HelloError{message: p.name(), Offset: at, Reason: "truncated, " + reason, Err: io.ErrUnexpectedEOF}
	}
	return &HelloError{message: p.name(), Offset: at, Reason: "read failed, " + reason, Err: err}
}

// soFar shows what came, where it was not yet certain to be TLS.
func (p *peeker) soFar() string {
	if len(p.stream) == 0 || p.stream[0] == recordHandshake {
		return ""
	}
	return fmt.Sprintf(", so far %q", p.stream)
}

func (p *peeker) wrongf(at int, format string, args ...any) error {
	return &HelloError{message: p.name(), Offset: at, Reason: fmt.Sprintf(format, args...)}
}

func (p *peeker) name() string {
	if p.want == serverHello {
		return "ServerHello"
	}
	return "ClientHello"
}
