package wire

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// A limit that changes between the choice of a connection's server and that server's
// first SETTINGS is stated behind them, and is no more than they say, which is what
// the server keeps to.
func TestLimitChangedBeforeAConnectionStatesIt(t *testing.T) {
	for changed, want := range map[int]uint32{4: 4, 76: 10} {
		s := NewServer(ServerConfig{Speak: protoH2, MaxConcurrentStreams: 10})
		near, far := net.Pipe()
		c := newServedConn(s, far, new(netlog.Log).Open(netlog.Connection{}))
		require.True(t, s.add(c))
		server := s.http2(c)
		s.SetMaxConcurrentStreams(changed)
		var served sync.WaitGroup // of both ends
		served.Go(func() {
			defer s.remove(c)
			server.serve(c)
		})

		client := http2.NewFramer(near, near)
		served.Go(func() { // until the pipe, which holds nothing, is closed
			near.Write([]byte(http2.ClientPreface))
			client.WriteSettings()
		})
		assert.Equal(t, []uint32{10, want}, limitsStated(t, client, 2))
		require.NoError(t, near.Close())
		served.Wait()
		assert.NoError(t, s.Close(t.Context()))
	}
}

// limitsStated are the first n limits of streams that come in.
func limitsStated(t *testing.T, client *http2.Framer, n int) (limits []uint32) {
	t.Helper()
	for len(limits) < n {
		frame, err := client.ReadFrame()
		require.NoError(t, err)
		settings, ok := frame.(*http2.SettingsFrame)
		if !ok {
			continue
		}
		if limit, ok := settings.Value(http2.SettingMaxConcurrentStreams); ok {
			limits = append(limits, limit)
		}
	}
	return limits
}
