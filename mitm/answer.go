package mitm

import (
	"io"
	"net/http"

	"example.com/wiretest/netlog"
)

// bufferSize is how much of a body is held on its way: what is read at once is
// written and flushed before more is read, so a slow client slows the origin.
const bufferSize = 32 << 10

// answer passes the origin's answer on. The error is why it was not whole.
func (x *exchange) answer(resp *http.Response) error {
	respondWith(x.w, resp.Header)
	x.stripAltSvc(x.w.Header())
	x.frame(resp)
	announced := x.announce(resp.Trailer)
	x.announceEnd()
	x.w.WriteHeader(resp.StatusCode)
	if headsWait && x.in.ProtoMajor == 1 && lists(x.in.Header["Expect"], "100-continue") {
		x.upload.pause(func() { x.rc.Flush() })
	}
	if err := x.copyBody(resp); err != nil {
		return err
	}
	x.answerTrailers(resp.Trailer, announced)
	return nil
}

// frame keeps the length if it is known. On HTTP/1.1 trailers cost it, because
// only a chunked body has room for them.
func (x *exchange) frame(resp *http.Response) {
	h := x.w.Header()
	if len(resp.Trailer) > 0 && x.in.ProtoMajor == 1 && x.mayHaveBody(resp) {
		delete(h, "Content-Length")
	}
	if _, known := h["Content-Length"]; !known {
		h["Content-Length"] = nil // so that net/http does not count a short body
	}
}

// announce declares trailers whose names the origin has declared.
func (x *exchange) announce(trailer http.Header) (n int) {
	for name := range trailer {
		x.w.Header().Add("Trailer", name)
	}
	return len(trailer)
}

// answerTrailers sends them all the way net/http has for undeclared ones if there
// are more than were announced.
func (x *exchange) answerTrailers(trailer http.Header, announced int) {
	if len(trailer) == 0 {
		return
	}
	prefix := ""
	if len(trailer) != announced {
		prefix = http.TrailerPrefix
	}
	for name, values := range endToEnd(trailer) {
		x.w.Header()[prefix+name] = values
	}
}

// copyBody passes all of the body on.
func (x *exchange) copyBody(resp *http.Response) error {
	if x.hasBody(resp) && !x.atHand(resp) { // the head goes out before the body is there
		if err := x.rc.Flush(); err != nil {
			return err
		}
	}
	buffer := x.proxy.buffers.Get().(*[bufferSize]byte)
	defer x.proxy.buffers.Put(buffer)
	for left := resp.ContentLength; ; {
		n, err := resp.Body.Read(buffer[:])
		left -= int64(n)
		if n > 0 {
			if _, err := x.w.Write(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case n > 0 && left != 0: // else net/http flushes at the end of the handler
			if err := x.rc.Flush(); err != nil {
				return err
			}
		}
	}
}

// atHand reports whether all of the body has come with the head, so that both
// can go out together.
func (x *exchange) atHand(resp *http.Response) (whole bool) {
	if x.up != nil && !x.hooked {
		x.up.Update(func(q *netlog.Request) { whole = q.BodyBytesDown == resp.ContentLength || !q.End.IsZero() })
	}
	return whole
}

// hasBody reports whether a body comes. Where none does net/http flushes at the
// end of the handler, and h2 knows no flush after the end of a stream.
func (x *exchange) hasBody(resp *http.Response) bool {
	return resp.ContentLength != 0 && x.mayHaveBody(resp)
}

// mayHaveBody is by RFC 9110, section 6.4.1.
func (x *exchange) mayHaveBody(resp *http.Response) bool {
	switch {
	case x.in.Method == http.MethodHead:
		return false
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return false
	}
	return true
}
