package hotspot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
)

// near is as exact as times of HTTP/3 are: to a millisecond or two percent.
func near(t *testing.T, want, got time.Duration, what string) {
	t.Helper()
	assert.InDelta(t, want.Seconds(), got.Seconds(), max(0.001, 0.02*want.Seconds()), "%s: want %v, took %v", what, want, got)
}

// The words of the story. Each is about an answer after a handshake.

// isQuick: the whole answer within a few milliseconds of its first byte, which
// took one round trip.
func (is told) isQuick(t *testing.T, protocol string) {
	t.Helper()
	assert.Equal(t, protocol, is.protocol, "%v", is)
	assert.Equal(t, "whole", is.end, "%v", is)
	near(t, rtt, is.firstByte, "first byte")
	assert.Less(t, is.content, 10*time.Millisecond, "content: %v", is)
	assert.False(t, is.broken, "the browser has given HTTP/3 up: %v", is)
}

// isStuck: nothing fell back, nothing was asked again; the request died with its
// connection, whose idle timeout is 30 s.
func (is told) isStuck(t *testing.T) {
	t.Helper()
	assert.Equal(t, alpn.H3, is.protocol, "%v", is)
	assert.Equal(t, "connection closed before the answer ended: idle timeout: nothing came from the server", is.end, "%v", is)
	assert.Equal(t, 1, is.quic, "QUIC connections: %v", is)
	assert.Zero(t, is.tcp, "TCP connections, which would be a fallback: %v", is)
	assert.GreaterOrEqual(t, is.took, 30*time.Second, "%v", is)
	assert.False(t, is.broken, "the browser has given HTTP/3 up, though the handshake succeeded: %v", is)
}

// fellBack: the handshake failed, once; the answer came by TCP, and HTTP/3 is
// left alone for a while. quic-go's patience with a handshake is 5 s without a
// packet, and 10 s in all.
func (is told) fellBack(t *testing.T, patience time.Duration) {
	t.Helper()
	assert.Equal(t, alpn.H2, is.protocol, "%v", is)
	assert.Equal(t, "whole", is.end, "%v", is)
	assert.Equal(t, 1, is.quic, "attempts at QUIC: %v", is)
	assert.Equal(t, 1, is.tcp, "TCP connections: %v", is)
	assert.True(t, is.broken, "the alternative is not marked broken: %v", is)
	near(t, patience+3*rtt, is.took, "quic-go's patience with a handshake, and TCP, TLS, one round trip")
}

// wentByTCP: nobody tried anything else.
func (is told) wentByTCP(t *testing.T) {
	t.Helper()
	assert.Equal(t, alpn.H2, is.protocol, "%v", is)
	assert.Equal(t, "whole", is.end, "%v", is)
	assert.Zero(t, is.quic, "attempts at QUIC: %v", is)
	near(t, 3*rtt, is.took, "TCP, TLS, one round trip")
}
