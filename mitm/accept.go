package mitm

import (
	"bufio"
	"net"
	"sync/atomic"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
)

// client is one connection of a client to the proxy.
type client struct {
	proxy  *Proxy
	mode   Mode     // of Config.Mode, the one by which it came
	conn   net.Conn // as accepted, or the tunnel in another connection
	reader *bufio.Reader
	look   *lookout // below TLS; nil before it is intercepted
	rec    *netlog.ConnectionRecord
	route  route                 // of all its requests; zero where each says for itself
	id     int64                 // of rec
	own    map[string]*wire.Pool // keys of its own connections to origins; guarded by Proxy.mu
	ended  bool                  // guarded by Proxy.mu
	denied error                 // why it was last asked for credentials; nil is never

	// notMirrored is why Mirror could not ask the origin, until a request was
	// told.
	notMirrored atomic.Pointer[failure]
}

// accept serves what l accepts until l or the proxy is closed. Start starts
// it, Close waits for it and for the connections that it starts.
func (p *Proxy) accept(l net.Listener) {
	wire.Accept(p.ctx, l, func(conn net.Conn) {
		c := p.newClient(conn, netlog.Connection{}) // here, so that the order in the Log is that of accepting
		p.running.Go(func() { p.serve(c) })
	})
}

// serve owns c. Whatever ends it has written why into the record; should
// something not have, the end is recorded all the same.
func (p *Proxy) serve(c *client) {
	defer c.over()
	if p.add(c) {
		c.first()
	}
}

// newClient opens conn's record, which is about all else that it says.
func (p *Proxy) newClient(conn net.Conn, about netlog.Connection) *client {
	about.Leg, about.Network = Downstream, "tcp"
	about.Local, about.Remote = conn.LocalAddr().String(), conn.RemoteAddr().String()
	rec := p.log.Open(about)
	return &client{proxy: p, conn: conn, reader: bufio.NewReader(conn), rec: rec, id: rec.Connection().ID}
}

// add reports false, and c must end, once the proxy is closing.
func (p *Proxy) add(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.clients[c.rec] = c
	return true
}

// end closes the connection; the first reason counts.
func (c *client) end(reason string) {
	c.rec.Close(reason)
	c.conn.Close()
	p := c.proxy
	p.mu.Lock()
	delete(p.clients, c.rec)
	own := c.own
	c.own, c.ended = nil, true
	p.mu.Unlock()
	for key, pool := range own {
		pool.Forget(key)
	}
}

// over ends what nothing else has ended.
func (c *client) over() { c.end(c.proxy.unlessClosed("closed")) }

// ruled is r with what rules for it.
func (c *client) ruled(r route) route {
	if r.rule == nil {
		r.rule = c.proxy.decide(r.target)
	}
	if r.rule.upstream.PerClient {
		r.owner = c
	}
	return r
}

// uses notes that c has connections of its own, which end with it.
func (c *client) uses(pool *wire.Pool, key string) {
	p := c.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.own == nil && !c.ended {
		c.own = make(map[string]*wire.Pool)
	}
	if !c.ended {
		c.own[key] = pool
	}
}

// clientOf is the connection that a handler serves.
func (p *Proxy) clientOf(rec *netlog.ConnectionRecord) *client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clients[rec]
}
