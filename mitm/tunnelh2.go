package mitm

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// askTunnelH2 is askTunnel over HTTP/2 (RFC 9113, section 8.5), on a connection
// that has no other stream.
func (a *asked) askTunnelH2(conn *tls.Conn, address string) (net.Conn, error) {
	cc, err := new(http2.Transport).NewClientConn(conn)
	if err != nil {
		return nil, err
	}
	body, words := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	req := (&http.Request{
		Method: http.MethodConnect,
		URL:    &url.URL{Scheme: "https", Host: address},
		Host:   address,
		Header: http.Header{"User-Agent": nil},
		Body:   body,
	}).WithContext(ctx)
	if a.auth != nil {
		req.Header.Set("Proxy-Authorization", basic(a.auth))
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
	end := &h2Asked{words, sync.OnceFunc(func() {
		cancel()
		resp.Body.Close()
		cc.Close()
	})}
	return &h2AskedConn{newStreamConn(conn.LocalAddr(), conn.RemoteAddr(), resp.Body, end), end, a.beside}, nil
}

// h2Asked writes to the proxy's end.
type h2Asked struct {
	words *io.PipeWriter
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
	out    *h2Asked
	beside func(func()) bool // Proxy.beside
}

// lingerTime is how long after a Close the other side's end is waited for.
const lingerTime = 250 * time.Millisecond

// Close ends the stream as a whole one, and the connection when the proxy has ended
// it too, or after lingerTime. To close a connection at once from which there is
// something to read would be to reset it, by which the proxy could lose the last
// words. It does not wait itself: net/http closes connections with a lock held.
func (c *h2AskedConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.interrupt()
		c.out.words.Close()
		if !c.beside(c.linger) {
			c.out.end()
		}
	})
	return nil
}

func (c *h2AskedConn) linger() {
	enough := time.AfterFunc(lingerTime, c.out.end)
	c.pump.Wait()
	io.Copy(io.Discard, c.body)
	enough.Stop()
	c.out.end()
}
