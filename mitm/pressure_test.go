package mitm_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// endless is the size of a message of which little is taken.
const endless = 1 << 30

// narrow are links that hold little, so that it is the proxy whose buffers count.
var narrow = linkdelay.Link{Up: linkdelay.Path{Buffer: 64 << 10}, Down: linkdelay.Path{Buffer: 64 << 10}}

// held is what at most is taken by a proxy that holds back: in memory the windows of
// HTTP/2, of 4 MiB, and some buffers; and on sockets also what those of the kernel
// hold on the way. Linux grows those of one up to 36 MB (tcp_rmem and tcp_wmem), and
// there are four connections with the relays.
func (s *stage) held(t *testing.T) int64 {
	if !inVirtualTime(t) {
		return 256 << 20
	}
	most := int64(256 << 10)
	for _, proto := range []string{s.down, s.up} {
		if proto == alpn.H2 {
			most += 4 << 20
		}
	}
	return most
}

// What a client does not read, the proxy does not read from the origin.
func TestSlowClientSlowsTheOrigin(t *testing.T) {
	var written chan int
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for chunk := make([]byte, 32<<10); n < endless; n += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				break
			}
		}
		written <- n
	})
	eachPairUnderPressure(t, s, func(t *testing.T, s *stage) {
		written = make(chan int, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		resp := s.do(t, s.request(t, http.MethodGet, "/", nil).WithContext(ctx))
		if up := steady(func() int64 { return s.proxy.Log().Connections(mitm.Upstream)[0].BytesDown }); up > s.held(t) {
			t.Errorf("the proxy took %d bytes from the origin for a client that reads none", up)
		}
		cancel()
		resp.Body.Close()
		if n := <-written; n >= endless {
			t.Errorf("the origin wrote all %d bytes", n)
		}
	})
}

// The same for a request that the origin does not read.
func TestSlowOriginSlowsTheClient(t *testing.T) {
	var arrived chan struct{}
	s := serving(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	eachPairUnderPressure(t, s, func(t *testing.T, s *stage) {
		arrived = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := s.client.Do(s.request(t, http.MethodPost, "/", io.LimitReader(zeros{}, endless)).WithContext(ctx))
			if err == nil {
				resp.Body.Close()
			}
		}()
		<-arrived
		if down := steady(func() int64 { return s.proxy.Log().Connections(mitm.Downstream, netlog.Used())[0].BytesUp }); down > s.held(t) {
			t.Errorf("the proxy took %d bytes from the client for an origin that reads none", down)
		}
		cancel()
		s.proxy.Close() // net/http's h1 server does not see a client go whose body it does not read
		s.site.Close()
		<-done
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// steady is the value once it has not changed for a while.
func steady(value func() int64) int64 {
	last := value()
	for quiet := 0; quiet < 20; quiet++ {
		time.Sleep(10 * time.Millisecond)
		if now := value(); now != last {
			last, quiet = now, 0
		}
	}
	return last
}

// eachPairUnderPressure is in memory for all pairs, and on sockets, whose buffers take
// time to fill, for those that are not mixed.
func eachPairUnderPressure(t *testing.T, s setting, body func(*testing.T, *stage)) {
	t.Helper()
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			t.Run(pairName(down, up), func(t *testing.T) {
				s := s
				s.down, s.up = down, up
				t.Run("memory", func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { body(t, setUp(t, linkdelay.NewNetwork(t, narrow), s)) })
				})
				if down == up {
					t.Run("loopback", func(t *testing.T) { body(t, setUp(t, linkdelay.NewLoopback(t, linkdelay.Link{}), s)) })
				}
			})
		}
	}
}
