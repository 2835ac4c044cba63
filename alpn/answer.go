package alpn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"

	"example.com/wiretest/alpn/internal/probing"
)

// Answer is what a server did with one offer.
type Answer struct {
	Offered     []string            // nil is no ALPN
	Version     uint16              // of TLS, the only one that was offered
	QUIC        uint32              // its version, where package probeh3 asked; 0 is TCP
	Selected    string              // "" is no ALPN, or a refusal
	Err         error               // why the handshake failed; nil if it did not
	Alert       uint8               // with which the server refused; 0 is none
	CipherSuite uint16              // 0 where the handshake failed
	Group       tls.CurveID         // of the key exchange; likewise
	Issuer      string              // of the leaf: its common name, or all of it where it has none
	Chain       []*x509.Certificate // the leaf first; also one that is not trusted; nil if the handshake did not get that far
	Resumes     bool                // the server resumed a session; asked once per version, for the first offer that was not refused
	EarlyData   bool                // and took a request ahead of the handshake (0-RTT); asked over QUIC only
}

// over is what carries the connection: a column of a table.
func (a *Answer) over() carrier { return carrier{a.Version, a.QUIC} }

type carrier struct {
	tls  uint16
	quic uint32
}

func (c carrier) String() string {
	if c.quic != 0 {
		return "QUIC " + quicVersionName(c.quic)
	}
	return versionName(c.tls)
}

func (a *Answer) observe(state tls.ConnectionState) {
	a.Selected, a.CipherSuite, a.Group = state.NegotiatedProtocol, state.CipherSuite, state.CurveID
	a.certified(state.PeerCertificates)
}

func (a *Answer) certified(chain []*x509.Certificate) {
	if a.Chain = chain; len(chain) > 0 {
		a.Issuer = probing.Issuer(chain[0])
	}
}

// fail also keeps a chain that is not trusted: whose it is matters most then.
func (a *Answer) fail(err error) {
	a.Err = err
	a.Alert, _ = alertOf(err)
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		a.certified(untrusted.UnverifiedCertificates)
	}
}

// String is what the server selected, or how it refused, in a word or two.
func (a Answer) String() string {
	var untrusted *tls.CertificateVerificationError
	switch {
	case a.Err == nil:
		return orNone(a.Selected)
	case a.Alert != 0:
		return alertName(a.Alert)
	case errors.As(a.Err, &untrusted):
		return "not trusted"
	case errors.Is(a.Err, io.EOF):
		return "closed"
	case errors.Is(a.Err, syscall.ECONNRESET):
		return "reset"
	case timedOut(a.Err):
		return "timeout"
	}
	return "failed"
}

func orNone(selected string) string {
	if selected == "" {
		return "no ALPN"
	}
	return selected
}

// alertOf is the alert by which the peer, over TCP, or either side, over QUIC,
// ended a handshake; or the one that a policy of this package sent.
func alertOf(err error) (code uint8, ok bool) {
	var quic tls.AlertError
	var mismatch *MismatchError
	var remote *net.OpError
	switch {
	case errors.As(err, &mismatch) && !mismatch.byClient && mismatch.alert == nil:
		return alertNoApplicationProtocol, true
	case errors.As(err, &quic):
		return uint8(quic), true
	case errors.As(err, &remote) && remote.Op == "remote error":
		return alertNamed(remote.Err.Error())
	}
	return 0, false
}

// alertNamed is needed because the type of crypto/tls's alerts is not exported
// where they come over TCP.
func alertNamed(text string) (code uint8, ok bool) {
	for code := range 256 {
		if tls.AlertError(code).Error() == text {
			return uint8(code), true
		}
	}
	return 0, false
}

// alertName is such as "alert 120 (no application protocol)".
func alertName(code uint8) string {
	name := strings.TrimPrefix(tls.AlertError(code).Error(), "tls: ")
	return "alert " + strconv.Itoa(int(code)) + " (" + name + ")"
}
