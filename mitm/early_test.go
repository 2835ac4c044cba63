package mitm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// What comes of a body behind an early answer is never taken for a request: the
// connection ends behind that answer.
func TestRestOfARequestIsNoRequest(t *testing.T) {
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		for _, size := range []int64{200, unknown} {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				s := newRawStage(t, network, mitm.Config{}, alpn.HTTP11, up, func(o *side) {
					o.wantHead("PUT /")
					o.wantData("begun")
					o.head("200", 5)
					o.data("early")
					finish(o)
				})
				c := s.call()
				c.head("PUT /", size)
				c.data("begun")
				assert.Equal(t, "close", c.wantHead("200").Get("Connection"))
				c.wantData("early")
				wantRestIgnored(t, c)
			})
		}
	}
}

// wantRestIgnored sends what has not come of a request of 200 bytes that was answered.
func wantRestIgnored(t *testing.T, c *side) {
	t.Helper()
	c.wantEnd()
	c.data(strings.Repeat("rest ", 39))
	c.call.(*rawH1Call).in = ""
	e := c.next()
	assert.Equal(t, "closed", e.kind, "%v", e)
}
