package alpn

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// InitialReader puts a ClientHello together from the datagrams with which a
// client opens one QUIC connection: it decrypts their Initial packets (RFC
// 9001, section 5; RFC 9369 for version 2), whose keys follow from what is sent
// in clear, and joins the CRYPTO frames of several packets, in any order. Its
// zero value is ready. It is not for several goroutines at once.
type InitialReader struct {
	datagrams int
	version   uint32
	first     []byte // connection ID of which the keys are made
	stream    cryptoStream
	hello     *ClientHello
}

// Datagram takes the next one that the client sent, and returns the
// ClientHello once all of it has come; until then it returns nil and no error.
// It neither keeps nor changes datagram.
//
// The error is a *HelloError; its Offset counts in this datagram, or, where
// Reason says so, in what the CRYPTO frames carried. The reader goes on with the
// next datagram, as a server does: anyone can send it a packet that is no good.
func (r *InitialReader) Datagram(datagram []byte) (*ClientHello, error) {
	r.datagrams++
	if r.hello != nil {
		return r.hello, nil
	}
	wrong := r.packets(bytes.Clone(datagram))
	hello, err := r.finish()
	if hello == nil && err == nil {
		err = wrong
	}
	return hello, err
}

// packets reads all that are coalesced in a datagram, whatever is wrong with one
// of them (RFC 9000, section 12.2). The error is the first.
func (r *InitialReader) packets(datagram []byte) (first error) {
	if why := noLongHeader(datagram); why != "" {
		return r.wrong(0, why)
	}
	for at := 0; at < len(datagram); {
		rest := datagram[at:]
		if at > 0 && noLongHeader(rest) != "" {
			return first // a packet of later on, or padding
		}
		p, flaw := parseLongHeader(rest, at)
		if flaw != nil {
			return cmp.Or(first, r.wrong(flaw.at, flaw.why)) // where the next begins is not known
		}
		if p.kind == packetInitial {
			first = cmp.Or(first, r.initial(p, rest, at))
		}
		at += p.end
	}
	return first
}

// initial decrypts a packet, which is at the beginning of rest.
func (r *InitialReader) initial(p *longHeader, rest []byte, at int) error {
	plain, start := r.open(p, rest)
	if plain == nil {
		return r.wrong(at, fmt.Sprintf("Initial packet that the keys of connection ID %x do not open: damaged, or from a server", r.keyID(p)))
	}
	var found *flaw
	r.stream.frames(cursor{plain, at + start, &found})
	if found != nil {
		return r.wrong(found.at, found.why)
	}
	return nil
}

// open tries the keys of the first packet, and then those of this one's own
// connection ID, which count after a Retry (RFC 9001, section 5.2).
func (r *InitialReader) open(p *longHeader, rest []byte) (plain []byte, start int) {
	for _, id := range [][]byte{r.keyID(p), p.destination} {
		keys := clientInitialKeys(p.version, id)
		packet := bytes.Clone(rest[:p.end])
		number, size := keys.unmask(packet, p.number)
		start := p.number + size
		plain, err := keys.open(number, packet[:start], packet[start:])
		if err == nil {
			r.version, r.first = p.version, bytes.Clone(id)
			return plain, start
		}
	}
	return nil, 0
}

func (r *InitialReader) keyID(p *longHeader) []byte {
	if r.first == nil || r.version != p.version {
		return p.destination
	}
	return r.first
}

// finish parses the hello once it is whole.
func (r *InitialReader) finish() (*ClientHello, error) {
	msg := r.stream.beginning()
	if len(msg) < handshakeHeader {
		return nil, nil
	}
	n := int(msg[1])<<16 | int(msg[2])<<8 | int(msg[3])
	switch {
	case msg[0] != clientHello:
		return nil, r.inStream(0, fmt.Sprintf("handshake message of type %d%s, not a ClientHello (1)", msg[0], handshakeName(msg[0])))
	case n > maxHello:
		return nil, r.inStream(1, fmt.Sprintf("too long: %d bytes announced, at most %d are read", n, maxHello))
	case len(msg) < handshakeHeader+n:
		return nil, nil
	}
	hello, flaw := parseClientHello(msg[: handshakeHeader+n : handshakeHeader+n])
	if flaw != nil {
		return nil, r.inStream(flaw.at, flaw.why)
	}
	hello.QUICVersion = r.version
	r.hello = hello
	return hello, nil
}

func (r *InitialReader) wrong(at int, why string) error {
	return &HelloError{message: fmt.Sprintf("ClientHello: QUIC datagram %d", r.datagrams), Offset: at, Reason: why}
}

func (r *InitialReader) inStream(at int, why string) error {
	return &HelloError{message: "ClientHello: QUIC CRYPTO stream", Offset: at, Reason: why}
}

// Missing says what a hello still lacks, for whoever gives up waiting; "" is
// nothing.
func (r *InitialReader) Missing() string {
	msg := r.stream.beginning()
	switch {
	case r.hello != nil:
		return ""
	case r.datagrams == 0:
		return "no datagram came"
	case len(r.stream.have) == 0:
		return "no CRYPTO frame came"
	case r.stream.have[0].from > 0:
		return fmt.Sprintf("the beginning, bytes 0 to %d", r.stream.have[0].from-1)
	case len(msg) < handshakeHeader:
		return fmt.Sprintf("all behind byte %d", len(msg)-1)
	}
	whole := handshakeHeader + int(msg[1])<<16 + int(msg[2])<<8 + int(msg[3])
	gaps := r.stream.gaps(whole)
	if len(gaps) == 0 {
		return fmt.Sprintf("nothing: all %d bytes came, and are no ClientHello", whole)
	}
	return "bytes " + strings.Join(gaps, ", ") + fmt.Sprintf(" of %d", whole)
}

func (s *cryptoStream) gaps(whole int) (gaps []string) {
	at := 0
	for _, have := range append(s.have, span{whole, whole}) {
		if have.from > at && at < whole {
			gaps = append(gaps, fmt.Sprintf("%d to %d", at, min(have.from, whole)-1))
		}
		at = have.to
	}
	return gaps
}
