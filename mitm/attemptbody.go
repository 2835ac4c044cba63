package mitm

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// attemptBody is the body of one request to the origin.
type attemptBody struct {
	upload *upload
	conn   *wire.ClientConn
	out    *http.Request
	up     atomic.Pointer[netlog.RequestRecord] // nil before the head was sent
	at     int                                  // of kept

	expects   bool        // 100, before it is sent
	continued atomic.Bool // it came

	closing sync.Once
	over    chan struct{} // closed by Close
	direct  bool          // it reads what is not kept; guarded by upload.mu
}

// attempt is the body of another one, on conn.
func (u *upload) attempt(conn *wire.ClientConn, out *http.Request) *attemptBody {
	return &attemptBody{
		upload:  u,
		conn:    conn,
		out:     out,
		expects: lists(out.Header["Expect"], "100-continue"),
		over:    make(chan struct{}),
	}
}

func (b *attemptBody) Read(p []byte) (int, error) {
	if b.unwanted() {
		b.wait(nil)
		return 0, errStopped
	}
	n, err := b.read(p)
	if err == io.EOF {
		b.sendTrailers()
	}
	return n, err
}

// unwanted reports whether the origin has answered instead of saying 100.
// net/http would send the body all the same, to keep the connection.
func (b *attemptBody) unwanted() (answered bool) {
	up := b.up.Load()
	if !b.expects || b.continued.Load() || up == nil {
		return false
	}
	up.Update(func(q *netlog.Request) { answered = q.Status != 0 })
	return answered
}

// wait waits for more, and reports false if there is no use in waiting.
func (b *attemptBody) wait(more <-chan struct{}) bool {
	select {
	case <-more:
		return true
	case <-b.over:
	case <-b.conn.Closed():
	case <-b.upload.stopped:
	}
	return false
}

func (b *attemptBody) read(p []byte) (int, error) {
	for {
		n, err, more := b.take(p)
		switch {
		case n > 0 || err != nil:
			return n, err
		case more == nil:
			return b.upload.read(p, b.over)
		}
		if !b.wait(more) {
			return 0, errStopped
		}
	}
}

// take gives what is kept. If there is nothing, more is closed when there may
// be, or is nil when all else is to be read directly.
func (b *attemptBody) take(p []byte) (n int, err error, more <-chan struct{}) {
	u := b.upload
	u.mu.Lock()
	defer u.mu.Unlock()
	n = copy(p, u.kept[b.at:])
	b.at += n
	switch {
	case n > 0:
		return n, nil, nil
	case u.err != nil:
		return 0, u.err, nil
	case isClosed(b.over), isClosed(u.stopped):
		return 0, errStopped, nil
	case len(u.kept) == keepLimit:
		b.goDirect()
		return 0, nil, nil
	}
	if !u.begun {
		u.begun = true
		u.tasks.Go(u.keep)
	}
	return 0, nil, u.changed
}

// goDirect makes b the last attempt. From here on its Reads wait for the client
// alone, so somebody else has to look at the connection.
func (b *attemptBody) goDirect() {
	if b.direct {
		return
	}
	b.direct, b.upload.spent = true, true
	b.upload.tasks.Go(func() {
		select {
		case <-b.conn.Closed():
			b.Close()
		case <-b.over:
		case <-b.upload.stopped:
		}
	})
}

// Close ends a Read that waits. The client's body it leaves to net/http's
// server, which closes it after the handler.
func (b *attemptBody) Close() error {
	b.closing.Do(func() {
		close(b.over)
		b.upload.mu.Lock()
		direct := b.direct
		b.upload.mu.Unlock()
		if !direct {
			return
		}
		select {
		case b.upload.reading <- struct{}{}:
			<-b.upload.reading
		default:
			b.upload.interrupt()
		}
	})
	return nil
}
