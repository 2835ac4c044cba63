package origin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
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
	// Status is 200 if it is 0. What is below 200 answers nothing yet (RFC 9110,
	// section 15.2): see EarlyHints.
	Status int
	// Length is the Content-Length that is stated. 0 is Size. More is a lie, less
	// an error; below 0 none is stated: chunked on HTTP/1.1.
	Length int64

	// Wait is how long the head takes, First how long the first byte does
	// behind it.
	Wait, First time.Duration
	// Chunk is how many bytes are sent at a time, and Every how long the next
	// ones take. 0 is all at once.
	Chunk int
	Every time.Duration

	// Stall, if it is not nil, is after how many bytes nothing comes anymore,
	// until the client leaves or the origin closes: at Size the answer is there but
	// for its end. Beyond Size it has no effect, and neither has Cut.
	Stall *int64
	// Cut, if it is not nil, is after how many bytes Then happens, and then, where
	// that has not ended the answer, its end: the stream is reset with
	// INTERNAL_ERROR, or the connection closed on HTTP/1.1.
	Cut  *int64
	Then Action
}

// At is a place in a Body, for Stall and Cut: behind n bytes.
func At(n int64) *int64 {
	check("At", notNegative("n", n))
	return &n
}

func (b Body) validate() error {
	return cmp.Or(
		notNegative("Size", b.Size),
		b.validHead(),
		notNegative("Wait", b.Wait),
		notNegative("First", b.First),
		notNegative("Chunk", b.Chunk),
		notNegative("Every", b.Every),
		validPlace("Stall", b.Stall),
		validPlace("Cut", b.Cut),
		b.validThen(),
	)
}

func (b Body) validHead() error {
	switch {
	case b.Status != 0 && (b.Status < http.StatusOK || b.Status > 999):
		return fmt.Errorf("Status: %d: want 0 or 200 to 999", b.Status)
	case b.Length > 0 && b.Length < b.Size:
		return fmt.Errorf("Length: %d is below Size %d: net/http sends nothing behind what is stated", b.Length, b.Size)
	}
	return nil
}

func validPlace(name string, at *int64) error {
	if at == nil {
		return nil
	}
	return notNegative(name, *at)
}

func (b Body) validThen() error {
	if b.Then != nil && b.Cut == nil {
		return errors.New("Then without Cut: nothing would do it")
	}
	return nil
}

// ServeHTTP serves the body, and nothing but its head to HEAD. It panics if b is
// mistaken, which Start says of a Body that is Config.Handler.
func (b Body) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	check("Body", b.validate())
	pace(r, b.Wait)
	if length := b.Length; length >= 0 {
		if length == 0 {
			length = b.Size
		}
		w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.WriteHeader(cmp.Or(b.Status, http.StatusOK))
	if r.Method == http.MethodHead {
		return
	}
	if b.First > 0 || b.Length < 0 { // net/http would state the length of what it sees whole
		http.NewResponseController(w).Flush()
		pace(r, b.First)
	}
	b.send(w, r)
}

// pace lets d pass, and ends the handler when the client leaves: to return would be
// to answer 200, if to nobody.
func pace(r *http.Request, d time.Duration) {
	if r.Context().Err() != nil || wire.Pause(r.Context(), d) != nil {
		panic(http.ErrAbortHandler)
	}
}

func (b Body) send(w http.ResponseWriter, r *http.Request) {
	content, sent := Content(b.Size), int64(0)
	for {
		b.fate(w, r, sent)
		if sent == b.Size {
			return
		}
		n, err := io.CopyN(w, content, b.step(sent))
		sent += n
		switch {
		case err != nil:
			return
		case sent < b.Size:
			http.NewResponseController(w).Flush()
			pace(r, b.Every)
		}
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
func Content(size int64) io.ReadSeeker {
	check("Content", notNegative("size", size))
	return io.NewSectionReader(moduloBytes{}, 0, size)
}

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
	check("Ranges", notNegative("size", size))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, size))
		http.ServeContent(w, r, "", time.Time{}, Content(size))
	})
}
