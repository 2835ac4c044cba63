package netlog_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// lateReader hears nothing for a second.
type lateReader struct {
	net.Conn
	once sync.Once
}

func (c *lateReader) Read(p []byte) (int, error) {
	c.once.Do(func() { time.Sleep(time.Second) })
	return c.Conn.Read(p)
}

// The second request's own connection is late, so it goes by the first one's, which
// the origin then closes, and so by a third, which is made faster than the second.
func TestHandshakesOfOneRequestAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{})
		requests := 0
		site := origin.New(t, &origin.Config{
			Net: network.Host("origin.test"), ALPN: alpn.Only(alpn.HTTP11),
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(10 * time.Millisecond)
				if requests++; requests == 2 {
					panic(http.ErrAbortHandler) // before any of the answer: it may be asked for again
				}
			}),
		})
		tr := site.Transport(network.Host("pc.test"))
		dial, dials := tr.DialContext, 0
		tr.DialContext = func(ctx context.Context, proto, addr string) (net.Conn, error) {
			conn, err := dial(ctx, proto, addr)
			if dials++; dials == 2 {
				conn = &lateReader{Conn: conn}
			}
			return conn, err
		}
		log := netlog.New(t)
		client := &http.Client{Transport: netlog.NewTransport(tr, log)}
		defer client.CloseIdleConnections()
		var first sync.WaitGroup
		first.Go(func() { get(t, client, site.URL) })
		synctest.Wait()
		get(t, client, site.URL)
		first.Wait()
		time.Sleep(time.Second)
		took := []time.Duration{}
		for _, c := range log.Connections() {
			took = append(took, c.Handshaken.Sub(c.Opened).Truncate(time.Millisecond))
		}
		require.Equal(t, []time.Duration{0, time.Second, 0}, took, "\n%v", log)
	})
}
