package mitm

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
)

// interim passes on answers of status 1xx, any number of them, until the final
// one is there. They come on a goroutine of the connection to the origin, which
// may still be at it when the request has failed.
type interim struct {
	w    http.ResponseWriter
	busy chan struct{} // held while one is written, and after end for ever
	over chan struct{} // closed by end
	any  bool          // one was written; belongs to who holds busy
	edit func(http.Header)
}

func newInterim(w http.ResponseWriter, edit func(http.Header)) *interim {
	return &interim{w: w, edit: edit, busy: make(chan struct{}, 1), over: make(chan struct{})}
}

// trace has net/http tell of 1xx answers. Of 100 it tells before it acts on it.
func (x *exchange) trace(ctx context.Context) context.Context {
	trace := &httptrace.ClientTrace{Got1xxResponse: x.interim.write}
	if body := x.body; body != nil {
		trace.Got100Continue = func() { body.continued.Store(true) }
	}
	return httptrace.WithClientTrace(ctx, trace)
}

// write leaves out 100, which net/http's server sends by itself when the body
// is read, and that happens when the origin has said 100.
func (i *interim) write(code int, header textproto.MIMEHeader) error {
	if code == http.StatusContinue {
		return nil
	}
	select {
	case <-i.over:
		return nil
	case i.busy <- struct{}{}:
	}
	defer func() { <-i.busy }()
	h := i.w.Header()
	clear(h)
	copyEndToEnd(h, http.Header(header))
	i.edit(h)
	i.w.WriteHeader(code)
	i.any = true
	return nil
}

// end waits for one that is being written; none is after it.
func (i *interim) end() {
	close(i.over)
	i.busy <- struct{}{}
}
