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
func hopByHop() [6]string {
	return [...]string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade"}
}

// endToEnd is h without the fields that belong to one connection. It shares h's
// values.
func endToEnd(h http.Header) http.Header {
	out := make(http.Header, len(h)+1)
	copyEndToEnd(out, h)
	return out
}

func copyEndToEnd(out, h http.Header) {
	for name, values := range h {
		out[name] = slices.Clip(values) // who appends gets a copy
	}
	for _, value := range h["Connection"] {
		for name := range strings.SplitSeq(value, ",") {
			out.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hopByHop() {
		delete(out, name)
	}
}

// requestHeader is what is sent upstream.
func (x *exchange) requestHeader() http.Header {
	h := x.endToEnd()
	if _, has := h["User-Agent"]; !has {
		h["User-Agent"] = nil // which keeps net/http from adding its own
	}
	if acceptsTrailers(x.in.Header) {
		h.Set("Te", "trailers") // the one value that HTTP/2 has (RFC 9113, section 8.2.2)
	}
	if x.stream != nil && x.stream.ExpectsContinue() {
		h["Expect"] = []string{"100-continue"} // which net/http's h2 server keeps to itself
	}
	if x.upgrade != "" {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, x.in.Header["Upgrade"]
	}
	return h
}

// endToEnd is what the origin is asked with. A hook has a map of its own, into which
// it may have put what belongs to a connection.
func (x *exchange) endToEnd() http.Header {
	h := x.ask.Header
	if x.ask == x.in || h["Connection"] != nil {
		return endToEnd(h)
	}
	for _, name := range hopByHop() {
		delete(h, name)
	}
	return h
}

func acceptsTrailers(h http.Header) bool { return lists(h["Te"], "trailers") }

// lists reports whether one of the values, each a list, has the token, with
// parameters or without.
func lists(values []string, token string) bool {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			name, _, _ := strings.Cut(one, ";")
			if strings.EqualFold(textproto.TrimString(name), token) {
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
	copyEndToEnd(to, h)
	for _, name := range [...]string{"Date", "Content-Type"} {
		if _, sent := to[name]; !sent {
			to[name] = nil
		}
	}
}
