package mitm

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// askTunnelH2 is askTunnel over HTTP/2 (RFC 9113, section 8.5), on a connection
// that has no other stream.
func askTunnelH2(conn *tls.Conn, auth *url.Userinfo, address string) (net.Conn, error) {
	cc, err := new(http2.Transport).NewClientConn(conn)
	if err != nil {
		return nil, err
	}
	body, words := io.Pipe()
	said := newSaid(body)
	ctx, cancel := context.WithCancel(said.traced(context.Background()))
	req := (&http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Scheme: "https", Host: address},
		Host:   address,
		Header: http.Header{"User-Agent": nil},
		Body:   said,
	}).WithContext(ctx)
	if auth != nil {
		req.Header.Set("Proxy-Authorization", basic(auth))
	}
	resp, err := cc.RoundTrip(req)
	if err == nil && resp.StatusCode/100 != 2 {
		err = refusal(resp)
	}
	if err != nil {
		cancel()
		words.Close()
		cc.Close()
		return nil, err
	}
	end := &h2Asked{words, said, func() {
		cancel()
		resp.Body.Close()
		cc.Close()
	}}
	return &h2AskedConn{newStreamConn(conn.LocalAddr(), conn.RemoteAddr(), resp.Body, end), end}, nil
}

// said is what is sent to the proxy. It knows when no more of it will be.
type said struct {
	*io.PipeReader
	over func()
	done chan struct{} // closed when the end was handed to the connection, or nobody reads on
}

func newSaid(body *io.PipeReader) *said {
	done := make(chan struct{})
	return &said{body, sync.OnceFunc(func() { close(done) }), done}
}

func (s *said) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { s.over() }})
}

func (s *said) Close() error {
	defer s.over()
	return s.PipeReader.Close()
}

// h2Asked writes to the proxy's end.
type h2Asked struct {
	words *io.PipeWriter
	said  *said
	end   func()
}

// Write also waits for the Read behind the one that took p, and so until p was
// handed to the connection.
func (a *h2Asked) Write(p []byte) (int, error) {
	n, err := a.words.Write(p)
	if err == nil {
		_, err = a.words.Write(nil)
	}
	return n, err
}

func (a *h2Asked) CloseWrite() error { return a.words.Close() }
func (a *h2Asked) Interrupt()        { a.words.CloseWithError(os.ErrDeadlineExceeded) }

// h2AskedConn ends its connection with its only stream.
type h2AskedConn struct {
	*streamConn
	out *h2Asked
}

// mostUnsaid is how long a Close waits for a proxy that reads nothing.
const mostUnsaid = 250 * time.Millisecond

// Close ends the stream as a whole one, and then the connection.
func (c *h2AskedConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.interrupt()
		c.out.words.Close()
		select {
		case <-c.out.said.done:
		case <-time.After(mostUnsaid):
		}
		c.out.end()
		c.pump.Wait()
	})
	return nil
}
