package mitm

import (
	"maps"
	"net/http"
)

// declareTrailers makes room for the trailers of a request. Those that the
// client has declared are declared again, and HTTP/1.1 has room for them in a
// chunked body only. For others the map is enough, which net/http looks at again
// at the end of the body.
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

// sendTrailers fills in what net/http is to send behind the body.
func (b *attemptBody) sendTrailers() {
	b.upload.mu.Lock()
	defer b.upload.mu.Unlock()
	maps.Copy(b.out.Trailer, b.upload.trailers)
}
