package mitm

import "io"

// leaveBody is for what nobody has read of a request's body on HTTP/1.1 when it is
// answered. What has come is read: net/http of Go 1.26 ends a connection where a
// handler in full duplex leaves it, and says nothing to the client (1.27 does not).
// What has not come is not waited for.
func (x *exchange) leaveBody() {
	switch {
	case x.in.ProtoMajor != 1 || x.in.ContentLength == 0:
	case x.hasCome():
		io.Copy(io.Discard, x.in.Body)
	case x.stream != nil:
		x.stream.StopReading()
	}
}
