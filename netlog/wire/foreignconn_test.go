package wire_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// A Pool has one connection of another protocol to a host, as of h2, and keeps its
// limit; one that is finished is closed when its last request is over.
func TestPoolOfForeignConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log netlog.Log
		var closed []string
		pool := wire.NewPool(wire.PoolConfig{ExpectH2: true, Dial: func(ctx context.Context, host string) (*wire.ClientConn, error) {
			rec := log.Open(netlog.Connection{Host: host, OpenReason: wire.DialReason(ctx)})
			return wire.NewForeignConn(&wire.ForeignConn{
				Protocol: "h3",
				Record:   rec,
				Limit:    2,
				RoundTrip: func(*http.Request, func(*netlog.RequestRecord)) (*http.Response, error) {
					return new(http.Response), nil
				},
				Reset:  func(*netlog.RequestRecord, http2.ErrCode) {},
				Close:  func() error { closed = append(closed, rec.Connection().OpenReason); return nil },
				Closed: make(chan struct{}),
			}), nil
		}})
		defer pool.Close()
		get := func() *wire.Lease {
			lease, err := pool.Get(t.Context(), "origin.test:443")
			require.NoError(t, err)
			return lease
		}
		first, second := get(), get()
		assert.Same(t, first.Conn, second.Conn)
		assert.Nil(t, first.Conn.Control())
		assert.Nil(t, first.Conn.NetConn())
		time.AfterFunc(time.Second, func() { second.Release(true) })
		third := get()
		assert.Same(t, first.Conn, third.Conn)
		assert.Equal(t, []any{netlog.StalledMaxStreams, time.Second}, []any{third.Stalled, third.Wait})

		first.Conn.Finish()
		fourth := get()
		assert.NotSame(t, first.Conn, fourth.Conn)
		first.Release(true)
		synctest.Wait()
		assert.Empty(t, closed, "one request is under way")
		third.Release(true)
		synctest.Wait()
		assert.Equal(t, []string{"first request to it"}, closed)
		assert.Equal(t, "connection 1 takes no more requests", log.Connections()[1].OpenReason)
		fourth.Release(true)
	})
}
