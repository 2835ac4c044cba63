package netlog

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// tlsFacts are what is known of a handshake.
type tlsFacts struct {
	begun, done time.Time
	failed      int64 // net error
	proto       string
	said        bool // the log says what was chosen by ALPN
	version     uint16
	resumed     bool
	hello       *tls.ClientHelloInfo
	cert        certFacts
	check       int64 // CERT_VERIFIER_JOB
}

// certFacts are what is known of a server's certificate.
type certFacts struct {
	issuer     string
	selfSigned bool
	leaf       string // the certificate, to be compared
}

// certCheck is what the browser found out about a certificate.
type certCheck struct {
	cert        certFacts
	root        rootKind
	intercepted bool // the browser knows the interceptor
}

// rootKind says whether a certificate leads to a root that the browser ships.
type rootKind int8

const (
	rootUnknown rootKind = iota
	rootShipped
	rootOther
)

func (c *chrome) onTLS() {
	of := c.onCarrier
	of(chromefile.SSLConnect, c.sslConnect)
	of(chromefile.SSLMessageSent, c.sslMessageSent)
	of(chromefile.SSLCertificates, func(k *conduit, e *event) { k.tls.cert = firstCert(e.Params) })
	of(chromefile.SSLHandshakeError, func(k *conduit, e *event) { k.tls.failed, _ = e.Params.Int("net_error") })
	c.on(chromefile.VerifierBoundToJob, c.verifierBound)
	c.on(chromefile.VerifierJob, c.verifierJob)
}

func (c *chrome) sslConnect(k *conduit, e *event) {
	t := &k.tls
	if e.Phase == chromefile.Begin {
		*t = tlsFacts{begun: e.Time}
		return
	}
	k.works = true
	if code, failed := e.Params.Int("net_error"); failed {
		t.failed = code
		return
	}
	t.done = e.Time
	t.version = tlsVersion(e.Params.Str("version"))
	t.resumed = e.Params.Bool("is_resumed")
	t.said = e.Params.Has("next_proto")
	if t.proto = e.Params.Str("next_proto"); t.proto == "unknown" { // Chromium's word for none
		t.proto = ""
	}
}

func tlsVersion(name string) uint16 {
	for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
		if tls.VersionName(version) == name {
			return version
		}
	}
	return 0
}

// sslMessageSent looks into the ClientHello (RFC 8446, section 4).
func (c *chrome) sslMessageSent(k *conduit, e *event) {
	const clientHello = 1
	if kind, _ := e.Params.Int("type"); kind != clientHello || k.tls.hello != nil {
		return
	}
	if message, err := base64.StdEncoding.DecodeString(e.Params.Str("bytes")); err == nil && len(message) > 0 {
		k.tls.hello = readHello(inRecords(message))
	}
}

// inRecords is a handshake message as it goes over the wire (RFC 8446, section
// 5.1).
func inRecords(message []byte) (out []byte) {
	const largest = 1 << 14
	for len(message) > 0 {
		n := min(len(message), largest)
		out = append(out, recordTypeHandshake, 3, 1)
		out = binary.BigEndian.AppendUint16(out, uint16(n))
		out = append(out, message[:n]...)
		message = message[n:]
	}
	return out
}

func firstCert(p chromefile.Params) (facts certFacts) {
	p.Each("certificates", func(v chromefile.Value) bool {
		facts = readPEM(v.Str())
		return false
	})
	return facts
}

func readPEM(text string) certFacts {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return certFacts{}
	}
	return readCert(block.Bytes)
}

func readCert(der []byte) certFacts {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return certFacts{}
	}
	return certFacts{
		issuer:     cmp.Or(cert.Issuer.CommonName, strings.Join(cert.Issuer.Organization, " "), cert.Issuer.String()),
		selfSigned: bytes.Equal(cert.RawIssuer, cert.RawSubject),
		leaf:       string(cert.Signature),
	}
}

// verifierBound is said by what asks: a socket or a QUIC session.
func (c *chrome) verifierBound(e *event) {
	if k := c.carriers[e.Source.ID]; k != nil {
		k.tls.check, _ = e.Params.Dependency()
	}
}

func (c *chrome) verifierJob(e *event) {
	check := c.checks[e.Source.ID]
	if check == nil {
		check = new(certCheck)
		c.checks[e.Source.ID] = check
	}
	if e.Phase == chromefile.Begin {
		check.cert = firstCert(e.Params)
		return
	}
	if e.Params.Has("is_issued_by_known_root") {
		check.root = rootOther
		if e.Params.Bool("is_issued_by_known_root") {
			check.root = rootShipped
		}
	}
	const knownInterception = 1<<26 | 1<<21 // KNOWN_INTERCEPTION_BLOCKED and _DETECTED of certStatusFlag
	status, _ := e.Params.Int("cert_status")
	check.intercepted = status&knownInterception != 0
}

// knownRoot takes what is said of the certificate when the request has its
// connection.
func (c *chrome) knownRoot(r *chromeRequest, e *event) {
	info := e.Params.Str("transport_info")
	switch {
	case r.at == nil:
	case strings.Contains(info, "cert_is_issued_by_known_root = true"):
		r.at.root = rootShipped
	case strings.Contains(info, "cert_is_issued_by_known_root = false"):
		r.at.root = rootOther
	}
}
