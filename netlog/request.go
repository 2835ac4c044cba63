package netlog

import (
	"strings"
	"time"
)

// Request is one request and its answer as one side saw them: a copy, taken
// when the Log was asked. A zero time means "not yet, or never".
type Request struct {
	ID         int64       // in order of Start within its Log, from 1
	Connection *Connection // what carried it; nil if nothing did, or if that is unknown
	Stream     int64       // HTTP/2 or HTTP/3 stream id; 0 on HTTP/1.1
	Pair       int64       // ID of the request on the proxy's other leg that this one caused or served; 0 is none

	Leg      Leg    // as Connection.Leg
	Method   string // "GET"
	URL      string // absolute; without user and fragment
	Protocol string // as Connection.Protocol
	Status   int    // of the final answer; 0 until there is one

	Start     time.Time     // asked for (client), or head arrived (server)
	Wait      time.Duration // from Start until a connection took it: dialling and stalls
	Sent      time.Time     // head sent (client); on a server equal to Start
	FirstByte time.Time     // first byte of the final answer's head
	End       time.Time     // last byte of the answer, or failure

	HeaderBytesUp   int64 // as Connection.HeaderBytesUp
	HeaderBytesDown int64
	BodyBytesUp     int64 // without framing
	BodyBytesDown   int64

	Err string // why it failed: a reset with its code, a broken connection; "" is success or unfinished

	epoch *time.Time // as Connection.epoch
}

// host is the authority of the URL or, where the URL has none, the
// connection's.
func (r *Request) host() string {
	if r.Connection != nil && !strings.Contains(r.URL, "://") {
		return r.Connection.Host
	}
	return r.URL
}

// TimeToFirstByte is from the moment the request was sent to the first byte of
// the answer; 0 while either is unknown.
func (r *Request) TimeToFirstByte() time.Duration { return between(r.Sent, r.FirstByte) }

// Download is from the first to the last byte of the answer; 0 while either is
// unknown.
func (r *Request) Download() time.Duration { return between(r.FirstByte, r.End) }

func between(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() {
		return 0
	}
	return to.Sub(from)
}
