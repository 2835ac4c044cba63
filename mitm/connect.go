package mitm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// connect answers CONNECT (RFC 9110, section 9.3.6): at once, without a look at
// the origin, if the connection is to be intercepted.
func (c *client) connect() {
	req, err := c.head()
	if err != nil {
		c.refuseConnect(http.StatusBadRequest, err)
		return
	}
	t, err := parseTarget(req.RequestURI)
	if err != nil {
		c.refuseConnect(http.StatusBadRequest, fmt.Errorf("CONNECT: %w", err))
		return
	}
	c.route = route{target: t, scheme: "https"}
	c.rec.Update(func(r *netlog.Connection) { r.Host = t.String() })
	if c.proxy.passes(t) {
		c.passThrough()
		return
	}
	if c.established() {
		c.intercept()
	}
}

// established reports whether the client could be told so.
func (c *client) established() bool {
	if _, err := io.WriteString(c.conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		c.end("answer to CONNECT: " + oneLine(bare(err)))
		return false
	}
	return true
}

// refuseConnect answers with the reason in the body, and ends the connection.
func (c *client) refuseConnect(status int, err error) {
	c.rec.Close(oneLine(err)) // first, so that whoever has the answer can rely on the record
	body := "mitm: " + oneLine(err) + "\n"
	fmt.Fprintf(c.conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(body), body)
	c.end(oneLine(err))
}

// intercept speaks with the client as its origin would.
func (c *client) intercept() {
	c.look = lookOut(c.rest())
	hello, conn, err := alpn.PeekClientHello(c.look.conn())
	var wrong *alpn.HelloError
	switch {
	case err == nil:
		c.interceptTLS(hello, conn)
	case errors.As(err, &wrong) && wrong.Looks == alpn.LooksHTTP:
		c.route.scheme = "http"
		c.rec.Update(func(r *netlog.Connection) { r.ALPN = netlog.NoALPN })
		c.proxy.server.ServeConn(conn, c.rec)
	default:
		c.end("after CONNECT: " + err.Error())
	}
}

func (c *client) interceptTLS(hello *alpn.ClientHello, conn net.Conn) {
	p := c.proxy
	c.route.serverName = hello.ServerName
	cfg := p.downstream[""]
	if p.mirror {
		ctx, stop := c.look.while(p.ctx)
		cfg = c.mirrored(ctx, hello)
		stop()
	}
	ctx := context.WithValue(p.ctx, targetKey{}, c.route.target)
	secured, err := wire.HandshakeServer(ctx, conn, cfg, c.rec)
	if err != nil {
		return // HandshakeServer recorded it and closed conn
	}
	p.server.ServeConn(secured, c.rec)
}
