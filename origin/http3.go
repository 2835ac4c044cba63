package origin

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/quic-go/quic-go"
)

// HTTP3 has an origin serve HTTP/3 too, on the same port number as TCP, and say
// so in Alt-Svc. Its zero value does both. Handler, page, certificates, stream
// limit, faults by request and Log are the origin's. Of the faults those that say
// GOAWAY only refuse the request, those that reset a connection close it, and a
// reset stream loses what was not delivered yet (RFC 9000, section 3.2).
// Config.ALPN, ConnectionFaults and Prepare rule TCP alone. When a test fails, New
// writes the latest qlog events of each connection into its ArtifactDir, for qvis
// to show.
type HTTP3 struct {
	// AltSvc is what answers say of it.
	AltSvc AltSvc

	// Dead serves nothing on UDP: what is advertised is not there.
	Dead bool

	// QUIC is the server's side of QUIC: timeouts, windows, packet size. It is
	// cloned, and nil is quic-go's own with 0-RTT allowed. The limit of streams is
	// Config.MaxConcurrentStreams, the windows are Config.StreamWindow and
	// ConnWindow where these are set. In memory a packet size above 1,280 bytes is
	// an error at Start: where a path swallows all such packets, quic-go spins
	// without time passing.
	QUIC *quic.Config
}

// AltSvc is the Alt-Svc field of answers (RFC 7838), over every protocol. Its
// zero value advertises h3 on the origin's own port for 30 days.
type AltSvc struct {
	// Port is advertised in place of the origin's own, as where a port is mapped.
	Port int
	// MaxAge is for how long a client may remember it: ma, in whole seconds. 0 is
	// 30 days.
	MaxAge time.Duration
	// Clear says instead that clients are to forget every alternative.
	Clear bool
	// Absent leaves the field out.
	Absent bool
}

// defaultMaxAge is what large sites state.
const defaultMaxAge = 30 * 24 * time.Hour

func (a AltSvc) validate() error {
	switch {
	case a.Port < 0 || a.Port > math.MaxUint16:
		return fmt.Errorf("AltSvc.Port: %d: must be from 0 to %d", a.Port, math.MaxUint16)
	case a.MaxAge < 0:
		return fmt.Errorf("AltSvc.MaxAge: %v is negative", a.MaxAge)
	case a.MaxAge%time.Second != 0:
		return fmt.Errorf("AltSvc.MaxAge: %v is not whole seconds", a.MaxAge)
	case a.Clear && a.Absent:
		return errors.New("AltSvc: Clear and Absent are both set")
	case (a.Clear || a.Absent) && (a.Port != 0 || a.MaxAge != 0):
		return errors.New("AltSvc: Port or MaxAge beside Clear or Absent: nothing would say them")
	}
	return nil
}

// value is the field's value for an origin on port; "" is none.
func (a AltSvc) value(port int) string {
	switch {
	case a.Absent:
		return ""
	case a.Clear:
		return "clear"
	}
	if a.Port != 0 {
		port = a.Port
	}
	age := a.MaxAge
	if age == 0 {
		age = defaultMaxAge
	}
	return fmt.Sprintf(`h3=":%d"; ma=%d`, port, int64(age/time.Second))
}

func (c *Config) validHTTP3() error {
	h := c.HTTP3
	if h == nil {
		return nil
	}
	if c.Plain {
		return errors.New("Config.HTTP3 and Config.Plain are both set: QUIC is never without TLS")
	}
	if c.TLS != nil && c.TLS.MaxVersion != 0 && c.TLS.MaxVersion < tls.VersionTLS13 {
		return fmt.Errorf("Config.HTTP3: Config.TLS.MaxVersion is %s: QUIC needs TLS 1.3", tls.VersionName(c.TLS.MaxVersion))
	}
	if err := h.AltSvc.validate(); err != nil {
		return fmt.Errorf("Config.HTTP3: %w", err)
	}
	if q := h.QUIC; q != nil && q.InitialPacketSize != 0 && q.InitialPacketSize < 1200 {
		return fmt.Errorf("Config.HTTP3: QUIC.InitialPacketSize: %d is below 1200, the least that QUIC may send (RFC 9000, section 14)", q.InitialPacketSize)
	}
	return nil
}

// SetAltSvc changes what answers say from now on; a mistaken one is an error
// and changes nothing. Without Config.HTTP3 it works too: a proxy in front may be
// what serves HTTP/3, and an origin that has given it up may say Clear.
func (s *Server) SetAltSvc(a AltSvc) error {
	if err := a.validate(); err != nil {
		return fmt.Errorf("origin: SetAltSvc: %w", err)
	}
	value := a.value(s.port)
	s.altSvc.Store(&value)
	return nil
}

// advertising has answers say Alt-Svc. A handler that sets the field itself has
// the last word.
func (s *Server) advertising(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if value := s.altSvc.Load(); value != nil && *value != "" {
			w.Header().Set("Alt-Svc", *value)
		}
		next.ServeHTTP(w, r)
	})
}
