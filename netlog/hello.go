package netlog

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// helloReader finds the ClientHello in what a client writes. It leaves the
// reading to crypto/tls: to a server that looks at the hello and goes no further.
type helloReader struct{ got []byte }

const (
	recordTypeHandshake = 22       // RFC 8446, section 5.1
	largestHello        = 64 << 10 // as crypto/tls allows
)

// write takes what the client writes next. more is false once there is nothing
// left to find.
func (h *helloReader) write(p []byte) (info *tls.ClientHelloInfo, more bool) {
	if len(h.got) == 0 && (len(p) == 0 || p[0] != recordTypeHandshake) {
		return nil, true // what comes before: the CONNECT to a proxy
	}
	h.got = append(h.got, p...)
	info = readHello(h.got)
	return info, info == nil && len(h.got) < largestHello
}

var errSeen = errors.New("seen")

// readHello is nil while b is not a whole ClientHello.
func readHello(b []byte) (info *tls.ClientHelloInfo) {
	look := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		info = hello
		return nil, errSeen
	}}
	_ = tls.Server(&written{Reader: bytes.NewReader(b)}, look).Handshake() // fails: in errSeen at best
	return info
}

// written is a connection that gives what was written, and then ends.
type written struct{ *bytes.Reader }

func (*written) Write(p []byte) (int, error)      { return len(p), nil }
func (*written) Close() error                     { return nil }
func (*written) LocalAddr() net.Addr              { return nil }
func (*written) RemoteAddr() net.Addr             { return nil }
func (*written) SetDeadline(time.Time) error      { return nil }
func (*written) SetReadDeadline(time.Time) error  { return nil }
func (*written) SetWriteDeadline(time.Time) error { return nil }
