package linkdelay

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAWriteThatWaitedAndPassedLetsTheNextGoOn: the reader may take all that
// there is, and wait again, before the writer that it woke comes to write.
func TestAWriteThatWaitedAndPassedLetsTheNextGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := newPair(clientWire(newClock(), Link{}).wire.connect(clientLane, "client", "target"), clientLane, nil, nil)
		s := near.out
		s.limit(4)
		var sink recorder
		s.sendTo(&sink)
		near.SetWriteDeadline(time.Now().Add(time.Hour))
		go near.Write([]byte("held, passed"))
		synctest.Wait()
		require.Equal(t, 4, s.data.size, "held, while the writer waits for room")

		read := make([]byte, 8)
		s.mu.Lock()
		s.play(s.clock.now())
		n := s.take(read, s.clock.now())
		s.cut.parked = true
		s.mu.Unlock()
		require.Equal(t, "held", string(read[:n]))

		synctest.Wait()
		require.Equal(t, ", passed", string(sink.got))
		_, err := near.Write([]byte(", and more"))
		require.NoError(t, err)
		require.Equal(t, ", passed, and more", string(sink.got))
	})
}

// recorder is a socket that takes everything.
type recorder struct {
	net.Conn
	got []byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.got = append(r.got, p...)
	return len(p), nil
}
