package mitm

import "io"

// bodyIsAhead reports whether a body comes before the next request, as on HTTP/1.1.
func (x *exchange) bodyIsAhead() bool { return x.in.ProtoMajor == 1 && x.in.ContentLength != 0 }

// announceEnd says that the connection ends where the request has not come whole, for
// it may be that the rest is not waited for.
func (x *exchange) announceEnd() {
	if x.bodyIsAhead() && (!x.hasCome() || x.upload.malformed() != nil) {
		x.w.Header().Set("Connection", "close")
	}
}

// leaveBody is for what nobody has read of a request's body when it is answered. What
// has come is read: net/http of Go 1.26 ends a connection where a handler in full
// duplex leaves it, and says nothing to the client (1.27 does not). What has not come
// is not waited for.
func (x *exchange) leaveBody() {
	switch {
	case !x.bodyIsAhead():
	case x.hasCome():
		io.Copy(io.Discard, x.in.Body)
	case x.stream != nil:
		x.stream.StopReading()
	}
}
