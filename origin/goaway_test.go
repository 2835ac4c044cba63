package origin_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// inFlight asks for /0 to /4, each a millisecond after the other, of an origin
// that needs ten seconds for each, and meets fault with the third. It returns what
// net/http's client was told.
func inFlight(t *testing.T, fault origin.Action, check func(*origin.Server)) (told [5]string) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		s := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Handler: origin.Work(10*time.Second, hello),
			Faults: []origin.Fault{{Request: 3, Do: fault}},
		})
		client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
		var all sync.WaitGroup
		for i := range told {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				told[i] = ask(client, must(http.NewRequest("GET", fmt.Sprintf("%s/%d", s.URL, i), nil)))
			})
		}
		all.Wait()
		synctest.Wait()
		check(s)
	})
	return told
}

func allServed() (all [5]string) {
	for i := range all {
		all[i] = "200 OK hello"
	}
	return all
}

// go#18639: GOAWAY that names an open stream ends none of those that are up to
// it; what comes later takes another connection.
func TestGoAwayNamesAnOpenStream(t *testing.T) {
	told := inFlight(t, origin.GoAwayAt(5, http2.ErrCodeNo, ""), func(s *origin.Server) {
		netlog.RequireConnections(t, s.Log(), 2, alpn.H2, netlog.Used())
		assert.Len(t, s.Log().Requests(), 5, "nothing was sent again")
		assert.Equal(t, []int{3, 2}, requestsByConnection(s))
	})
	assert.Equal(t, allServed(), told)
}

// go#55846: GOAWAY below streams in flight cuts these. The client sends them
// again, for the server has said that it did not serve them.
func TestGoAwayCutsStreamsInFlight(t *testing.T) {
	told := inFlight(t, origin.GoAwayAt(1, http2.ErrCodeNo, ""), func(s *origin.Server) {
		netlog.RequireConnections(t, s.Log(), 2, alpn.H2, netlog.Used())
		assert.Equal(t, []int{3, 4}, requestsByConnection(s), "/0 to /2, and then /1 and /2 again, /3 and /4")
		refused := 0
		for _, q := range s.Log().Requests() {
			if q.Err == "refused by GOAWAY NO_ERROR last stream 1" {
				refused++
			}
		}
		assert.Equal(t, 2, refused)
	})
	assert.Equal(t, allServed(), told)
}

// Where the code is an error net/http's client does not send the connection's
// first request again, so as not to go on for ever; the others it does.
func TestGoAwayWithAnErrorAboveAll(t *testing.T) {
	told := inFlight(t, origin.GoAwayAt(0, http2.ErrCodeEnhanceYourCalm, "too_many_pings"), func(s *origin.Server) {
		assert.Contains(t, s.Log().Connections()[0].GoAway, `GOAWAY ENHANCE_YOUR_CALM last stream 0, sent, debug "too_many_pings"`)
	})
	assert.Contains(t, told[0], "http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM")
	assert.Equal(t, []string{"200 OK hello", "200 OK hello", "200 OK hello", "200 OK hello"}, told[1:])
}

func requestsByConnection(s *origin.Server) (all []int) {
	for _, c := range s.Log().Connections(netlog.Used()) {
		all = append(all, c.Requests)
	}
	return all
}

// cloudflared#1273: GOAWAY when the body was sent already. A client can send the
// request again only if it can have the body again.
func TestGoAwayAfterTheBodyWasSent(t *testing.T) {
	late := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		io.Copy(io.Discard, r.Body)
		origin.GoAway(w, r, next)
	}
	for _, again := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			network := linkdelay.NewNetwork(t, linkdelay.RTT(10*time.Millisecond))
			s := origin.New(t, &origin.Config{
				Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.H2), Handler: hello,
				Faults: []origin.Fault{{Request: 2, Do: late}},
			})
			client := &http.Client{Transport: s.Transport(network.Host("pc.test"))}
			get(t, client, s.URL)
			req := must(http.NewRequest("POST", s.URL, strings.NewReader("order")))
			if !again {
				req.GetBody = nil
			}
			told := ask(client, req)
			all := s.Log().Requests()
			assert.EqualValues(t, len("order"), all[1].BodyBytesUp)
			assert.Equal(t, "refused by GOAWAY NO_ERROR last stream 1", all[1].Err)
			if again {
				assert.Equal(t, "200 OK hello", told)
				assert.Len(t, all, 3)
				return
			}
			assert.Contains(t, told, "after Request.Body was written; define Request.GetBody to avoid this error")
			assert.Len(t, all, 2)
		})
	}
}
