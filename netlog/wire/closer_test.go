package wire_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// TestCloserClosesOnce has closes come while the first hangs: none of them holds up
// virtual time.
func TestCloserClosesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closer wire.Closer
		var hangs, all sync.WaitGroup
		hangs.Add(1)
		calls := 0
		for range 3 {
			all.Go(func() {
				err := closer.Close("fixture", func(ctx context.Context) error {
					calls++
					assert.False(t, wire.Await(ctx, &hangs))
					return errors.New("still running: GET /slow (5.0s)")
				})
				assert.EqualError(t, err, "fixture: close: still running: GET /slow (5.0s)")
			})
		}
		start := time.Now()
		all.Wait()
		assert.Equal(t, wire.CloseBound, time.Since(start))
		assert.Equal(t, 1, calls)
		hangs.Done()
		assert.True(t, wire.Await(t.Context(), &hangs))
	})
}

// Of a Server's error the fixture says what still runs, not that it has a Server.
func TestCloserTakesWhatAServerSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		server := wire.NewServer(wire.ServerConfig{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })})
		go server.ServeForeign(new(wire.Foreign), httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/slow", nil))
		synctest.Wait()
		err := new(wire.Closer).Close("fixture", func(ctx context.Context) error {
			return fmt.Errorf("of three: %w", server.Close(ctx))
		})
		assert.EqualError(t, err, "fixture: close: still running: GET /slow (5.0s)")
		close(release)
		assert.NoError(t, server.Close(t.Context()))
	})
}

func TestLeftOpenNamesConnectionsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, open := new(netlog.Log), map[*netlog.ConnectionRecord]int{}
		assert.EqualError(t, wire.LeftOpen(maps.Keys(open)), "still running: the accept loop")
		for _, remote := range []string{"a.test:1", "b.test:2", "c.test:3"} {
			open[log.Open(netlog.Connection{Remote: remote, Host: "origin.test:443"})] = 0
			time.Sleep(time.Second)
		}
		assert.EqualError(t, wire.LeftOpen(maps.Keys(open)), "still running: connection 1 from a.test:1 to origin.test:443 (3.0s)\n"+
			"still running: connection 2 from b.test:2 to origin.test:443 (2.0s)\n"+
			"still running: connection 3 from c.test:3 to origin.test:443 (1.0s)")
	})
}

// exhausted is a listener that fails a few times before it has a connection.
type exhausted struct {
	net.Listener
	failures int
}

func (l *exhausted) Accept() (net.Conn, error) {
	l.failures--
	switch {
	case l.failures >= 0:
		return nil, syscall.EMFILE
	case l.failures == -1:
		return nil, nil
	}
	return nil, net.ErrClosed
}

func TestAcceptTriesAgainLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, accepted := time.Now(), 0
		wire.Accept(t.Context(), &exhausted{failures: 201}, func(net.Conn) { accepted++ })
		assert.Equal(t, 1, accepted)
		assert.Equal(t, 200*201/2*5*time.Millisecond+time.Second, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Millisecond)
		defer cancel()
		start = time.Now()
		wire.Accept(ctx, &exhausted{failures: 201}, func(net.Conn) { t.Error("accepted behind the end") })
		assert.Equal(t, 12*time.Millisecond, time.Since(start))
	})
}

func TestAccessKeepsOneClientAndClosesIdleConnections(t *testing.T) {
	access := wire.Access{Fixture: "fixture", Addr: "127.0.0.1:1"}
	made := 0
	transport := func() *http.Transport { made++; return new(http.Transport) }
	assert.Same(t, access.Client(transport), access.Client(transport))
	assert.Equal(t, 1, made)
	assert.NoError(t, access.Check(nil, "Transport", "Transport"))
	access.Close()
	assert.Same(t, access.Client(transport), access.Client(transport), "behind Close")
}
