package netlog

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// recordedConn is a connection that a transport dialled, under TLS if there is
// any. It records its own end.
type recordedConn struct {
	net.Conn
	t      *transport
	record *ConnectionRecord
	place  group
	secure bool // TLS is spoken, or will be
	plain  bool // bytes are the application's
	sniffs bool // the ClientHello passes in the clear
	layers int  // TLS handshakes to come; guarded by the exchange's mu

	moved atomic.Int64 // t.moves, when bytes moved last under TLS

	mu       sync.Mutex
	hello    *helloReader // nil: not to be read, or not any more
	settled  bool         // a request saw the state of TLS
	tail     tail         // what was read last, under TLS
	leaving  bool         // this side ended TLS, and before the peer did
	closed   bool
	ended    string    // how the other side or the network ended it
	cause    string    // why this side will close it
	carrying *exchange // the last, on http/1.1
}

// record wraps a connection that was dialled for x.
func (t *transport) record(conn net.Conn, x *exchange, network, addr string, place group) *recordedConn {
	c := x.opening(conn, network, addr)
	r := &recordedConn{Conn: conn, t: t, place: place, layers: x.tlsLayers(c.Proxy != "")}
	r.secure = r.layers > 0
	r.plain = !r.secure && !x.socks()
	if r.plain {
		c.BytesUp, c.BytesDown = 0, 0
	}
	if !r.secure {
		c.ALPN = NoALPN
	}
	if r.sniffs = r.layers == 1; r.sniffs { // the hello of a second one is inside the first
		r.hello = new(helloReader)
	}
	r.record = t.log.Open(c)
	x.dialled(r)
	return r
}

// recorded is the connection of t under conn, which is what net/http made of
// it; nil if t did not dial it.
func (t *transport) recorded(conn net.Conn) *recordedConn {
	for conn != nil {
		if r, ok := conn.(*recordedConn); ok && r.t == t {
			return r
		}
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = outer.NetConn()
	}
	return nil
}

// NetConn is the connection inside, as of a tls.Conn.
func (r *recordedConn) NetConn() net.Conn { return r.Conn }

func (r *recordedConn) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	switch {
	case n > 0 && r.secure:
		r.moves()
		r.remember(p[:n])
	case n > 0 && r.plain:
		r.record.Update(func(c *Connection) { c.BytesDown += int64(n) })
	}
	r.note(err)
	return n, err
}

func (r *recordedConn) Write(p []byte) (int, error) {
	r.sniff(p)
	if r.secure {
		r.takesLeave(p)
	}
	n, err := r.Conn.Write(p)
	switch {
	case n > 0 && r.secure:
		r.moves()
	case n > 0 && r.plain:
		r.record.Update(func(c *Connection) { c.BytesUp += int64(n) })
	}
	r.note(err)
	return n, err
}

// moves is called when bytes have moved, under TLS: it tells its handshakes apart.
func (r *recordedConn) moves() { r.moved.Store(r.t.moves.Add(1)) }

// CloseWrite is for the body of an Upgrade.
func (r *recordedConn) CloseWrite() error {
	if half, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return fmt.Errorf("netlog: transport: CloseWrite: %w", http.ErrNotSupported)
}

func (r *recordedConn) Close() error {
	if r.closes() {
		r.record.Close(r.reason())
		r.t.slots.free(r.place)
	}
	return r.Conn.Close()
}

// closes is true once.
func (r *recordedConn) closes() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.closed
	r.closed = true
	return first
}

func (r *recordedConn) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

func (r *recordedConn) remember(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tail.add(p)
}

// sniff reads the ClientHello as it leaves. Through a proxy it comes after the
// CONNECT.
func (r *recordedConn) sniff(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hello == nil {
		return
	}
	info, more := r.hello.write(p)
	if !more {
		r.hello = nil
	}
	if info != nil {
		r.record.Update(func(c *Connection) { c.Offered, c.ServerName = info.SupportedProtos, info.ServerName })
	}
}

// carries says that x goes over the connection, which net/http knows as conn.
// If only one exchange is possible at a time, that ends the one before: net/http
// passes a connection on before the reader of the last answer knows its end.
func (r *recordedConn) carries(x *exchange, conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(conn)
	proto := r.speaks()
	if last := r.carrying; last != nil && last != x && proto != "h2" {
		last.record.End("")
	}
	r.carrying, r.cause = x, ""
}

// settle writes down the state of TLS, of which there may have been no word
// yet. The caller holds r.mu.
func (r *recordedConn) settle(conn net.Conn) {
	if r.settled {
		return
	}
	r.settled = true
	if secure, ok := conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
		r.record.Update(func(c *Connection) { r.agreed(c, secure.ConnectionState()) })
	}
}

// speaks is the protocol, which is recorded as soon as something is spoken.
func (r *recordedConn) speaks() (proto string) {
	r.record.Update(func(c *Connection) {
		switch {
		case c.Protocol != Unknown:
		case c.ALPN == "h2" || !r.secure && r.t.plainH2:
			c.Protocol = "h2"
		default:
			c.Protocol = "http/1.1"
		}
		proto = c.Protocol
	})
	return proto
}

// tlsLayers is how many handshakes are to come on a connection dialled for x.
func (x *exchange) tlsLayers(proxied bool) (n int) {
	if x == nil {
		return 0
	}
	if x.scheme == "https" {
		n++
	}
	if proxied && strings.EqualFold(x.chosenProxy(), "https") {
		n++
	}
	return n
}

func (x *exchange) socks() bool { return x != nil && strings.HasPrefix(x.chosenProxy(), "socks") }

// chosenProxy is the scheme of the proxy; "" is none.
func (x *exchange) chosenProxy() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.proxy == nil {
		return ""
	}
	return x.proxy.Scheme
}

// dialled says that r was dialled for x.
func (x *exchange) dialled(r *recordedConn) {
	if x == nil || r.layers == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dialing = append(x.dialing, r)
}
