package alpn_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/require"
)

// capture is the first flight of a crypto/tls client: one record.
func capture(tb testing.TB, cfg *tls.Config) []byte {
	tb.Helper()
	client, server := net.Pipe()
	var shaking sync.WaitGroup // waited for before return
	shaking.Go(func() { tls.Client(client, cfg).Handshake() })
	header := make([]byte, 5)
	_, err := io.ReadFull(server, header)
	require.NoError(tb, err)
	body := make([]byte, binary.BigEndian.Uint16(header[3:]))
	_, err = io.ReadFull(server, body)
	require.NoError(tb, err)
	server.Close()
	shaking.Wait()
	return append(header, body...)
}

// hellos are captured ones of every kind that crypto/tls sends.
func hellos(tb testing.TB) map[string][]byte {
	classic := func(cfg *tls.Config) *tls.Config {
		cfg.CurvePreferences = []tls.CurveID{tls.X25519}
		return cfg
	}
	noName := &tls.Config{InsecureSkipVerify: true}
	return map[string][]byte{
		"TLS 1.0":      capture(tb, clientTLS(tls.VersionTLS10)),
		"TLS 1.1":      capture(tb, clientTLS(tls.VersionTLS11, alpn.HTTP11)),
		"TLS 1.2":      capture(tb, clientTLS(tls.VersionTLS12, alpn.H2, alpn.HTTP11)),
		"TLS 1.3":      capture(tb, classic(clientTLS(tls.VersionTLS13, alpn.H2, alpn.HTTP11))),
		"any version":  capture(tb, classic(&tls.Config{ServerName: "wiretest.test"})),
		"post-quantum": capture(tb, clientTLS(tls.VersionTLS13, alpn.H2)),
		"no SNI":       capture(tb, noName),
	}
}

// inRecords cuts a handshake message into records of size bytes.
func inRecords(msg []byte, size int) (stream []byte) {
	for len(msg) > 0 {
		n := min(size, len(msg))
		stream = append(stream, 22, 3, 1, byte(n>>8), byte(n))
		stream = append(stream, msg[:n]...)
		msg = msg[n:]
	}
	return stream
}

// padded is a hello's message with a padding extension (RFC 7685) that makes
// its body size bytes long.
func padded(record []byte, size int) []byte {
	msg := bytes.Clone(record[5:])
	pad := size - (len(msg) - 4) - 4
	extensions := 4 + 2 + 32
	extensions += 1 + int(msg[extensions])
	extensions += 2 + int(binary.BigEndian.Uint16(msg[extensions:]))
	extensions += 1 + int(msg[extensions])
	length := int(binary.BigEndian.Uint16(msg[extensions:])) + 4 + pad
	binary.BigEndian.PutUint16(msg[extensions:], uint16(length))
	msg[1], msg[2], msg[3] = byte(size>>16), byte(size>>8), byte(size)
	msg = append(msg, 0, 21, byte(pad>>8), byte(pad))
	return append(msg, make([]byte, pad)...)
}

// segments is a conn whose Reads return one of them each, then err.
type segments struct {
	net.Conn
	left [][]byte
	err  error
}

func cut(stream []byte, at ...int) *segments {
	s := &segments{err: io.EOF}
	for i, end := range append(at, len(stream)) {
		start := 0
		if i > 0 {
			start = at[i-1]
		}
		s.left = append(s.left, stream[start:end])
	}
	return s
}

func oneByteEach(stream []byte) *segments {
	s := &segments{err: io.EOF}
	for i := range stream {
		s.left = append(s.left, stream[i:i+1])
	}
	return s
}

func (s *segments) Read(b []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, s.err
	}
	n := copy(b, s.left[0])
	if s.left[0] = s.left[0][n:]; len(s.left[0]) == 0 {
		s.left = s.left[1:]
	}
	return n, nil
}

// peek also checks that the conn replays stream, whatever became of the hello.
func peek(tb testing.TB, conn net.Conn, stream []byte) (*alpn.ClientHello, error) {
	tb.Helper()
	hello, replayed, err := alpn.PeekClientHello(conn)
	again, readErr := io.ReadAll(replayed)
	require.NoError(tb, readErr)
	require.True(tb, bytes.Equal(stream, again), "replayed %d bytes of %d, or other ones", len(again), len(stream))
	return hello, err
}

// seenByTLS is what crypto/tls reads from the same bytes; nil if it refuses
// them.
func seenByTLS(stream []byte) (info *tls.ClientHelloInfo) {
	enough := errors.New("enough")
	tls.Server(&mute{segments: *cut(stream)}, &tls.Config{
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			info = hello
			return nil, enough
		},
	}).Handshake()
	return info
}

// mute takes whatever is written to it.
type mute struct{ segments }

func (*mute) Write(b []byte) (int, error) { return len(b), nil }
func (*mute) Close() error                { return nil }
