package mitm

import (
	"crypto/tls"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"

	"example.com/wiretest/netlog"
)

// TLSCause is what TLS has failed for.
type TLSCause string

const (
	CertificateRefused   TLSCause = "certificate refused"    // by an alert; upstream, also by the proxy
	NoCommonProtocol     TLSCause = "no common protocol"     // ALPN, alert 120
	ClosedAfterHandshake TLSCause = "closed after handshake" // by a client, without a request
	OtherTLSFailure      TLSCause = "other"
)

// TLSFailure is why TLS has failed on a connection.
type TLSFailure struct {
	Leg        netlog.Leg
	Connection netlog.Connection // as recorded
	Cause      TLSCause
	Err        error // what crypto/tls said; nil for ClosedAfterHandshake
}

// tellTLSFailure tells the hook of a handshake that has failed.
func (p *Proxy) tellTLSFailure(rec *netlog.ConnectionRecord, err error) {
	if hook := p.hooks.TLSFailure; hook != nil && p.ctx.Err() == nil {
		c := rec.Connection()
		hook(TLSFailure{Leg: c.Leg, Connection: c, Cause: causeOf(err), Err: err})
	}
}

// tellUnused tells the hook of a client that wants nothing of what it has shaken
// hands for. That is how some refuse a certificate.
func (p *Proxy) tellUnused(rec *netlog.ConnectionRecord) {
	hook := p.hooks.TLSFailure
	if hook == nil || p.ctx.Err() != nil {
		return
	}
	if c := rec.Connection(); !c.Used() && strings.HasSuffix(c.CloseReason, "by client") {
		hook(TLSFailure{Leg: c.Leg, Connection: c, Cause: ClosedAfterHandshake})
	}
}

// Alerts of TLS (RFC 8446, section 6.2) that are about certificates: from
// bad_certificate to unknown_ca.
const (
	firstCertificateAlert = 42
	lastCertificateAlert  = 46
	unknownCAAlert        = 48
	noProtocolAlert       = 120
)

func causeOf(err error) TLSCause {
	alert, ok := alertOf(err)
	var invalid *tls.CertificateVerificationError
	switch {
	case ok && alert >= firstCertificateAlert && alert <= lastCertificateAlert, ok && alert == unknownCAAlert, errors.As(err, &invalid):
		return CertificateRefused
	case ok && alert == noProtocolAlert, saysNoProtocol(err):
		return NoCommonProtocol
	}
	return OtherTLSFailure
}

// alertOf is the number of an alert that has come. Its type has no name outside of
// crypto/tls.
func alertOf(err error) (number uint64, ok bool) {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" || op.Err == nil {
		return 0, false
	}
	v := reflect.ValueOf(op.Err)
	if v.Kind() != reflect.Uint8 {
		return 0, false
	}
	return v.Uint(), true
}

// saysNoProtocol is about this side's own refusals, for which crypto/tls and alpn
// have no types.
func saysNoProtocol(err error) bool {
	return slices.ContainsFunc([]string{"unsupported application protocols", "alpn: "}, func(part string) bool {
		return strings.Contains(err.Error(), part)
	})
}
