package wire

import (
	"crypto/tls"
	"net/http"

	"golang.org/x/net/http2"

	"example.com/wiretest/netlog"
)

// ForeignConn is a connection to a server by a protocol that a ClientConn does
// not speak by itself, such as HTTP/3.
type ForeignConn struct {
	Protocol string // as in ALPN
	Record   *netlog.ConnectionRecord
	TLS      *tls.ConnectionState
	// Limit is how many requests the server allows at once, and MaxStreams is
	// ClientConfig's.
	Limit, MaxStreams int
	// RoundTrip keeps what ClientConn.RoundTrip promises. Its error, and that of the
	// answer's body, wraps an http2.StreamError where the server has reset the
	// stream, with what HTTP/2 has for the code.
	RoundTrip func(req *http.Request, started func(*netlog.RequestRecord)) (*http.Response, error)
	// Reset ends the stream of a request with what the protocol has for the code; of
	// one that is over it does nothing. It does not wait.
	Reset func(*netlog.RequestRecord, http2.ErrCode)
	// Close ends the connection at once; idempotent.
	Close func() error
	// Closed is closed when the connection is over.
	Closed <-chan struct{}
}

// NewForeignConn has f pass for a ClientConn that speaks by itself, as a Pool
// wants it: like h2, one connection has room for many requests. Control and
// NetConn are nil. Whoever made f calls Finish when it takes no more requests.
func NewForeignConn(f *ForeignConn) *ClientConn {
	c := &ClientConn{
		rec:      recordFor(f.Record, f.TLS),
		protocol: f.Protocol,
		tls:      f.TLS,
		foreign:  f,
		done:     make(chan struct{}),
		greet:    make(chan struct{}),
	}
	close(c.greet)
	c.limit.Store(int64(f.Limit))
	c.maxStreams.Store(int64(f.MaxStreams))
	return c
}

// Finish closes Done. It is for who has called NewForeignConn, without locks.
func (c *ClientConn) Finish() { c.finishNow() }

// ForeignOf is the request that has this record, on a connection by
// NewForeignConn; nil on others.
func (c *ClientConn) ForeignOf(rec *netlog.RequestRecord) *Foreign {
	if c.foreign == nil {
		return nil
	}
	return &Foreign{
		Connection: c.rec,
		Request:    rec,
		Reset:      func(code http2.ErrCode) { c.foreign.Reset(rec, code) },
		Close:      func() { c.foreign.Close() },
	}
}
