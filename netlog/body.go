package netlog

import (
	"fmt"
	"io"
	"net/http"
)

// wrapBody lets the body's end be seen. The response keeps its identity, since
// net/http fills in its Trailer later.
func (x *exchange) wrapBody(resp *http.Response) {
	if resp.Body == nil {
		x.end(nil)
		return
	}
	if bodyless(resp, x.head) {
		x.end(nil)
	}
	b := &body{ReadCloser: resp.Body, x: x, counts: !resp.Uncompressed}
	if writer, ok := resp.Body.(io.Writer); ok { // of an Upgrade
		resp.Body = &duplexBody{b, writer}
		return
	}
	resp.Body = b
}

// bodyless reports that the answer ended with its head. It asks more than once
// because HTTP/2 has a value of its own for http.NoBody.
func bodyless(resp *http.Response, head bool) bool {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return false
	case resp.Body == http.NoBody, resp.ContentLength == 0, head:
		return true
	}
	return resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
}

// body is a response's.
type body struct {
	io.ReadCloser
	x      *exchange
	counts bool // what is read is what was sent
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.counts {
		b.x.record.Update(func(q *Request) { q.BodyBytesDown += int64(n) })
	}
	switch err {
	case nil:
	case io.EOF:
		b.x.end(nil)
	default:
		b.x.end(err)
	}
	return n, err
}

// Close before the body's end is no failure: the caller had enough.
func (b *body) Close() error {
	if conn, _ := b.x.carriedBy(); conn != nil && b.x.record.Request().End.IsZero() {
		conn.because(fmt.Sprintf("the body of request %d was closed before its end", b.x.id))
	}
	err := b.ReadCloser.Close()
	b.x.end(nil)
	return err
}

// OfferedALPN is what the connection's ClientHello offered; nil is nothing, or
// unknown.
func (b *body) OfferedALPN() []string {
	if _, carrier := b.x.carriedBy(); carrier != nil {
		return carrier.Connection().Offered
	}
	return nil
}

// duplexBody is the body of a 101 answer, which is the connection itself.
type duplexBody struct {
	*body
	io.Writer
}

func (b *duplexBody) CloseWrite() error {
	if half, ok := b.ReadCloser.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("netlog: transport: CloseWrite: %w", http.ErrNotSupported)
}
