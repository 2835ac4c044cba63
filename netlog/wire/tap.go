package wire

import (
	"net"

	"example.com/wiretest/netlog"
)

// Side says which end of the connection holds a Tap.
type Side int

const (
	ServerSide Side = iota // reads requests, writes answers
	ClientSide             // writes requests, reads answers
)

// TapConfig says what a Tap looks at.
type TapConfig struct {
	Side     Side
	Protocol string                   // "http/1.1" or "h2"
	Record   *netlog.ConnectionRecord // what is seen goes here
	Scheme   string                   // of the URLs recorded; "" is "https"
	// Mark, on the server side of h2, adds a header field to each request on
	// its way to the server, by which RequestOf finds the record of the
	// request that a handler serves. Server removes it again.
	Mark bool
	// OnLimit, on the client side of h2, is called without locks when the
	// server states or changes its limit of concurrent streams.
	OnLimit func(n int)
}

// Tap is a net.Conn that passes bytes through and records what they say.
type Tap struct{ net.Conn }

// NewTap returns a Tap over decrypted bytes.
func NewTap(conn net.Conn, cfg TapConfig) *Tap { panic("to be written") }

// Last is the record of the request that began last; nil if none did.
func (t *Tap) Last() *netlog.RequestRecord { panic("to be written") }

// Stream is the record of the request on an HTTP/2 stream that is not closed
// yet; nil if there is none.
func (t *Tap) Stream(id int64) *netlog.RequestRecord { panic("to be written") }
