package mitm_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// An origin that refuses an upload in the middle is heard to the end, also where the
// client has stopped sending to hear it.
func TestAnswerThatRefusesALargeUploadPassesWhole(t *testing.T) {
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(pairName(down, up), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newRawStage(t, linkdelay.NewNetwork(t, linkdelay.Link{}), mitm.Config{}, down, up, func(o *side) {
						o.wantHead("PUT /")
						o.wantData(strings.Repeat("x", 100_000))
						time.Sleep(time.Second) // the proxy waits for more
						o.head("413", 9)
						o.data("early")
						time.Sleep(time.Second)
						o.data("late")
						finish(o)
					})
					c := s.call()
					c.head("PUT /", 200_000)
					c.data(strings.Repeat("x", 100_000))
					c.wantHead("413")
					c.wantData("earlylate")
					c.wantEnd()
				})
			})
		}
	}
}
