package wire_test

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/wire"
)

// What comes behind StopReading is not given to a Read that has waited for it, or a
// body would come whole that was given up.
func TestWhatComesBehindStopReadingIsNotRead(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		begun, stopped := make(chan struct{}), make(chan struct{})
		p := (&pair{t: t, world: w, spoken: plainH1}).start(func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			read := make(chan error)
			go func() { // ends with the body, which the handler waits for
				close(begun)
				_, err := io.ReadAll(r.Body)
				read <- err
			}()
			<-begun
			time.Sleep(time.Millisecond) // in memory the Read waits then; on sockets it does as a rule
			assert.True(t, wire.StreamOf(r).StopReading())
			close(stopped)
			assert.ErrorIs(t, <-read, io.ErrUnexpectedEOF)
		})
		conn := p.rawConn()
		_, err := io.WriteString(conn, "PUT / HTTP/1.1\r\nHost: origin.test\r\nContent-Length: 4\r\n\r\nbe")
		require.NoError(t, err)
		<-stopped
		_, err = io.WriteString(conn, "en")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		resp.Body.Close()
	})
}

func TestStopReadingBehindTheRequestStopsNothing(t *testing.T) {
	onPlainH1(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		assert.False(t, wire.StreamOf(r).StopReading())
	}, func(t *testing.T, p *pair) {
		conn := p.rawConn()
		in := bufio.NewReader(conn)
		for range 2 {
			_, err := io.WriteString(conn, "PUT / HTTP/1.1\r\nHost: origin.test\r\nContent-Length: 4\r\n\r\nbody")
			require.NoError(t, err)
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			resp.Body.Close()
		}
	})
}
