package wire

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"
)

// RequestTrailers are the trailer fields that came with the request, also those
// that nobody declared, which net/http's server drops on HTTP/2. They are there
// when the body has been read to its end. On HTTP/1.1 it is nil: there they all
// are in http.Request.Trailer.
func (s *Stream) RequestTrailers() http.Header {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	return headerOf(s.has().upTrailers)
}

// AnswerTrailers are the trailer fields that came with the answer; otherwise it is
// as RequestTrailers.
func (s *Stream) AnswerTrailers() http.Header {
	s.tap.mu.Lock()
	defer s.tap.mu.Unlock()
	return headerOf(s.has().downTrailers)
}

func headerOf(fields []hpack.HeaderField) http.Header {
	if len(fields) == 0 {
		return nil
	}
	h := make(http.Header, len(fields))
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
	return h
}

// SendTrailers puts trailer fields behind what net/http sends of this side's
// body, whether they were declared or not, and behind its own trailers if it has
// some. A client's request must have a body. It does not wait. It is an error
// on HTTP/1.1, if this side's END_STREAM was sent, or if a field is none.
func (s *Stream) SendTrailers(h http.Header) error {
	fields, err := trailerFields(h)
	return s.bend("SendTrailers", func(*interposer) error {
		switch {
		case err != nil:
			return err
		case s.sentEnd():
			return errors.New("the end of the stream was sent")
		}
		s.needs().trailers = fields
		return nil
	})
}

// trailerFields are h's fields, sorted by name.
func trailerFields(h http.Header) (fields []hpack.HeaderField, err error) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		lower := strings.ToLower(name)
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, fmt.Errorf("trailer %q is no field name", name)
		}
		for _, v := range h[name] {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, fmt.Errorf("trailer %q: %q is no field value", name, v)
			}
			fields = append(fields, hpack.HeaderField{Name: lower, Value: v})
		}
	}
	return fields, nil
}
