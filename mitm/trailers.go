package mitm

import (
	"maps"
	"net/http"

	"example.com/wiretest/alpn"
)

// declareTrailers makes room for the trailers of a request. Those that the
// client has declared are declared again; HTTP/1.1 has room for them in a
// chunked body only. Others need no more than the map, if the body is chunked.
func (x *exchange) declareTrailers(out *http.Request) {
	out.Trailer = make(http.Header)
	for name := range x.in.Trailer {
		out.Trailer[name] = nil
	}
	if len(out.Trailer) > 0 {
		out.ContentLength = -1
	}
}

// cameBehind are the trailers of the client's request, also those that nobody
// has declared, which net/http's h2 server drops.
func (x *exchange) cameBehind() http.Header {
	came := maps.Clone(x.in.Trailer)
	if x.stream == nil {
		return endToEnd(came)
	}
	if all := x.stream.RequestTrailers(); all != nil {
		came = all
	}
	return endToEnd(came)
}

// sendTrailers fills in what is to be sent behind the body. Of what was not
// declared net/http would send nothing on HTTP/2.
func (a *attempt) sendTrailers() {
	a.upload.mu.Lock()
	trailers := a.upload.trailers
	a.upload.mu.Unlock()
	declared := len(a.out.Trailer)
	maps.Copy(a.out.Trailer, trailers)
	if declared > 0 || len(trailers) == 0 || a.conn.Protocol() != alpn.H2 {
		return
	}
	if to := a.conn.Control().StreamOf(a.up.Load()); to != nil {
		to.SendTrailers(trailers) // an error is that the stream is over
	}
}
