package origin

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog/wire"
)

// Body is an answer with a body of a known size whose way is ruled byte by byte:
// slow, in pieces, stalled, cut, or not as long as it says. The zero value is an
// empty 200. It is a handler; a redirect is http.RedirectHandler's.
//
//	slow := origin.Body{Size: 1 << 20, First: time.Second, Chunk: 1 << 10, Every: 10 * time.Millisecond}
//	half := origin.Body{Size: 1 << 20, Stall: origin.At(1 << 19)}
type Body struct {
	// Size is how many bytes are to come: those of Content.
	Size int64
	// Status is 200 if it is 0.
	Status int
	// Length is the Content-Length that is stated. 0 is Size. Another is a lie;
	// below 0 none is stated: chunked on HTTP/1.1.
	Length int64

	// Wait is how long the head takes, First how long the first byte does
	// behind it.
	Wait, First time.Duration
	// Chunk is how many bytes are sent at a time, and Every how long the next
	// ones take. 0 is all at once.
	Chunk int
	Every time.Duration

	// Stall, if it is not nil, is after how many bytes nothing comes anymore,
	// until the client leaves or the origin closes. Beyond Size it has no effect, and
	// neither has Cut.
	Stall *int64
	// Cut, if it is not nil, is after how many bytes Then happens: by default
	// the stream is reset with INTERNAL_ERROR, or the connection closed on
	// HTTP/1.1.
	Cut  *int64
	Then Action
}

// At is a place in a Body, for Stall and Cut.
func At(n int64) *int64 { return &n }

// ServeHTTP serves the body, and nothing but its head to HEAD.
func (b Body) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pace(r, b.Wait)
	if length := b.Length; length >= 0 {
		if length == 0 {
			length = b.Size
		}
		w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(max(b.Status, http.StatusOK))
	if r.Method == http.MethodHead {
		return
	}
	if b.First > 0 || b.Length < 0 { // net/http would state the length of what it sees whole
		http.NewResponseController(w).Flush()
		pace(r, b.First)
	}
	b.send(w, r)
}

// pace lets d pass, and ends the handler when the client leaves.
func pace(r *http.Request, d time.Duration) {
	if wire.Pause(r.Context(), d) != nil {
		panic(http.ErrAbortHandler)
	}
}

func (b Body) send(w http.ResponseWriter, r *http.Request) {
	content, sent := Content(b.Size), int64(0)
	for {
		b.fate(w, r, sent)
		n, err := io.CopyN(w, content, b.step(sent))
		sent += n
		if err != nil || sent >= b.Size {
			return
		}
		http.NewResponseController(w).Flush()
		pace(r, b.Every)
	}
}

// step is how many bytes follow at once: no further than to the next place where
// something happens.
func (b Body) step(sent int64) int64 {
	n := b.Size - sent
	if b.Chunk > 0 {
		n = min(n, int64(b.Chunk))
	}
	for _, at := range []*int64{b.Stall, b.Cut} {
		if at != nil && *at > sent {
			n = min(n, *at-sent)
		}
	}
	return n
}

func (b Body) fate(w http.ResponseWriter, r *http.Request, sent int64) {
	if b.Stall != nil && *b.Stall == sent {
		http.NewResponseController(w).Flush()
		Hang(w, r, nil)
	}
	if b.Cut == nil || *b.Cut != sent {
		return
	}
	http.NewResponseController(w).Flush()
	if b.Then != nil {
		b.Then(w, r, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}
	ResetWith(http2.ErrCodeInternal)(w, r, nil)
}

// Content is what bodies of size bytes have in them: the byte at i is i modulo
// 251, so that what is missing, doubled or out of place shows.
func Content(size int64) io.ReadSeeker { return io.NewSectionReader(moduloBytes{}, 0, size) }

type moduloBytes struct{}

func (moduloBytes) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = byte((off + int64(i)) % 251)
	}
	return len(p), nil
}

// Ranges serves size bytes of Content whole, or in the ranges that are asked for
// (RFC 9110, section 14).
func Ranges(size int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, size))
		http.ServeContent(w, r, "", time.Time{}, Content(size))
	})
}

// EarlyHints answers 103 (RFC 8297) once for each link, the first at once and the
// others, and then next, every apart. A link is the value of a Link field. Trailers
// go inside: they send the head before next is called.
func EarlyHints(every time.Duration, next http.Handler, links ...string) http.Handler {
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

// Echoed is what Echo answers, in JSON.
type Echoed struct {
	Method, URL, Host string
	Protocol          string      // "HTTP/1.0", "HTTP/1.1", "HTTP/2.0" or "HTTP/3.0"
	Connection        int64       // ID in the Log; 0 where no origin serves
	Stream            int64       // of HTTP/2 and HTTP/3
	ServerName        string      // SNI
	Header            http.Header // names as net/http spells them
	HeaderBytes       int64       // of the request's head on the wire; 0 where no origin serves
	Body              []byte

	// Line and Fields are the head as it came on the wire, in its order: on
	// HTTP/1.1 the request line, and the names as the client spells them; on HTTP/2
	// the pseudo-header fields are among Fields, and there is no Line. Both are
	// empty where no origin serves, and over HTTP/3.
	Line   string
	Fields []wire.Field
}

// Echo answers with what arrived: Echoed, in JSON.
func Echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	e := Echoed{Method: r.Method, URL: r.RequestURI, Host: r.Host, Protocol: r.Proto, Header: r.Header, Body: body}
	if r.TLS != nil {
		e.ServerName = r.TLS.ServerName
	}
	if rec := wire.RequestOf(r); rec != nil {
		q := rec.Request()
		e.Stream, e.HeaderBytes = q.Stream, q.HeaderBytesUp
	}
	if s := wire.StreamOf(r); s != nil {
		e.Line, e.Fields = s.RequestHead()
	}
	if rec := wire.ConnectionOf(r); rec != nil {
		e.Connection = rec.Connection().ID
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(e)
}

// Chance matches a share p of all URLs, by the seed: the same URL always or
// never, whatever the order of requests. It is for Fault.Match.
func Chance(p float64, seed uint64) func(*http.Request) bool {
	return func(r *http.Request) bool {
		hash := fnv.New64a()
		io.WriteString(hash, r.URL.RequestURI())
		return rand.New(rand.NewPCG(seed, hash.Sum64())).Float64() < p
	}
}
