package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

const (
	aGet      = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	anAnswer  = "HTTP/1.1 204 No Content\r\n\r\n"
	openEnded = "HTTP/1.1 200 OK\r\n\r\nbody"
)

// TestTapReasons wants the first cause of a connection's end.
func TestTapReasons(t *testing.T) {
	fail := func(err error) func(*testing.T, *run) {
		return func(t *testing.T, r *run) {
			r.conn.inErr = err
			_, got := r.tap.Read(make([]byte, 1))
			require.Equal(t, err, got)
		}
	}
	failWrite := func(err error) func(*testing.T, *run) {
		return func(t *testing.T, r *run) {
			r.conn.outErr = err
			_, got := r.tap.Write([]byte("x"))
			require.Equal(t, err, got)
		}
	}
	for _, c := range []struct {
		name     string
		do       []func(*testing.T, *run)
		atServer string
		atClient string
	}{
		{"own close", nil, "closed by server", "closed by client"},
		{"EOF", []func(*testing.T, *run){fail(io.EOF)}, "closed by client", "closed by server"},
		{"reset", []func(*testing.T, *run){fail(errReset), fail(io.EOF)}, "reset by client", "reset by server"},
		{"windows", []func(*testing.T, *run){fail(syscall.Errno(10054))}, "reset by client", "reset by server"},
		{"broken pipe", []func(*testing.T, *run){failWrite(syscall.EPIPE), fail(errReset)}, "closed by client", "closed by server"},
		{"reset on write", []func(*testing.T, *run){failWrite(syscall.ECONNRESET)}, "reset by client", "reset by server"},
		{"other", []func(*testing.T, *run){fail(errors.New("local error: tls: bad record MAC"))}, "read: local error: tls: bad record MAC", "read: local error: tls: bad record MAC"},
		{"deadline", []func(*testing.T, *run){fail(os.ErrDeadlineExceeded), failWrite(os.ErrDeadlineExceeded)}, "closed by server", "closed by client"},
		{"own close seen by Read", []func(*testing.T, *run){fail(net.ErrClosed)}, "closed by server", "closed by client"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for side, want := range map[Side]string{ServerSide: c.atServer, ClientSide: c.atClient} {
				r := newRun(side, "http/1.1", false)
				for _, do := range c.do {
					do(t, r)
				}
				require.Empty(t, r.log.Connections()[0].CloseReason)
				r.tap.Close()
				require.Equal(t, want, r.log.Connections()[0].CloseReason, "%v", side)
				r.tap.Close()
				require.Equal(t, want, r.log.Connections()[0].CloseReason, "closed twice")
			}
		})
	}
}

// TestTapAfterClose wants no request that nothing will end.
func TestTapAfterClose(t *testing.T) {
	r := newRun(ClientSide, "http/1.1", false)
	r.tap.Close()
	r.conn.outErr = net.ErrClosed
	_, err := r.tap.Write([]byte(aGet))
	require.ErrorIs(t, err, net.ErrClosed)
	require.Empty(t, r.log.Requests())
	require.Zero(t, r.log.Connections()[0].BytesUp)
}

// TestTapHalfClose wants a client that has said all to get its answer, and a
// server that has to have given it.
func TestTapHalfClose(t *testing.T) {
	r := newRun(ServerSide, "http/1.1", false)
	r.send(t, true, []byte(aGet))
	r.conn.inErr = io.EOF
	r.drain(t)
	r.send(t, false, []byte(openEnded))
	require.Zero(t, r.log.Requests()[0].End)
	require.ErrorIs(t, r.tap.CloseWrite(), errors.ErrUnsupported)
	require.Zero(t, r.log.Requests()[0].End, "nothing was closed")

	half := &halfConn{}
	r.tap.Conn = half
	require.NoError(t, r.tap.CloseWrite())
	require.True(t, half.closed)
	require.NotZero(t, r.log.Requests()[0].End)
	require.Empty(t, r.log.Requests()[0].Err)
	require.Zero(t, r.log.Connections()[0].Closed)
}

type halfConn struct {
	fakeConn
	closed bool
}

func (c *halfConn) CloseWrite() error { c.closed = true; return nil }

// TestTapShortWrite wants bytes to be counted when written, and seen once.
func TestTapShortWrite(t *testing.T) {
	for short := range len(aGet) {
		r := newRun(ClientSide, "http/1.1", false)
		r.conn.short, r.conn.outErr = short, os.ErrDeadlineExceeded
		n, err := r.tap.Write([]byte(aGet))
		require.Equal(t, short, n)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.EqualValues(t, short, r.log.Connections()[0].BytesUp)
		for _, rest := range []string{aGet[short : len(aGet)-1], aGet[len(aGet)-1:] + aGet} {
			r.send(t, true, []byte(rest))
		}
		require.EqualValues(t, 2*len(aGet), r.log.Connections()[0].BytesUp)
		require.Len(t, r.log.Requests(), 2)
		require.Equal(t, aGet+aGet, r.conn.out.String())
	}
}

// TestTapRecordPrecedesTheByte wants a request to be known before the connection
// below is asked to write it: the answer can be read before Write returns.
func TestTapRecordPrecedesTheByte(t *testing.T) {
	r := newRun(ClientSide, "http/1.1", false)
	r.conn.answer = func() {
		require.NotNil(t, r.tap.Last())
		r.send(t, false, []byte(anAnswer))
	}
	r.send(t, true, []byte(aGet))
	require.Equal(t, 204, r.log.Requests()[0].Status)
	require.NotZero(t, r.log.Requests()[0].End)
}

func TestTapLastAndStream(t *testing.T) {
	r := newRun(ClientSide, "h2", false)
	require.Nil(t, r.tap.Last())
	s := begin().upFrames(func(c *sender) { c.post(1, "/one"); c.get(3, "/three") })
	for _, st := range s.steps {
		r.send(t, st.up, st.data)
	}
	require.Equal(t, "https://a.test/three", r.tap.Last().Request().URL)
	require.Same(t, r.tap.Last(), r.tap.Stream(3))
	require.Equal(t, "https://a.test/one", r.tap.Stream(1).Request().URL)
	require.Nil(t, r.tap.Stream(5))

	s.downFrames(func(s *sender) { s.head(1, true, ":status", "200"); s.head(3, true, ":status", "200") })
	r.send(t, false, s.steps[len(s.steps)-1].data)
	require.NotNil(t, r.tap.Stream(1), "its request has not ended")
	require.Nil(t, r.tap.Stream(3))
	require.Empty(t, r.tap.h2.streams[3])
	require.Equal(t, "https://a.test/three", r.tap.Last().Request().URL)
}

func TestTapUnanswered(t *testing.T) {
	r := newRun(ServerSide, "http/1.1", false)
	require.Nil(t, r.tap.unanswered())
	r.send(t, true, []byte(aGet+"PUT /next HTTP/1.1\r\n\r\n"))
	require.Equal(t, "GET", r.tap.unanswered().rec.Request().Method)
	r.send(t, false, []byte(anAnswer))
	require.Equal(t, "PUT", r.tap.unanswered().rec.Request().Method)
}

func TestTapLimits(t *testing.T) {
	r := newRun(ClientSide, "h2", false)
	r.send(t, true, []byte(http2.ClientPreface))
	s := new(script)
	for _, n := range []uint32{100, 1, 0} {
		s.downFrames(func(s *sender) {
			s.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n})
			s.WriteSettingsAck()
		})
	}
	for _, st := range s.steps {
		r.send(t, false, st.data)
	}
	require.Equal(t, []int{100, 1, 0}, r.limits)
}

// TestTapLimitIsToldWithoutLocks would hang.
func TestTapLimitIsToldWithoutLocks(t *testing.T) {
	r := newRun(ClientSide, "h2", false)
	r.tap.cfg.OnLimit = func(int) { r.tap.Last(); r.tap.Close() }
	s := new(script).downFrames(func(s *sender) {
		s.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
	})
	r.send(t, false, s.steps[0].data)
	require.Equal(t, "closed by client", r.log.Connections()[0].CloseReason)
}

func TestTapHTTPConnShowsTLSOnlyWhereItIs(t *testing.T) {
	plain := NewTap(&fakeConn{}, TapConfig{})
	_, has := plain.HTTPConn().(connectionStater)
	require.False(t, has, "http2.Server would take h2c for TLS")

	over := NewTap(tls.Client(&fakeConn{}, &tls.Config{}), TapConfig{})
	_, has = over.HTTPConn().(connectionStater)
	require.True(t, has)
	_, has = over.HTTPConn().(interface{ CloseWrite() error })
	require.True(t, has)
}

func TestTapZeroConfigRecordsIntoNothing(t *testing.T) {
	tap := NewTap(&fakeConn{in: []byte(aGet)}, TapConfig{})
	_, err := tap.Read(make([]byte, 100))
	require.NoError(t, err)
	require.Equal(t, "https://a.test/", tap.Last().Request().URL)
	require.NoError(t, tap.Close())
}

func TestTapTimesOfAnExchange(t *testing.T) {
	for _, side := range []Side{ServerSide, ClientSide} {
		r := newRun(side, "http/1.1", false)
		r.send(t, true, []byte("GET / HT"))
		r.send(t, true, []byte("TP/1.1\r\n\r\n"))
		r.send(t, false, []byte("HTTP/1.1 100 Continue\r\n\r\n"))
		r.send(t, false, []byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n"))
		r.send(t, false, []byte("\r\n"))
		r.send(t, false, []byte("x"))
		q := r.log.Requests()[0]
		if side == ServerSide {
			require.Equal(t, q.Start, q.Sent, "the server has no earlier time than the arrival of the head")
		} else {
			require.True(t, q.Start.Before(q.Sent))
		}
		require.True(t, q.Sent.Before(q.FirstByte))
		require.True(t, q.FirstByte.Before(q.End))
		require.Equal(t, netlog.Connection{}.Closed, r.log.Connections()[0].Closed)
	}
}
