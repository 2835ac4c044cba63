package mitm

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// Hooks look at what passes, and may have their way with it. A nil one costs
// nothing. They are called on the goroutine of what they are called for, several
// at once, and what they delay waits for them; the context of a request ends when
// its client has left or the proxy closes.
//
// Bodies stream: they are not read before a hook returns, unless it reads them. To
// look into one and pass it on, use RequestBody and ResponseBody.
type Hooks struct {
	// Request is called with each request before the origin is asked. Method, URL,
	// Host, Header, and Body with ContentLength are passed on as it leaves them;
	// another scheme or host in URL leads it elsewhere. Fields that belong to one
	// connection, as RFC 9110, section 7.6.1, says, it neither sees nor adds.
	//
	// A response that it returns is the answer, and the origin is not asked: zero
	// Status is 200, and a ContentLength of 0 with a Body is an unknown one. An
	// error is answered 502, with the error in the body; http.ErrAbortHandler breaks
	// the exchange off instead. A body that has not come whole by then costs a client
	// of HTTP/1.1 its connection, and the answer says so.
	Request func(*http.Request) (*http.Response, error)

	// Response is called with each answer of an origin before the client has any of
	// it; its Request is what was asked. StatusCode, Header, Trailer, and Body with
	// ContentLength are passed on as it leaves them. Errors are as for Request. Of
	// 101 (Switching Protocols) the Body is the tunnel.
	Response func(*http.Response) error

	// Tunnel is called when a client has asked for a tunnel, or in mode Transparent
	// and Reverse has begun with TLS, before it has an answer. An error refuses it:
	// CONNECT by 403 with the error in the body, SOCKS5 by reply 2 (connection not
	// allowed by ruleset), and TLS by the end of the connection.
	Tunnel func(*Tunnel) error

	// TLSFailure is called when TLS has failed on either leg.
	TLSFailure func(TLSFailure)
}

// Tunnel is what a client wants to be led to.
type Tunnel struct {
	Host        string // as host:port
	From        string // the client's address
	Rule        string // that decides; "" is none
	Passthrough bool   // its bytes pass as they are; a hook may change that
}

// RequestBody reads the body of a request, and puts what it has read in its
// place.
func RequestBody(r *http.Request) ([]byte, error) {
	all, err := readAll(&r.Body)
	if err == nil && r.ContentLength != 0 {
		r.ContentLength = int64(len(all))
	}
	return all, err
}

// ResponseBody reads the body of an answer, and puts what it has read in its place.
// What is then known of its trailers is in Trailer.
func ResponseBody(resp *http.Response) ([]byte, error) {
	all, err := readAll(&resp.Body)
	if err == nil && resp.ContentLength < 0 && len(resp.Trailer) == 0 {
		resp.ContentLength = int64(len(all))
	}
	return all, err
}

func readAll(body *io.ReadCloser) ([]byte, error) {
	if *body == nil || *body == http.NoBody {
		return nil, nil
	}
	all, err := io.ReadAll(*body)
	if err != nil {
		return all, err
	}
	*body = kept{bytes.NewReader(all), *body}
	return all, nil
}

// kept is a body that was read, above the one that it was read from.
type kept struct {
	*bytes.Reader
	io.Closer
}

// hookFailed answers for a hook that does not want the exchange.
func (x *exchange) hookFailed(err error) {
	if errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	clear(x.w.Header())
	x.announceEnd()
	refuse(x.w, http.StatusBadGateway, err)
}
