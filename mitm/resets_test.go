package mitm_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// resetCodes are all of RFC 9113, section 7, and one that is not registered.
func resetCodes() []http2.ErrCode {
	codes := []http2.ErrCode{0x1234}
	for code := http2.ErrCodeNo; code <= http2.ErrCodeHTTP11Required; code++ {
		codes = append(codes, code)
	}
	return codes
}

// resetCodes are fewer where no leg has codes to tell apart, and for the race
// detector, to which all are one.
func (s *rawStage) resetCodes() []http2.ErrCode {
	all := resetCodes()
	if s.down == alpn.H2 && s.up == alpn.H2 && !raceDetector {
		return all
	}
	return all[:3]
}

// phases are when a stream is reset, by how far the other end has heard of it.
func phases() []string {
	return []string{"at once", "in the request", "after the request", "in the answer"}
}

// beginUpTo brings an exchange to a phase, at the client's end.
func (s *side) beginUpTo(phase string) {
	switch phase {
	case "at once", "in the request":
		s.head("POST /", unknown)
		if phase == "in the request" {
			s.data("begun")
		}
	default:
		s.head("GET /", nothing)
		if phase == "in the answer" {
			s.wantHead("200")
			s.wantData("begun")
		}
	}
}

// followUpTo is the same at the origin's end.
func (s *side) followUpTo(phase string) {
	switch phase {
	case "at once", "in the request":
		s.wantHead("POST /")
		if phase == "in the request" {
			s.wantData("begun")
		}
	default:
		s.wantHead("GET /")
		s.wantEnd()
		if phase == "in the answer" {
			s.head("200", unknown)
			s.data("begun")
		}
	}
}

// A client's reset reaches the origin with its code, where both have codes.
func TestClientsResetCodes(t *testing.T) {
	for _, phase := range phases() {
		t.Run(phase, func(t *testing.T) {
			var code atomic.Uint32
			var turn, done chan struct{}
			eachRawPair(t, func(o *side) {
				defer func() { done <- struct{}{} }()
				o.followUpTo(phase)
				turn <- struct{}{}
				want := http2.ErrCodeCancel // of a client that has no codes
				if o.name == "origin of h2" {
					want = http2.ErrCode(code.Load())
				}
				o.wantReset(want)
			}, func(t *testing.T, s *rawStage) {
				s.server.name = "origin of " + s.down
				turn, done = make(chan struct{}, 1), make(chan struct{}, 1)
				client := s.client()
				for i, each := range s.resetCodes() {
					code.Store(uint32(each))
					if i > 0 && s.down != alpn.H2 {
						client = s.client()
					}
					c := client.call()
					c.beginUpTo(phase)
					c.await(turn)
					c.reset(each)
					c.await(done)
				}
				if s.down != alpn.H2 {
					return
				}
				for i, q := range s.proxy.Log().Requests(mitm.Downstream) {
					assert.Equal(t, fmt.Sprintf("RST_STREAM %v sent by client", resetCodes()[i]), q.Err)
				}
				if s.up != alpn.H2 {
					return
				}
				netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Upstream)
				for i, p := range s.proxy.Log().Pairs() {
					assert.Equal(t, p.Client.Err, p.Origin.Err, "pair %d", i)
				}
			})
		})
	}
}

// An origin's reset reaches the client with its code, where both have codes. A
// client without any sees its answer, or its connection, break off.
func TestOriginsResetCodes(t *testing.T) {
	for _, phase := range phases() {
		t.Run(phase, func(t *testing.T) {
			var code atomic.Uint32
			eachRawPair(t, func(o *side) {
				o.followUpTo(phase)
				o.reset(http2.ErrCode(code.Load()))
			}, func(t *testing.T, s *rawStage) {
				client := s.client()
				for i, each := range s.resetCodes() {
					code.Store(uint32(each))
					if i > 0 && s.down != alpn.H2 {
						client = s.client()
					}
					c := client.call()
					c.beginUpTo(phase)
					want := each
					if s.up != alpn.H2 {
						want = http2.ErrCodeInternal
					}
					if phase != "in the answer" && (s.up != alpn.H2 || s.down != alpn.H2) {
						c.wantHead("502")
						assert.Contains(t, c.next().data, "mitm: upstream leg: "+s.addr+": ")
						continue
					}
					c.wantReset(want)
				}
				if s.down != alpn.H2 || s.up != alpn.H2 {
					return
				}
				netlog.RequireConnections(t, s.proxy.Log(), 1, alpn.H2, mitm.Downstream)
				for i, p := range s.proxy.Log().Pairs() {
					want := fmt.Sprintf("RST_STREAM %v sent by server", resetCodes()[i])
					assert.Equal(t, []string{want, want}, []string{p.Client.Err, p.Origin.Err})
				}
				assert.Contains(t, s.proxy.Log().Pairs().String(), "RST_STREAM PROTOCOL_ERROR sent by server")
			})
		})
	}
}
