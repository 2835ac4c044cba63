package mitm

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// upload is a request's body on its way to the origin. Whoever sends it there
// may go on reading after the handler is done, which net/http's bodies do not
// take well: stop ends that.
type upload struct {
	io.ReadCloser
	reading chan struct{} // held during a Read, and after stop for ever
	stopped chan struct{} // closed by stop
}

var errStopped = errors.New("mitm: the request is over")

func newUpload(body io.ReadCloser) *upload {
	return &upload{ReadCloser: body, reading: make(chan struct{}, 1), stopped: make(chan struct{})}
}

func (u *upload) Read(p []byte) (int, error) {
	select {
	case <-u.stopped:
		return 0, errStopped
	case u.reading <- struct{}{}:
	}
	defer func() { <-u.reading }()
	select {
	case <-u.stopped:
		return 0, errStopped
	default:
	}
	return u.ReadCloser.Read(p)
}

// Close leaves the body to net/http's server, which closes it after the
// handler.
func (u *upload) Close() error { return nil }

// stop returns when no Read runs anymore and none will. It interrupts a Read
// that waits for the client.
func (u *upload) stop(rc *http.ResponseController) {
	close(u.stopped)
	select {
	case u.reading <- struct{}{}:
	default:
		rc.SetReadDeadline(time.Unix(1, 0))
		u.reading <- struct{}{}
	}
}
