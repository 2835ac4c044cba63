package origin

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EarlyHints answers 103 (RFC 8297) once for each link, the first at once and the
// others, and then next, every apart. A link is the value of a Link field. Trailers
// go inside: they send the head before next is called.
func EarlyHints(every time.Duration, next http.Handler, links ...string) http.Handler {
	check("EarlyHints", notNegative("every", every), notNil(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, link := range links {
			w.Header().Set("Link", link)
			w.WriteHeader(http.StatusEarlyHints)
			pace(r, every)
		}
		w.Header().Del("Link")
		next.ServeHTTP(w, r)
	})
}

// Trailers has next's answer end in trailers. They are not declared in a Trailer
// field, so that next need not be known; on HTTP/1.1 the body is chunked.
func Trailers(trailers http.Header, next http.Handler) http.Handler {
	check("Trailers", notNil(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush() // a body of known length has no place for them
		next.ServeHTTP(w, r)
		for name, values := range trailers {
			w.Header()[http.TrailerPrefix+http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	})
}

// Events sends n server-sent events (HTML, section 9.2), one each every, the
// first at once; 0 is without end. Their ids count from 1, or from behind the
// Last-Event-ID that is asked for.
func Events(n int, every time.Duration) http.Handler {
	check("Events", notNegative("n", n), notNegative("every", every))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		for i := 1; ; i++ {
			fmt.Fprintf(w, "id: %d\ndata: event %d\n\n", last+i, last+i)
			http.NewResponseController(w).Flush()
			if i == n {
				return
			}
			pace(r, every)
		}
	})
}

// OnlyHosts answers 421 Misdirected Request (RFC 9110, section 15.5.20) to what
// is asked of another host, as a client does that reuses a connection because its
// certificate covers the name. Hosts are without ports.
func OnlyHosts(next http.Handler, hosts ...string) http.Handler {
	check("OnlyHosts", notNil(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			http.Error(w, fmt.Sprintf("origin: %s is not served here", host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
