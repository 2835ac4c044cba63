package netlog

import "time"

// What ALPN and Protocol say where they have no protocol's name. They are three
// different answers: the peers agreed on no protocol, nobody can tell, and
// somebody removed the answer.
const (
	NoALPN   = "no ALPN"
	Unknown  = "unknown"
	Redacted = "redacted"
)

// Connection is one transport connection as one side saw it: a copy, taken
// when the Log was asked.
//
// A connection says how far it got. A zero time means "not yet, or never":
// Opened is when it was dialled or accepted, Handshaken when TLS (or QUIC) was
// done, FirstUsed when it began to carry its first request.
//
// Bytes are counted by direction, never by who counts: Up is from the client
// to the server, Down the other way. Both ends of a connection therefore
// record equal figures.
type Connection struct {
	ID         int64  // in order of opening within its Log, from 1
	Leg        Leg    // which side of a fixture it is on; "" where there is one side only
	Network    string // "tcp" or "udp"
	Host       string // authority it is for, as host:port; what the client asked, not an address
	ServerName string // SNI (RFC 6066, section 3); "" if none was sent
	Proxy      string // host:port of the proxy it goes through; "" is none
	Rule       string // which rule of the recording fixture decided about it; "" is none
	Local      string // address of the recording side
	Remote     string // address of the other side

	TLSVersion uint16   // as in crypto/tls; 0 is no TLS, or not yet
	Offered    []string // ALPN protocols that the client offered (RFC 7301); nil is none, or unknown
	ALPN       string   // chosen by the server; NoALPN, Unknown or Redacted where there is no name
	Protocol   string   // what was spoken: "http/1.1", "h2", "h3"; Unknown until something was
	Issuer     string   // common name of the issuer of the server's certificate
	Resumed    bool     // the handshake resumed a session (RFC 8446, section 2.2)
	EarlyData  bool     // and the server accepted what came in 0-RTT, before its end (RFC 8446, section 2.3); QUIC only
	Tunnel     bool     // bytes were passed through uninspected

	Requests    int // requests that it carried; CONNECT of a tunnel is not one; -1 is some, how many is unknown
	MaxStreams  int // most requests in flight at one instant
	StreamLimit int // the server's SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, section 6.5.2); 0 is not stated

	OpenReason  string // why it was opened, where that is known
	CloseReason string // why it was closed; "" while it is open
	GoAway      string // GOAWAY received or sent, with its code and last stream id

	Opened     time.Time
	Handshaken time.Time
	FirstUsed  time.Time
	Closed     time.Time

	BytesUp         int64 // application bytes (inside TLS), client to server; -1 is unknown
	BytesDown       int64 // the same, server to client
	HeaderBytesUp   int64 // header bytes as on the wire: HPACK blocks, or HTTP/1.1 heads; -1 is unknown
	HeaderBytesDown int64

	epoch *time.Time // the Log's first event, from which tables count time
}

// Used reports whether the connection carried at least one request.
func (c *Connection) Used() bool { return c.Requests != 0 }
