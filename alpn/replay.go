package alpn

import (
	"net"
	"sync"
)

// replay is conn as if nothing had been read from it: first what was read, then
// the error that came with its end, if any, then conn itself.
func replay(conn net.Conn, read []byte, err error) net.Conn {
	r := &replayConn{Conn: conn, pending: read, err: err}
	if half, ok := conn.(closeWriter); ok {
		return &halfReplayConn{r, half}
	}
	return r
}

type closeWriter interface{ CloseWrite() error }

type replayConn struct {
	net.Conn
	mu      sync.Mutex
	pending []byte // guarded by mu
	err     error  // guarded by mu
}

// halfReplayConn exists so that only a conn that can be half closed claims to.
type halfReplayConn struct {
	*replayConn
	closeWriter
}

// NetConn returns the conn beneath, from which what is replayed is missing.
func (r *replayConn) NetConn() net.Conn { return r.Conn }

func (r *replayConn) Read(b []byte) (int, error) {
	if n, err, ok := r.again(b); ok {
		return n, err
	}
	return r.Conn.Read(b) // without the lock: it may block
}

func (r *replayConn) again(b []byte) (n int, err error, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) > 0 {
		n = copy(b, r.pending)
		if r.pending = r.pending[n:]; len(r.pending) == 0 {
			r.pending = nil // lets go of the memory
		}
		return n, nil, true
	}
	err, r.err = r.err, nil
	return 0, err, err != nil
}
