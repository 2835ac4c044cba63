package mitm

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// keepLimit is how much of a request's body is kept until it is answered, so
// that the request can be sent again.
const keepLimit = 64 << 10

var errStopped = errors.New("mitm: the request is over")

// upload is a request's body on its way to the origin, in one attempt after
// another.
//
// Its beginning is read by a goroutine of its own and kept. So an attempt that
// has failed can leave a client that is silent, which net/http's bodies do not
// allow, and the next attempt begins anew. What is beyond keepLimit goes
// straight to the attempt that reads it, which then is the last.
type upload struct {
	body io.Reader
	rc   *http.ResponseController
	end  func() http.Header // what came behind the body; called at its end
	came func() bool        // whether all of it has come
	from *wire.Stream       // nil if its connection is not understood

	mu       sync.Mutex    // never held while blocking
	kept     []byte        // what has come so far; guarded by mu
	err      error         // of the body's end; guarded by mu
	begun    bool          // keep has been started; guarded by mu
	spent    bool          // an attempt has taken what is not kept; guarded by mu
	trailers http.Header   // guarded by mu
	changed  chan struct{} // closed and renewed when kept or err has changed; guarded by mu

	reading chan struct{}  // held during a Read of body, and after stop for ever
	stopped chan struct{}  // closed by stop
	tasks   sync.WaitGroup // stop waits for them
}

func newUpload(x *exchange) *upload {
	return &upload{
		body:    x.ask.Body,
		rc:      x.rc,
		end:     x.cameBehind,
		came:    x.hasCome,
		from:    x.stream,
		changed: make(chan struct{}),
		reading: make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
}

// repeatable reports whether another attempt could send all of it.
func (u *upload) repeatable() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.spent
}

// stop returns when no Read runs anymore and none will. It interrupts one that
// waits for the client.
func (u *upload) stop() {
	u.mu.Lock()
	close(u.stopped) // so that no task begins after
	u.mu.Unlock()
	select {
	case u.reading <- struct{}{}:
	default:
		u.interrupt()
		u.reading <- struct{}{}
	}
	u.tasks.Wait()
}

// interrupt ends a Read that waits for the client, and all that follow. It costs
// an http/1.1 client its connection; a Read that is just about to end by itself
// is not worth it.
func (u *upload) interrupt() {
	if u.came() {
		return
	}
	if u.from != nil {
		u.from.StopReading()
	}
	u.rc.SetReadDeadline(time.Unix(1, 0))
}

// read is a Read of the client's body, until over is closed. A nil over never
// is.
func (u *upload) read(p []byte, over <-chan struct{}) (int, error) {
	select {
	case <-u.stopped:
		return 0, errStopped
	case u.reading <- struct{}{}:
	}
	defer func() { <-u.reading }()
	if isClosed(u.stopped) || isClosed(over) {
		return 0, errStopped
	}
	n, err := u.body.Read(p)
	if err == io.EOF {
		u.ended()
	}
	return n, err
}

func (u *upload) ended() {
	trailers := u.end()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trailers = trailers
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// keep reads what is kept. The first Read starts it, and not sooner: that is
// when the client is told to continue, if it expects that.
func (u *upload) keep() {
	for room := u.room(); len(room) > 0; room = u.room() {
		if n, err := u.read(room, nil); !u.add(n, err) {
			return
		}
	}
}

// room is where more can be kept; none is left at keepLimit.
func (u *upload) room() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.kept)
	if n == cap(u.kept) && n < keepLimit {
		grown := make([]byte, n, min(max(4<<10, 4*n), keepLimit))
		copy(grown, u.kept)
		u.kept = grown
	}
	return u.kept[n:cap(u.kept)]
}

// add reports whether more may come.
func (u *upload) add(n int, err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = u.kept[:len(u.kept)+n]
	u.err = err
	close(u.changed)
	u.changed = make(chan struct{})
	return err == nil
}

// attempt is the body of one request to the origin.
type attempt struct {
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

func (u *upload) attempt(conn *wire.ClientConn, out *http.Request) *attempt {
	return &attempt{
		upload:  u,
		conn:    conn,
		out:     out,
		expects: lists(out.Header["Expect"], "100-continue"),
		over:    make(chan struct{}),
	}
}

func (a *attempt) Read(p []byte) (int, error) {
	if a.unwanted() {
		a.wait(nil)
		return 0, errStopped
	}
	n, err := a.read(p)
	if err == io.EOF {
		a.sendTrailers()
	}
	return n, err
}

// unwanted reports whether the origin has answered instead of saying 100.
// net/http would send the body all the same, to keep the connection.
func (a *attempt) unwanted() (answered bool) {
	up := a.up.Load()
	if !a.expects || a.continued.Load() || up == nil {
		return false
	}
	up.Update(func(q *netlog.Request) { answered = q.Status != 0 })
	return answered
}

// wait waits for more, and reports false if there is no use in waiting.
func (a *attempt) wait(more <-chan struct{}) bool {
	select {
	case <-more:
		return true
	case <-a.over:
	case <-a.conn.Closed():
	case <-a.upload.stopped:
	}
	return false
}

func (a *attempt) read(p []byte) (int, error) {
	for {
		n, err, more := a.take(p)
		switch {
		case n > 0 || err != nil:
			return n, err
		case more == nil:
			return a.upload.read(p, a.over)
		}
		if !a.wait(more) {
			return 0, errStopped
		}
	}
}

// take gives what is kept. If there is nothing, more is closed when there may
// be, or is nil when all else is to be read directly.
func (a *attempt) take(p []byte) (n int, err error, more <-chan struct{}) {
	u := a.upload
	u.mu.Lock()
	defer u.mu.Unlock()
	n = copy(p, u.kept[a.at:])
	a.at += n
	switch {
	case n > 0:
		return n, nil, nil
	case u.err != nil:
		return 0, u.err, nil
	case isClosed(a.over), isClosed(u.stopped):
		return 0, errStopped, nil
	case len(u.kept) == keepLimit:
		a.goDirect()
		return 0, nil, nil
	}
	if !u.begun {
		u.begun = true
		u.tasks.Go(u.keep)
	}
	return 0, nil, u.changed
}

// goDirect makes a the last attempt. From here on its Reads wait for the client
// alone, so somebody else has to look at the connection.
func (a *attempt) goDirect() {
	if a.direct {
		return
	}
	a.direct, a.upload.spent = true, true
	a.upload.tasks.Go(func() {
		select {
		case <-a.conn.Closed():
			a.Close()
		case <-a.over:
		case <-a.upload.stopped:
		}
	})
}

// Close ends a Read that waits. The client's body it leaves to net/http's
// server, which closes it after the handler.
func (a *attempt) Close() error {
	a.closing.Do(func() {
		close(a.over)
		a.upload.mu.Lock()
		direct := a.direct
		a.upload.mu.Unlock()
		if !direct {
			return
		}
		select {
		case a.upload.reading <- struct{}{}:
			<-a.upload.reading
		default:
			a.upload.interrupt()
		}
	})
	return nil
}
