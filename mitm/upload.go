package mitm

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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
	bad  func(error) bool   // whether it is malformed, where a Read has failed
	came func() bool        // whether all of it has come
	from *wire.Stream       // nil if its connection is not understood

	mu       sync.Mutex    // never held while blocking
	kept     []byte        // what has come so far; guarded by mu
	err      error         // of the body's end; guarded by mu
	wrong    error         // of the body itself; guarded by mu
	begun    bool          // keep has been started; guarded by mu
	spent    bool          // an attempt has taken what is not kept; guarded by mu
	trailers http.Header   // guarded by mu
	changed  chan struct{} // closed and renewed when kept or err has changed; guarded by mu

	interrupted atomic.Bool // a Read was, or no Read will be

	reading chan struct{}  // held during a Read of body, and after stop for ever
	stopped chan struct{}  // closed by stop
	tasks   sync.WaitGroup // stop waits for them
}

func newUpload(x *exchange) *upload {
	return &upload{
		body:    x.ask.Body,
		rc:      x.rc,
		end:     x.cameBehind,
		bad:     x.isBad,
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

// pause calls f while no Read runs, for which it waits until the client sends more.
func (u *upload) pause(f func()) {
	if u == nil || u.came() {
		return
	}
	select {
	case u.reading <- struct{}{}:
		f()
		<-u.reading
	case <-u.stopped:
	}
}

// interrupt ends a Read that waits for the client, and all that follow. It costs
// an http/1.1 client its connection; a Read that is just about to end by itself
// is not worth it.
func (u *upload) interrupt() {
	if u.came() {
		return
	}
	u.interrupted.Store(true) // before anything makes a Read fail
	if u.from != nil && !u.from.StopReading() {
		u.interrupted.Store(false)
		return
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
	switch {
	case err == io.EOF:
		u.ended()
	case err != nil && (isClosed(u.stopped) || isClosed(over)):
		err = errStopped // by interrupt, whatever the server calls that
	case err != nil && u.bad(err):
		u.mu.Lock()
		u.wrong = err
		u.mu.Unlock()
	}
	return n, err
}

// malformed is what is wrong with the body, as far as it has come; nil is nothing.
func (u *upload) malformed() error {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.wrong
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
