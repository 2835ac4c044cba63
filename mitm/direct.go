package mitm

import (
	"errors"
	"fmt"
	"net/http"

	"example.com/wiretest/alpn"
)

// httpsPort is for what a ClientHello tells nothing about.
const httpsPort = "443"

// direct serves a client that takes the proxy for its origin, and begins with
// TLS.
func (c *client) direct() {
	c.look = lookOut(c.rest())
	hello, conn, err := alpn.PeekClientHello(c.look.conn())
	if err != nil {
		c.end(err.Error())
		return
	}
	to, err := c.meant(hello)
	if err != nil {
		c.end(err.Error())
		return
	}
	c.goTo(to)
	passes, err := c.hookTunnel()
	switch {
	case err != nil:
		c.end(err.Error())
	case passes:
		c.passOn(conn, answer{accept: func() bool { return true }, refuse: c.hangUp})
	default:
		c.interceptTLS(hello, conn)
	}
}

// meant is the origin that a client means which knows of no proxy.
func (c *client) meant(hello *alpn.ClientHello) (route, error) {
	switch {
	case c.mode == Reverse:
		return c.proxy.origin, nil
	case hello.ServerName == "":
		return route{}, errors.New("no SNI in the ClientHello, and so no origin: Mode is Transparent")
	}
	t := target{hello.ServerName, httpsPort}
	if why := wrongHost(t.host); why != "" {
		return route{}, fmt.Errorf("SNI %q: %s", t.host, why)
	}
	return route{target: t, scheme: "https", serverName: t.host}, nil
}

// hangUp is for clients that know of no proxy, and so of no answer of its own.
func (c *client) hangUp(_ int, err error) { c.end(oneLine(err)) }

// routeByHost is the origin of a request without TLS, from a client that knows
// of no proxy.
func (c *client) routeByHost(r *http.Request) (route, error) {
	switch {
	case c.mode.has(Reverse):
		return c.proxy.origin, nil
	case r.Host == "":
		return route{}, errors.New("no Host, and so no origin: Mode is Transparent")
	}
	t, err := withPort(r.Host, "80")
	return route{target: t, scheme: "http"}, err
}
