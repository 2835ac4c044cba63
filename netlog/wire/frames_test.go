package wire_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// framed is a server of HTTP/2 by hand: a test says each frame. It keeps what
// the client sends.
type framed struct {
	t    testing.TB
	conn net.Conn
	*http2.Framer

	mu      sync.Mutex
	arrived []uint32 // streams, in order of their HEADERS
	resets  map[uint32]http2.ErrCode
	reading sync.WaitGroup
}

// newFramed returns such a server, which has sent its settings, and a client
// over plain HTTP/2.
func newFramed(t testing.TB, w *world, log *netlog.Log, settings ...http2.Setting) (*framed, *wire.ClientConn) {
	t.Helper()
	near, far := connected(t, w)
	f := &framed{t: t, conn: far, Framer: http2.NewFramer(far, far), resets: make(map[uint32]http2.ErrCode)}
	c, err := wire.NewClientConn(near, wire.ClientConfig{Record: log.Open(netlog.Connection{ALPN: "h2", Host: "origin.test:443"})})
	require.NoError(t, err)
	_, err = io.ReadFull(far, make([]byte, len(http2.ClientPreface)))
	require.NoError(t, err)
	require.NoError(t, f.WriteSettings(settings...))
	f.reading.Go(f.read)
	t.Cleanup(func() { c.Close(); far.Close(); f.reading.Wait() })
	return f, c
}

func (f *framed) read() {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		f.mu.Lock()
		switch frame := frame.(type) {
		case *http2.HeadersFrame:
			f.arrived = append(f.arrived, frame.StreamID)
		case *http2.RSTStreamFrame:
			f.resets[frame.StreamID] = frame.ErrCode
		}
		f.mu.Unlock()
	}
}

// streams are those that arrived, in order.
func (f *framed) streams() []uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]uint32(nil), f.arrived...)
}

// answer sends a head and nothing else.
func (f *framed) answer(stream uint32, status string, end bool) {
	var block bytes.Buffer
	require.NoError(f.t, hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: status}))
	require.NoError(f.t, f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end,
	}))
}

// framedPool is a Pool of which each connection is one by hand.
func framedPool(t testing.TB, w *world, log *netlog.Log, settings ...http2.Setting) (*wire.Pool, func(i int) *framed) {
	var mu sync.Mutex
	var all []*framed
	pool := wire.NewPool(wire.PoolConfig{ExpectH2: true, Dial: func(context.Context, string) (*wire.ClientConn, error) {
		f, c := newFramed(t, w, log, settings...)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, f)
		return c, nil
	}})
	t.Cleanup(func() { pool.Close() })
	return pool, func(i int) *framed {
		mu.Lock()
		defer mu.Unlock()
		require.Less(t, i, len(all), "connections dialled")
		return all[i]
	}
}
