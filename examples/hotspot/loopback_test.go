package hotspot

import (
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

// TestOnSockets is the core of the story on loopback, with less patience: counts
// exactly, and times never under their limit.
func TestOnSockets(t *testing.T) {
	t.Parallel()
	const short, patience = 20 * time.Millisecond, 3 * time.Second
	s := arrive(t, linkdelay.NewLoopback(t, linkdelay.RTT(short)), &origin.HTTP3{})
	tr := s.site.HTTP3Transport(s.network.Host("phone.test"))
	tr.QUICConfig = &quic.Config{HandshakeIdleTimeout: patience, MaxIdleTimeout: patience}
	s.browser.HTTP3 = h3.Browser(tr)
	s.visit("/small")

	for _, path := range []string{"/small", "/large"} {
		is := s.visit(path)
		assert.Equal(t, alpn.H3, is.protocol, "%s: %v", path, is)
		assert.Equal(t, "whole", is.end, "%s: %v", path, is)
		assert.GreaterOrEqual(t, is.took, 2*short, path)
	}

	s.setLink(lossy(linkdelay.RTT(short), 1))
	small := s.visit("/small")
	assert.Equal(t, "whole", small.end, "%v", small)
	stuck := s.visit("/large")
	assert.Contains(t, stuck.end, "idle timeout: nothing came from the server", "%v", stuck)
	assert.NotZero(t, stuck.firstByte, "headers passed: %v", stuck)
	assert.GreaterOrEqual(t, stuck.took, patience)
	assert.Equal(t, []int{1, 0}, []int{stuck.quic, stuck.tcp}, "connections of QUIC and of TCP: %v", stuck)
	assert.False(t, stuck.broken)

	s.wire().BlockUDP()
	back := s.visit("/large")
	assert.Equal(t, alpn.H2, back.protocol, "%v", back)
	assert.Equal(t, []int{1, 1}, []int{back.quic, back.tcp}, "connections of QUIC and of TCP: %v", back)
	assert.True(t, back.broken)
	again := s.visit("/small")
	assert.Equal(t, []int{0, 1}, []int{again.quic, again.tcp}, "connections of QUIC and of TCP: %v", again)
}
