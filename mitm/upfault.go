package mitm

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// faulty is a request to an origin that goes wrong on purpose. The faults begin when
// its head was sent; what is next to them is that the answer is taken.
type faulty struct {
	x      *exchange
	ctx    context.Context // of the request
	cancel context.CancelFunc
	a      attempted
	out    chan outcome

	taken, again bool
}

// outcome is what a RoundTrip has returned.
type outcome struct {
	resp *http.Response
	err  error
}

// ask asks the origin, within the faults that are meant for the request, and passes
// its answer on.
func (x *exchange) askOrigin(ctx context.Context, a attempted) (again bool) {
	if faults := x.route.rule.faults; faults != nil {
		f := &faulty{x: x, a: a, out: make(chan outcome, 1)}
		if around := faults.Around(x.ask, f); around != nil {
			return f.run(ctx, around)
		}
	}
	resp, err := x.lease.Conn.RoundTrip(x.request(ctx), x.started)
	return x.conclude(ctx, a, outcome{resp, err})
}

func (f *faulty) run(ctx context.Context, around http.Handler) (again bool) {
	f.ctx, f.cancel = context.WithCancel(ctx)
	begun := make(chan context.Context, 1) // of what goes wrong
	var asking sync.WaitGroup              // of this function, which waits
	defer asking.Wait()
	defer f.cancel()
	conn, out := f.x.lease.Conn, f.x.request(f.ctx)
	asking.Go(func() {
		resp, err := conn.RoundTrip(out, func(up *netlog.RequestRecord) {
			f.x.started(up)
			begun <- about(f.ctx, conn, up)
		})
		f.out <- outcome{resp, err}
	})
	select {
	case about := <-begun:
		return f.goWrong(about, around)
	case o := <-f.out:
		f.out <- o
	}
	if len(begun) > 0 {
		return f.goWrong(<-begun, around)
	}
	return f.x.conclude(f.ctx, f.a, <-f.out) // it was not even sent
}

// about has faults be about a request to an origin.
func about(ctx context.Context, conn *wire.ClientConn, up *netlog.RequestRecord) context.Context {
	if foreign := conn.ForeignOf(up); foreign != nil {
		return wire.WithForeign(ctx, foreign)
	}
	return wire.WithStream(ctx, conn.Control().StreamOf(up))
}

// goWrong runs the faults. Where they do not take the answer the request is given up.
func (f *faulty) goWrong(about context.Context, around http.Handler) (again bool) {
	defer func() {
		cause := recover()
		if !f.taken {
			f.giveUp()
		}
		if cause != nil && (f.taken || cause != http.ErrAbortHandler) {
			panic(cause)
		}
		if !f.taken {
			f.x.fail(errors.New("given up by a fault"))
		}
	}()
	around.ServeHTTP(f.x.w, f.x.ask.WithContext(about))
	return f.again
}

func (f *faulty) giveUp() {
	f.x.closesBecause(errors.New("a fault has given the request up"))
	f.cancel()
	if o := <-f.out; o.err == nil {
		o.resp.Body.Close()
	}
	f.x.interim.end()
}

// ServeHTTP takes the answer.
func (f *faulty) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.taken = true
	x := f.x
	own, rc := x.w, x.rc
	x.w, x.rc = w, http.NewResponseController(w)
	defer func() { x.w, x.rc = own, rc }()
	f.again = x.conclude(f.ctx, f.a, <-f.out)
}
