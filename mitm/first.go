package mitm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"example.com/wiretest/netlog"
)

const (
	handshakeRecord = 0x16 // RFC 8446, section 5.1
	socks4Version   = 4
	socksVersion    = 5
)

// first tells by its first byte which of the proxy's modes a connection is for.
func (c *client) first() {
	b, err := c.reader.Peek(1)
	mode := c.proxy.mode
	switch {
	case err != nil:
		c.end(ended(b, err).Error())
	case b[0] == socksVersion && mode.has(SOCKS5):
		c.mode = SOCKS5
		c.socks()
	case b[0] == handshakeRecord && mode.has(ExplicitTLS):
		c.mode = ExplicitTLS
		c.outer()
	case b[0] == handshakeRecord && mode.has(Transparent|Reverse):
		c.mode = mode & (Transparent | Reverse)
		c.direct()
	case mode.has(Explicit | Transparent | Reverse):
		c.mode = mode &^ (ExplicitTLS | SOCKS5)
		c.firstRequest()
	default:
		c.end(c.unsniffed(b[0]).Error())
	}
}

// firstRequest looks at how HTTP begins: with CONNECT, or with a request for the
// proxy to forward.
func (c *client) firstRequest() {
	for again := true; again; {
		word, err := c.firstWord()
		switch {
		case err != nil && c.denied != nil:
			c.dismiss(fmt.Sprintf("%v; %v", c.denied, err))
			return
		case err != nil:
			c.end(err.Error())
			return
		case word == http.MethodConnect && c.mode.has(Explicit|ExplicitTLS):
			again = c.connect()
		default:
			c.serveHTTP()
			return
		}
	}
}

// serveHTTP serves requests that each say where they are for.
func (c *client) serveHTTP() {
	if c.mode != ExplicitTLS { // else it is that of the TLS around it
		c.rec.Update(func(r *netlog.Connection) { r.ALPN = netlog.NoALPN })
	}
	c.proxy.server.ServeConn(c.rest(), c.rec)
}

// unsniffed is why what begins with b is for none of the modes.
func (c *client) unsniffed(b byte) error {
	mode := c.proxy.mode
	switch {
	case b == handshakeRecord:
		return fmt.Errorf("a TLS handshake, and Mode is %v", mode)
	case b == socks4Version:
		return fmt.Errorf("a SOCKS4 greeting, and Mode is %v", mode)
	case b == socksVersion:
		return fmt.Errorf("a SOCKS5 greeting, and Mode is %v", mode)
	}
	return fmt.Errorf("begins with %q, and Mode is %v", string(rune(b)), mode)
}

// rest is the connection without what was taken from it, and lets go of the
// reader, which idle connections have no use for.
func (c *client) rest() net.Conn {
	conn := ahead(c.conn, c.reader)
	c.reader = nil
	return conn
}

// longestMethod is more than any registered method has (RFC 9110, section
// 16.1.1: UPDATEREDIRECTREF has 17).
const longestMethod = 32

// firstWord waits for the method of an HTTP/1.x request without taking it. It
// asks for one more byte at a time, so that it never waits for bytes which the
// client need not send.
func (c *client) firstWord() (string, error) {
	for n := 1; n <= longestMethod; n++ {
		b, err := c.reader.Peek(n)
		if err != nil {
			return "", ended(b, err)
		}
		switch ch := b[n-1]; {
		case ch == ' ' && n > 1:
			return string(b[:n-1]), nil
		case !isToken(ch):
			return "", notHTTP(b)
		}
	}
	b, _ := c.reader.Peek(longestMethod)
	return "", notHTTP(b)
}

// isToken is by RFC 9110, section 5.6.2.
func isToken(ch byte) bool {
	switch {
	case '0' <= ch && ch <= '9', 'a' <= ch && ch <= 'z', 'A' <= ch && ch <= 'Z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", ch) >= 0
}

func ended(b []byte, err error) error {
	switch {
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("before its first request: %s", oneLine(bare(err)))
	case len(b) == 0:
		return errors.New("client closed it before its first request")
	}
	return fmt.Errorf("client closed it in the middle of a method: %q", b)
}

// closedWithin is for a client that has left behind n bytes of a part.
func closedWithin(part string, n int) error {
	if n == 1 {
		return fmt.Errorf("client closed it in the middle of %s, after 1 byte", part)
	}
	return fmt.Errorf("client closed it in the middle of %s, after %d bytes", part, n)
}

func notHTTP(b []byte) error {
	switch {
	case b[0] == handshakeRecord:
		return errors.New("not HTTP: a TLS handshake with the proxy itself; its URL begins with http://")
	case b[0] == socks4Version || b[0] == socksVersion:
		return fmt.Errorf("not HTTP: a SOCKS%d greeting", b[0])
	}
	return fmt.Errorf("not HTTP: begins with %q", b)
}

const maxHead = 64 << 10

// head takes the head of the request, and nothing after it.
func (c *client) head() (*http.Request, error) {
	var head bytes.Buffer
	for {
		line, err := c.reader.ReadSlice('\n')
		head.Write(line)
		switch {
		case err == io.EOF:
			return nil, closedWithin("the head of its CONNECT", head.Len())
		case err != nil && err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("in the head of CONNECT: %w", bare(err))
		case head.Len() > maxHead:
			return nil, fmt.Errorf("head of CONNECT is longer than %d bytes", maxHead)
		}
		if whole := bytes.HasSuffix(head.Bytes(), []byte("\n\r\n")) || bytes.HasSuffix(head.Bytes(), []byte("\n\n")); whole {
			return parseHead(&head)
		}
	}
}

func parseHead(head io.Reader) (*http.Request, error) {
	req, err := http.ReadRequest(bufio.NewReader(head))
	if err != nil {
		return nil, fmt.Errorf("CONNECT: %w", err)
	}
	return req, nil
}
