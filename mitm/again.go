package mitm

import (
	"net/http"
	"slices"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// maxAttempts bounds how often a request is sent, for an origin that says GOAWAY
// to whatever it is asked.
const maxAttempts = 8

// attempted is what is known of a request that got no answer.
type attempted struct {
	early  bool // the origin had not stated its limit of streams
	reused bool // others had been sent on the connection before
}

// mayRepeat says why the request may be sent again on another connection; "" is
// that it may not. It may where the proxy's own choice of a connection is what
// failed, of which the client knows nothing:
//
//   - It was not even sent, because its connection ended while it was being
//     given out.
//   - The origin refused it unprocessed (RFC 9113, section 8.7), by a GOAWAY or
//     because it was sent before the origin had stated its limit of streams.
//     Any other refusal is the client's to hear of.
//   - The connection was a used one that ended before it answered, and the
//     method is idempotent (RFC 9110, section 9.2.2).
func (x *exchange) mayRepeat(err error, a attempted) string {
	if x.hasLeft() || x.proxy.ctx.Err() != nil || x.attempts >= maxAttempts {
		return ""
	}
	if x.upload != nil && !x.upload.repeatable() || x.interim.any {
		return ""
	}
	switch {
	case x.up == nil && isClosed(x.lease.Conn.Done()):
		return "not sent"
	case x.up == nil:
		return ""
	case x.refusedByGoAway(err):
		return "GOAWAY"
	case a.early && wire.IsRefused(err):
		return "sent before the origin's SETTINGS"
	case a.reused && x.cutOff(err) && idempotent(x.ask.Method):
		return "stale connection"
	}
	return ""
}

// refusedByGoAway knows a request of HTTP/3 that a GOAWAY has left out by its reset
// (RFC 9114, section 5.2).
func (x *exchange) refusedByGoAway(err error) bool {
	if x.lease.Conn.Protocol() == alpn.H3 {
		return wire.IsRefused(err) && x.lease.Conn.Record().Connection().GoAway != ""
	}
	is, _ := wire.IsLeftOut(x.up)
	return is
}

// cutOff reports whether it was the connection that ended, and nothing of an
// answer came.
func (x *exchange) cutOff(err error) (nothing bool) {
	if _, stream := wire.ResetCode(err); stream || !isClosed(x.lease.Conn.Done()) {
		return false
	}
	x.up.Update(func(q *netlog.Request) { nothing = q.FirstByte.IsZero() && q.HeaderBytesDown == 0 })
	return nothing
}

// idempotent is by RFC 9110, section 9.2.2.
func idempotent(method string) bool {
	return slices.Contains([]string{
		http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete,
	}, method)
}

// noteRepeat records that the proxy sends the request again, which nobody has
// asked it to do.
func (x *exchange) noteRepeat(why string) {
	if x.up == nil {
		return
	}
	x.up.End("not answered")
	x.up.Update(func(q *netlog.Request) { q.Err += "; sent again by the proxy: " + why })
}
