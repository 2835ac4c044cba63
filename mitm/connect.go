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
// the origin, if the connection is to be intercepted. It reports whether another
// request is to come, now with credentials.
func (c *client) connect() (again bool) {
	req, err := c.head()
	if err != nil {
		c.refuseConnect(http.StatusBadRequest, err)
		return false
	}
	if err := c.proxy.unauthorized(req.Header); err != nil {
		return c.challenge(err)
	}
	t, err := parseTarget(req.RequestURI)
	if err != nil {
		c.refuseConnect(http.StatusBadRequest, fmt.Errorf("CONNECT: %w", err))
		return false
	}
	if c.mode == ExplicitTLS {
		c.reachWithin(t)
	} else {
		c.reach(t, answer{c.established, c.refuseConnect})
	}
	return false
}

// answer is how a client is told of the tunnel that it has asked for.
type answer struct {
	accept func() bool // reports whether the client could be told
	refuse func(status int, err error)
}

// reach leads a client to where it wants, which is t.
func (c *client) reach(t target, say answer) {
	c.goTo(route{target: t, scheme: "https"})
	passes, err := c.hookTunnel()
	switch {
	case err != nil:
		say.refuse(http.StatusForbidden, err)
	case passes:
		c.passThrough(say)
	case say.accept():
		c.intercept()
	}
}

// goTo is where all of the client's requests are for.
func (c *client) goTo(r route) {
	c.route = c.ruled(r)
	c.rec.Update(func(rec *netlog.Connection) {
		rec.Host, rec.Rule = r.target.String(), c.route.rule.name
	})
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
	c.answerConnect(status, "Connection: close\r\n", err)
	c.dismiss(oneLine(err))
}

// challenge asks for credentials, and reports whether the client could be told.
func (c *client) challenge(err error) bool {
	c.denied = err
	if err := c.answerConnect(http.StatusProxyAuthRequired, "Proxy-Authenticate: "+challenge+"\r\n", err); err != nil {
		c.end("answer to CONNECT: " + oneLine(bare(err)))
		return false
	}
	return true
}

func (c *client) answerConnect(status int, fields string, reason error) error {
	body := "mitm: " + oneLine(reason) + "\n"
	_, err := fmt.Fprintf(c.conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n%s\r\n%s",
		status, http.StatusText(status), len(body), fields, body)
	return err
}

// intercept speaks with the client as its origin would.
func (c *client) intercept() {
	c.look = lookOut(c.rest())
	hello, conn, err := alpn.PeekClientHello(c.look.conn())
	var wrong *alpn.HelloError
	switch {
	case err == nil:
		c.route.serverName = hello.ServerName
		c.interceptTLS(hello, conn)
	case errors.As(err, &wrong) && wrong.Looks == alpn.LooksHTTP:
		c.route.scheme = "http"
		c.rec.Update(func(r *netlog.Connection) { r.ALPN = netlog.NoALPN })
		c.route.rule.server.ServeConn(conn, c.rec)
	default:
		c.end(fmt.Sprintf("after %s: %v", c.asked(), err))
	}
}

// asked is what the client has asked for a tunnel by.
func (c *client) asked() string {
	if c.mode == SOCKS5 {
		return "SOCKS5"
	}
	return "CONNECT"
}

func (c *client) interceptTLS(hello *alpn.ClientHello, conn net.Conn) {
	p, rule := c.proxy, c.route.rule
	fault := rule.clientFaults.next()
	if fault.FirstSegment {
		hello = blind(hello, c.look.first)
		c.route.serverName = hello.ServerName
	}
	cfg, shown := rule.downstream[""], &show{rule: rule, name: hello.ServerName}
	if rule.originFirst {
		ctx, stop := c.look.while(p.ctx)
		cfg, shown.also = c.afterOrigin(ctx, hello)
		stop()
	}
	if fault.RefuseALPN {
		cfg = alpn.Only("no protocol of the client's").Server(cfg)
	}
	if wire.Pause(p.ctx, fault.HandshakeDelay) != nil {
		return // the proxy is closed, and so will be conn
	}
	ctx := context.WithValue(context.WithValue(p.ctx, targetKey{}, c.called()), showKey{}, shown)
	secured, err := wire.HandshakeServer(ctx, fault.under(conn, c.rec), cfg, c.rec)
	if err != nil {
		p.tellTLSFailure(c.rec, err)
		return // HandshakeServer recorded it and closed conn
	}
	rule.server.ServeConn(secured, c.rec)
	p.tellUnused(c.rec)
}

// called is what the client calls the host that it speaks with.
func (c *client) called() target {
	if c.mode == Reverse {
		return localOf(c.conn)
	}
	return c.route.target
}

// localOf is the address that a connection was made to.
func localOf(conn net.Conn) target {
	host, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return target{host, port}
}
