package mitm

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// upgradeOf is what r asks to switch to (RFC 9110, section 7.8); "" is nothing.
// HTTP/1.0 has no Upgrade, and HTTP/2 none either.
func upgradeOf(r *http.Request) string {
	if !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1 || !lists(r.Header["Connection"], "upgrade") {
		return ""
	}
	return strings.Join(r.Header["Upgrade"], ", ")
}

// switchProtocols makes a tunnel of both connections. It returns when that is
// over.
func (x *exchange) switchProtocols(resp *http.Response) {
	up, ok := resp.Body.(io.ReadWriteCloser)
	if x.upgrade == "" || !ok {
		x.fail(fmt.Errorf("%v: 101 Switching Protocols, which nobody asked for", x.route.target))
		return
	}
	conn, buffered, err := x.rc.Hijack()
	if err != nil {
		x.fail(fmt.Errorf("101 Switching Protocols: %w", err))
		return
	}
	c := x.client
	t := &tunnel{
		proxy: x.proxy,
		down:  end{ahead(conn, buffered.Reader), c.conn, c.rec},
		up:    end{up, x.lease.Conn.NetConn(), x.lease.Conn.Record()},
	}
	if _, err := io.WriteString(conn, switching(resp.Header)); err != nil {
		t.close("101 to the client: " + oneLine(bare(err)))
		return
	}
	t.run()
}

// switching is the head of a 101. Its Upgrade is the one field for this
// connection that concerns the one behind it too.
func switching(h http.Header) string {
	out := endToEnd(h)
	out["Connection"], out["Upgrade"] = []string{"Upgrade"}, h["Upgrade"]
	var head strings.Builder
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	out.Write(&head)
	head.WriteString("\r\n")
	return head.String()
}
