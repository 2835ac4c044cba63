package linkdelay_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// conformance is what nettest.TestConn asks for, in cases that end in virtual
// time too: nothing here writes until it fails.
var conformance = map[string]func(t *testing.T, near, far net.Conn){
	"bytes arrive whole and in order": func(t *testing.T, near, far net.Conn) {
		want := noise(1 << 20)
		go func() {
			io.CopyBuffer(struct{ io.Writer }{near}, bytes.NewReader(want), make([]byte, 1000))
			near.Close()
		}()
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "bytes differ")
	},
	"ends answer each other": func(t *testing.T, near, far net.Conn) {
		var wg sync.WaitGroup
		for _, c := range []net.Conn{near, far} {
			wg.Go(func() { count(t, c, 1000) })
		}
		near.Write(make([]byte, 8))
		wg.Wait()
	},
	"a buffer is free after a read failed": func(t *testing.T, near, far net.Conn) {
		far.Write(noise(1 << 20))
		share(t, near.SetReadDeadline, near.Read)
	},
	"a buffer is free after a write failed": func(t *testing.T, near, far net.Conn) {
		go io.Copy(io.Discard, far)
		share(t, near.SetWriteDeadline, near.Write)
	},
	"a read deadline leaves writes alone": func(t *testing.T, near, far net.Conn) {
		require.NoError(t, near.SetReadDeadline(time.Now()))
		_, err := near.Read(make([]byte, 1))
		assertTimeout(t, err)
		_, err = near.Write([]byte("x"))
		require.NoError(t, err)
	},
	"a write deadline leaves reads alone": func(t *testing.T, near, far net.Conn) {
		far.Write([]byte("x"))
		require.NoError(t, near.SetWriteDeadline(time.Now()))
		n, err := near.Write([]byte("x"))
		require.Zero(t, n)
		assertTimeout(t, err)
		_, err = near.Read(make([]byte, 1))
		require.NoError(t, err)
	},
	"a deadline that passed can be lifted": func(t *testing.T, near, far net.Conn) {
		go io.Copy(far, far)
		require.NoError(t, near.SetDeadline(time.Unix(1, 0)))
		_, err := near.Write([]byte("lost"))
		assertTimeout(t, err)
		_, err = near.Read(make([]byte, 1))
		assertTimeout(t, err)
		require.NoError(t, near.SetDeadline(time.Time{}))
		require.Equal(t, "kept", echoed(t, near, "kept"))
	},
	"a deadline set to now ends the read that waits": func(t *testing.T, near, far net.Conn) {
		time.AfterFunc(100*time.Millisecond, func() { near.SetReadDeadline(time.Now()) })
		assertReadEnds(t, near, 100*time.Millisecond, os.ErrDeadlineExceeded)
	},
	"a deadline ahead ends the read that waits": func(t *testing.T, near, far net.Conn) {
		near.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		assertReadEnds(t, near, 100*time.Millisecond, os.ErrDeadlineExceeded)
	},
	"a deadline can be put off while a read waits": func(t *testing.T, near, far net.Conn) {
		near.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		time.AfterFunc(50*time.Millisecond, func() { near.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) })
		assertReadEnds(t, near, 250*time.Millisecond, os.ErrDeadlineExceeded)
	},
	"a deadline far ahead does not hold back data": func(t *testing.T, near, far net.Conn) {
		near.SetReadDeadline(time.Now().Add(time.Hour))
		start := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { far.Write([]byte("x")) })
		_, err := near.Read(make([]byte, 1))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), 150*time.Millisecond)
	},
	"close ends the reads that wait": func(t *testing.T, near, far net.Conn) {
		time.AfterFunc(100*time.Millisecond, func() { near.Close() })
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { assertReadEnds(t, near, 100*time.Millisecond, net.ErrClosed) })
		}
		wg.Wait()
		_, err := near.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, near.SetDeadline(time.Now()), net.ErrClosed)
		require.ErrorIs(t, near.Close(), net.ErrClosed)
	},
	"all methods at once": func(t *testing.T, near, far net.Conn) {
		go io.Copy(far, far)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { near.Read(make([]byte, 1024)) })
			wg.Go(func() { near.Write(make([]byte, 1024)) })
			wg.Go(func() { near.SetDeadline(time.Now().Add(10 * time.Millisecond)) })
			wg.Go(func() { near.SetReadDeadline(time.Unix(1, 0)) })
			wg.Go(func() { near.SetWriteDeadline(time.Unix(1, 0)) })
			wg.Go(func() { near.LocalAddr(); near.RemoteAddr() })
		}
		wg.Wait()
	},
	"nothing is read into no space": func(t *testing.T, near, far net.Conn) {
		n, err := near.Read(nil)
		require.Zero(t, n)
		require.NoError(t, err)
	},
}

func TestConnsConformInVirtualTime(t *testing.T) {
	for name, test := range conformance {
		for _, rtt := range []time.Duration{0, time.Nanosecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			t.Run(name+" at "+rtt.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					near, far := pairIn(t, linkdelay.NewNetwork(t, linkdelay.RTT(rtt)))
					test(t, near, far)
				})
			})
		}
	}
}

// Rate, buffer and loss change when things end, not how.
func TestConnsOfShapedPathsConformInVirtualTime(t *testing.T) {
	for shape, p := range map[string]linkdelay.Path{
		"rate":   {Delay: 5 * ms, Rate: 1e9},
		"buffer": {Delay: 5 * ms, Rate: 1e9, Buffer: 2 << 20},
		"window": {Delay: 5 * ms, Congestion: linkdelay.Cubic},
		"loss":   {Delay: 5 * ms, Loss: 0.01, Buffer: 2 << 20},
	} {
		for name, test := range conformance {
			t.Run(name+" with "+shape, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					near, far := pairIn(t, linkdelay.NewNetwork(t, both(p)))
					test(t, near, far)
				})
			})
		}
	}
}

// count adds one to each number it reads and sends it back, up to the limit.
func count(t *testing.T, c net.Conn, limit uint64) {
	defer c.Close()
	buf := make([]byte, 8)
	for v := uint64(0); v < limit; {
		_, err := io.ReadFull(c, buf)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("after %d: %v", v, err)
			return
		}
		v = binary.LittleEndian.Uint64(buf) + 1
		binary.LittleEndian.PutUint64(buf, v)
		c.Write(buf)
	}
}

// share calls do from ten goroutines, under a deadline that keeps passing, and
// scribbles into the buffer after each call. The race detector is the judge.
func share(t *testing.T, set func(time.Time) error, do func([]byte) (int, error)) {
	set(time.Now().Add(time.Millisecond))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			buf := make([]byte, 1024)
			for range 100 {
				_, err := do(buf)
				clear(buf)
				if err != nil {
					assertTimeout(t, err)
					set(time.Now().Add(time.Millisecond))
				}
			}
		})
	}
	wg.Wait()
}
