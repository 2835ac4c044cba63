package mitm_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// rawH1 is one end of a connection of HTTP/1.1.
type rawH1 struct {
	conn   net.Conn
	reader *bufio.Reader
}

func newRawH1(conn net.Conn) *rawH1 { return &rawH1{conn, bufio.NewReader(conn)} }

// more reports whether another request comes.
func (c *rawH1) more() bool {
	_, err := c.reader.Peek(1)
	return err == nil
}

func (c *rawH1) write(s string) { io.WriteString(c.conn, s) } // a peer that has gone is seen by next

// rawH1Call is one exchange on it.
type rawH1Call struct {
	conn   *rawH1
	host   string
	server bool

	method  string // of the request
	chunked bool   // the body that is sent
	in      string // what next expects: "" is a head, "chunked", "sized", "eof", "none", "over"
	left    int64  // of a sized body
}

func (c *rawH1Call) head(start string, size int64, fields ...string) {
	var b strings.Builder
	if c.server {
		status, _ := strconv.Atoi(start)
		fmt.Fprintf(&b, "HTTP/1.1 %s %s\r\n", start, http.StatusText(status))
	} else {
		c.method, _, _ = strings.Cut(start, " ")
		fmt.Fprintf(&b, "%s HTTP/1.1\r\nHost: %s\r\n", start, c.host)
	}
	switch {
	case size == unknown:
		c.chunked = true
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case size >= 0:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", size)
	}
	for _, field := range fields {
		b.WriteString(field + "\r\n")
	}
	c.conn.write(b.String() + "\r\n")
}

func (c *rawH1Call) data(s string) {
	if c.chunked && s != "" {
		s = fmt.Sprintf("%x\r\n%s\r\n", len(s), s)
	}
	c.conn.write(s)
}

func (c *rawH1Call) end(trailers ...string) {
	if !c.chunked {
		return
	}
	c.conn.write("0\r\n" + strings.Join(append(trailers, ""), "\r\n") + "\r\n")
}

func (c *rawH1Call) reset(http2.ErrCode) { resetConn(c.conn.conn) }

func (c *rawH1Call) next() event {
	c.conn.conn.SetReadDeadline(time.Now().Add(patience))
	e, err := c.read()
	if err != nil {
		return event{kind: "closed", data: err.Error()}
	}
	return e
}

func (c *rawH1Call) read() (event, error) {
	switch c.in {
	case "":
		return c.readHead()
	case "none":
		c.in = "over"
		return event{kind: "end"}, nil
	case "over":
		_, err := c.conn.reader.ReadByte()
		return event{kind: "more than the message"}, err
	case "chunked":
		return c.readChunk()
	}
	return c.readPlain()
}

func (c *rawH1Call) readHead() (event, error) {
	text := textproto.NewReader(c.conn.reader)
	line, err := text.ReadLine()
	if err != nil {
		return event{}, err
	}
	fields, err := text.ReadMIMEHeader()
	if err != nil {
		return event{}, err
	}
	start := strings.TrimSuffix(line, " HTTP/1.1")
	if c.server {
		c.method, _, _ = strings.Cut(start, " ")
	} else {
		_, start, _ = strings.Cut(line, " ")
		start, _, _ = strings.Cut(start, " ")
	}
	c.expectBody(start, http.Header(fields))
	return event{kind: "head", start: start, fields: http.Header(fields)}, nil
}

// expectBody is RFC 9112, section 6.3.
func (c *rawH1Call) expectBody(start string, fields http.Header) {
	length, err := strconv.ParseInt(fields.Get("Content-Length"), 10, 64)
	noBody := c.method == http.MethodHead || slices.Contains([]string{"204", "304"}, start)
	switch {
	case !c.server && start[0] == '1' && start != "101":
		return
	case !c.server && noBody:
		c.in = "none"
	case fields.Get("Transfer-Encoding") == "chunked":
		c.in = "chunked"
	case err == nil && length > 0:
		c.in, c.left = "sized", length
	case err == nil || c.server && start[0] != '1':
		c.in = "none"
	default:
		c.in = "eof"
	}
}

func (c *rawH1Call) readPlain() (event, error) {
	buffer := make([]byte, 32<<10)
	if c.in == "sized" && c.left < int64(len(buffer)) {
		buffer = buffer[:c.left]
	}
	n, err := c.conn.reader.Read(buffer)
	switch {
	case c.in == "eof" && err == io.EOF:
		c.in = "over"
		return event{kind: "end"}, nil
	case err != nil:
		return event{}, err
	}
	if c.in == "sized" {
		if c.left -= int64(n); c.left == 0 {
			c.in = "none"
		}
	}
	return event{kind: "data", data: string(buffer[:n])}, nil
}

func (c *rawH1Call) readChunk() (event, error) {
	text := textproto.NewReader(c.conn.reader)
	line, err := text.ReadLine()
	if err != nil {
		return event{}, err
	}
	size, err := strconv.ParseInt(line, 16, 64)
	if err != nil {
		return event{}, err
	}
	if size == 0 {
		c.in = "over"
		fields, err := text.ReadMIMEHeader()
		return event{kind: "end", fields: http.Header(fields)}, err
	}
	chunk := make([]byte, size+2)
	_, err = io.ReadFull(c.conn.reader, chunk)
	return event{kind: "data", data: string(chunk[:size])}, err
}

// reusable reports whether all of the request was read.
func (c *rawH1Call) reusable() bool { return c.in == "over" || c.in == "none" }

func (c *rawH1Call) closeWrite() {
	c.conn.conn.(interface{ CloseWrite() error }).CloseWrite()
}
