package mitm_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// An answer that begins while the body is on its way, for which the client was told to
// continue, does not stop time. Where net/http (Go 1.27) has its head wait for what
// the client sends next, it comes with that.
func TestAnswerAheadOfABodyThatWasExpected(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		for _, size := range []int64{9, unknown} {
			synctest.Test(t, func(t *testing.T) {
				s := newRawStage(t, linkdelay.NewNetwork(t, linkdelay.Link{}), mitm.Config{}, alpn.HTTP11, up, func(o *side) {
					o.wantHead("PUT /")
					o.head("100", nothing)
					o.wantData("begun")
					time.Sleep(ms) // until the proxy waits for more
					o.head("200", 9)
					o.data("early")
					o.wantData("rest")
					o.wantEnd()
					o.data("late")
					finish(o)
				})
				c := s.call()
				c.head("PUT /", size, "Expect: 100-continue")
				c.wantHead("100")
				c.data("begun")
				begun := time.Now()
				time.AfterFunc(time.Second, func() {
					c.data("rest")
					c.end()
				})
				assert.Equal(t, "close", c.wantHead("200").Get("Connection"))
				took := ms
				if headsWait {
					took = time.Second
				}
				assert.Equal(t, took, time.Since(begun))
				c.wantData("earlylate")
				c.wantEnd()
			})
		}
	}
}
