package mitm

import (
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// linkEnds has the request to the origin end as the client's does. net/http would
// say CANCEL, whatever the client said, and on http/1.1 nothing.
func (x *exchange) linkEnds(up *netlog.RequestRecord) {
	conn := x.lease.Conn
	if foreign := conn.ForeignOf(up); foreign != nil {
		x.onReset(foreign.Reset)
		return
	}
	to := conn.Control().StreamOf(up)
	if conn.Protocol() == alpn.HTTP11 {
		x.asking.Store(to)
		return
	}
	x.onReset(func(code http2.ErrCode) {
		to.ResetAs(code) // an error is that the stream is over, and then there is nothing to say
	})
}

type resetFunc func(http2.ErrCode)

// onReset has reset called with a code of the client's that is not the one which
// net/http and http3 say anyway.
func (x *exchange) onReset(reset resetFunc) {
	if x.stream == nil {
		x.resetUp.Store(&reset)
		return
	}
	x.stream.OnReset(func(code http2.ErrCode) {
		if code != http2.ErrCodeCancel {
			reset(code)
		}
	})
}

// resetLikeForeign is for clients whose code is only known when they have left.
func (x *exchange) resetLikeForeign() {
	reset := x.resetUp.Load()
	if code, ok := wire.ForeignReset(x.in); ok && reset != nil && code != http2.ErrCodeCancel {
		(*reset)(code)
	}
}

// resetToo has the client's request, when it is given up, end with the code by
// which the origin has ended its own. It reports false if there is none, or if
// the client's protocol has no codes.
func (x *exchange) resetToo(err error) bool {
	code, ok := wire.ResetCode(err)
	switch {
	case !ok:
		return false
	case x.in.ProtoMajor == 3:
		wire.ResetWith(code)(x.w, x.in, nil) // which panics with http.ErrAbortHandler
	case x.in.ProtoMajor != 2 || x.stream == nil:
		return false
	}
	if code != http2.ErrCodeInternal { // which is what net/http says
		x.stream.ResetAs(code)
	}
	return true
}
