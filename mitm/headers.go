package mitm

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// hopByHop are the fields that belong to one connection (RFC 9110, section
// 7.6.1), beside those that Connection names. Trailer is not one of them, but
// net/http keeps it apart from the others and writes it anew.
func hopByHop() []string {
	return []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade"}
}

// endToEnd is a copy of h without the fields that belong to one connection.
func endToEnd(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		out[name] = slices.Clone(values)
	}
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			out.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hopByHop() {
		delete(out, name)
	}
	return out
}

// requestHeader is what is sent upstream.
func requestHeader(r *http.Request) http.Header {
	h := endToEnd(r.Header)
	if acceptsTrailers(r.Header) {
		h.Set("Te", "trailers") // the one value that HTTP/2 has (RFC 9113, section 8.2.2)
	}
	return h
}

func acceptsTrailers(h http.Header) bool {
	for _, value := range h["Te"] {
		for coding := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(coding, ";")
			if strings.EqualFold(textproto.TrimString(name), "trailers") {
				return true
			}
		}
	}
	return false
}

// respondWith makes an answer's header the one of w. Fields that the origin
// did not send are set to nil, which keeps net/http from inventing them.
func respondWith(w http.ResponseWriter, h http.Header) {
	to := w.Header()
	clear(to)
	for name, values := range endToEnd(h) {
		to[name] = values
	}
	for _, name := range []string{"Date", "Content-Type"} {
		if _, sent := to[name]; !sent {
			to[name] = nil
		}
	}
}
