package mitm

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"

	"example.com/wiretest/netlog/wire"
)

// proxyClosed is why a connection ended that was open at Close.
const proxyClosed = "proxy closed"

// unlessClosed is the reason, which Close is where it has begun: it ends one
// connection after the other.
func (p *Proxy) unlessClosed(reason string) string {
	if p.ctx.Err() != nil {
		return proxyClosed
	}
	return reason
}

// Close cancels every request, ends every connection and tunnel of both legs
// at once, closes the listeners and the idle connections of every Transport
// that was given out. It waits for all of it, 5 seconds at most; then its error
// names what still runs. Close may be called again, and says the same.
func (p *Proxy) Close() error { return p.closer.Close("mitm", p.shutdown) }

func (p *Proxy) shutdown(ctx context.Context) error {
	p.cancel()
	for _, l := range p.listeners {
		l.Close() // in a network that was closed before, it is closed already
	}
	p.abortClients()
	var quic error
	var endingHTTP3 sync.WaitGroup // of this function, which waits; ctx bounds it
	if p.endHTTP3 != nil {
		endingHTTP3.Go(func() { quic = p.endHTTP3(ctx) })
	}
	var wg sync.WaitGroup // of this function, which waits
	for _, one := range p.all() {
		wg.Go(func() { one.secure.Close() })
		wg.Go(func() { one.plain.Close() })
	}
	err := p.closeServers(ctx)
	endingHTTP3.Wait()
	err = cmp.Or(err, quic)
	p.access.Close()
	if !wire.Await(ctx, &p.running) && err == nil {
		err = p.leftOpen() // where handlers still run so do their connections: the handlers are the news
	}
	if !wire.Await(ctx, &wg) && err == nil {
		err = errors.New("still running: connections to origins")
	}
	return err
}

// beside runs f on a goroutine that Close waits for; it reports false, and f does
// not run, once Close has begun.
func (p *Proxy) beside(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.running.Go(f)
	return true
}

// closeServers closes all at once, and returns what the first of them has to say.
func (p *Proxy) closeServers(ctx context.Context) error {
	servers := []*wire.Server{p.outerServer}
	for _, one := range p.all() {
		servers = append(servers, one.server)
	}
	errs := make([]error, len(servers))
	var closing sync.WaitGroup // of this function, which waits; ctx bounds it
	for i, server := range servers {
		closing.Go(func() { errs[i] = server.Close(ctx) })
	}
	closing.Wait()
	return cmp.Or(errs...)
}

// abortClients ends the connections that the wire.Server does not have yet, or
// never gets: those before their first request, in a handshake or in a tunnel.
func (p *Proxy) abortClients() {
	p.mu.Lock()
	var all []*client
	for _, c := range p.clients {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all { // first, because one may be within another
		c.rec.Close(proxyClosed)
	}
	for _, c := range all {
		inner(c.conn).Close() // a word of TLS could wait for a client that does not read
	}
}

func (p *Proxy) leftOpen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return wire.LeftOpen(maps.Keys(p.clients))
}
