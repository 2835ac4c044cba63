package mitm

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// ConnectionFault is something that goes wrong on purpose with TLS, or below it, on
// a connection of a leg.
type ConnectionFault struct {
	// Connection says which one: the nth that speaks TLS on the leg, from 1, and for
	// the hosts of the Rule that it stands in. 0 is each.
	Connection int

	// RefuseALPN, on the downstream leg only, refuses whatever the client offers with
	// alert 120 (RFC 7301, section 3.2).
	RefuseALPN bool

	// HandshakeDelay is how long this side says nothing, before it sends the first
	// bytes of its handshake.
	HandshakeDelay time.Duration

	// DropAfter closes the connection behind that many bytes of TLS, both directions
	// counted.
	DropAfter int64

	// FirstSegment, on the downstream leg only, looks for SNI and ALPN in no more than
	// what the first read brings, as proxies do that take a ClientHello for one
	// segment. Where it has not come whole by then, or is larger than 2 KiB, it counts
	// as one without either.
	FirstSegment bool
}

func (f *ConnectionFault) validate(downstream bool) error {
	switch {
	case f.Connection < 0:
		return fmt.Errorf("Connection: %d is negative", f.Connection)
	case f.HandshakeDelay < 0:
		return fmt.Errorf("HandshakeDelay: %v is negative", f.HandshakeDelay)
	case f.DropAfter < 0:
		return fmt.Errorf("DropAfter: %d is negative", f.DropAfter)
	case !downstream && f.RefuseALPN:
		return errors.New("RefuseALPN is for the downstream leg: a client has nothing to refuse")
	case !downstream && f.FirstSegment:
		return errors.New("FirstSegment is for the downstream leg: the other one has no ClientHello to read")
	case *f == ConnectionFault{Connection: f.Connection}:
		return errors.New("nothing is set: nothing would go wrong")
	}
	return nil
}

// connectionFaults are those of a leg.
type connectionFaults struct {
	all     []ConnectionFault
	counted atomic.Int64
}

// next is what is to go wrong with the next connection.
func (f *connectionFaults) next() (sum ConnectionFault) {
	if len(f.all) == 0 {
		return sum
	}
	n := f.counted.Add(1)
	for _, one := range f.all {
		if one.Connection != 0 && int64(one.Connection) != n {
			continue
		}
		sum.RefuseALPN = sum.RefuseALPN || one.RefuseALPN
		sum.FirstSegment = sum.FirstSegment || one.FirstSegment
		sum.HandshakeDelay += one.HandshakeDelay
		if one.DropAfter > 0 {
			sum.DropAfter = one.DropAfter
		}
	}
	return sum
}

// blind is a ClientHello as FirstSegment sees it, of which the first read has
// brought so many bytes.
func blind(hello *alpn.ClientHello, read int) *alpn.ClientHello {
	const recordHeader = 5
	if read >= recordHeader+len(hello.Raw) {
		return hello
	}
	unseen := *hello
	unseen.ServerName, unseen.ALPN = "", nil
	return &unseen
}

// under is the connection with what goes wrong below TLS.
func (f *ConnectionFault) under(conn net.Conn, rec *netlog.ConnectionRecord) net.Conn {
	if f.DropAfter == 0 {
		return conn
	}
	d := &dropping{Conn: conn, rec: rec, after: f.DropAfter}
	d.left.Store(f.DropAfter)
	return d
}

// dropping is a connection that ends behind some bytes.
type dropping struct {
	net.Conn
	rec   *netlog.ConnectionRecord
	after int64
	left  atomic.Int64
}

// NetConn is the connection below, as in tls.Conn.
func (d *dropping) NetConn() net.Conn { return d.Conn }

func (d *dropping) Read(p []byte) (int, error) {
	if left := d.left.Load(); left > 0 && int64(len(p)) > left {
		p = p[:left]
	}
	n, err := d.Conn.Read(p)
	if d.left.Add(-int64(n)) <= 0 && err == nil {
		d.drop()
	}
	return n, err
}

func (d *dropping) Write(p []byte) (int, error) {
	left := d.left.Add(-int64(len(p)))
	if left > 0 {
		return d.Conn.Write(p)
	}
	n, err := d.Conn.Write(p[:max(0, int64(len(p))+left)])
	d.drop()
	if err == nil && n < len(p) {
		err = net.ErrClosed
	}
	return n, err
}

func (d *dropping) drop() {
	d.rec.Close(fmt.Sprintf("dropped after %d bytes by a fault", d.after))
	d.Conn.Close()
}
