package netlog

import (
	"fmt"
	"slices"
	"time"
)

// AltService is one alternative service (RFC 7838) of a host, as a browser met
// it.
type AltService struct {
	Host        string    // host:port of the origin
	Alternative string    // host:port that it named
	Protocol    string    // "h3"
	Found       time.Time // first met: in an answer, or in what the browser knew already
	Requests    int       // that went to Host over Protocol
	Broken      bool      // the browser gave it up for a while
	Why         string    // it did; "" where that is not known
}

// String is one line.
func (a AltService) String() string {
	text := fmt.Sprintf("%s has %s at %s: %s over it", a.Host, a.Protocol, a.Alternative, count(a.Requests, "request"))
	if a.Broken {
		text += ", broken"
	}
	if a.Why != "" {
		text += ": " + a.Why
	}
	return text
}

// AltServices returns the alternative services that the log of a browser shows,
// in the order in which they were met; nil if the Log was recorded.
func (l *Log) AltServices() []AltService {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.origin == nil {
		return nil
	}
	return slices.Clone(l.origin.alts)
}
