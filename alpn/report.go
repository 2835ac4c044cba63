package alpn

import (
	"crypto/tls"
	"net/http"
	"slices"
	"strings"
)

func (o *outcome) observeTLS(resp *http.Response) {
	if resp.TLS == nil {
		return
	}
	o.tls, o.chosen, o.version = true, resp.TLS.NegotiatedProtocol, tls.VersionName(resp.TLS.Version)
	if certs := resp.TLS.PeerCertificates; len(certs) > 0 {
		o.issuer = certs[0].Issuer.String()
	}
}

// report is the rest of a failure, one fact a line.
func (o *outcome) report(want string) string {
	var b strings.Builder
	if o.url != "" {
		b.WriteString(" from " + o.url)
	}
	for _, line := range [][2]string{
		{"offered", o.offer()},
		{"chosen", o.choice()},
		{"spoken", o.line},
		{"issuer", o.issuedBy()},
		{"likely", o.cause(want)},
	} {
		b.WriteString("\n\t" + line[0] + ": " + line[1])
	}
	return b.String()
}

func (o *outcome) offer() string {
	switch {
	case !o.recorded:
		return "unknown (wrap the client's transport in netlog.NewTransport to record it)"
	case o.offered == nil:
		return "nothing recorded (no ALPN, or the transport could not see it)"
	}
	return orNoALPN(o.offered)
}

func (o *outcome) choice() string {
	if !o.tls {
		return "nothing, without TLS"
	}
	return orNoALPN(nonEmpty(o.chosen)) + ", with " + o.version
}

func (o *outcome) issuedBy() string {
	switch {
	case o.issuer != "":
		return o.issuer
	case o.tls:
		return "unknown"
	}
	return "none, without TLS"
}

// cause is the likely one, for whoever reads only the failure.
func (o *outcome) cause(want string) string {
	switch {
	case want == H3:
		return "net/http never speaks h3 and does not follow Alt-Svc; the client needs an HTTP/3 transport"
	case o.spoken == H3:
		return "the client has an HTTP/3 transport; only TCP carries " + want
	case o.copied():
		return "a proxy copied the version of its other side into the status line: the connection is " + o.chosen
	case want == H2 && !o.tls:
		return "h2 needs TLS, or prior knowledge (http.Protocols.SetUnencryptedHTTP2 on both sides)"
	case want == H2:
		return o.causeOfNoH2()
	case o.spoken == H2 && !o.tls:
		return "the client speaks HTTP/2 by prior knowledge (http.Protocols.SetUnencryptedHTTP2)"
	case o.spoken == H2:
		return "both sides have h2; to hold a client to HTTP/1.1 offer nothing else (http.Transport.Protocols, alpn.Only)"
	}
	return "ALPN does not choose between versions of HTTP/1; the server states its own in the status line"
}

const ownTLSConfig = "an http.Transport with its own TLSClientConfig or DialContext needs ForceAttemptHTTP2"

func (o *outcome) causeOfNoH2() string {
	known := len(o.offered) > 0
	offersH2 := slices.Contains(o.offered, H2)
	peer := "server (or an intercepting proxy: issuer " + o.issuedBy() + ")"
	switch {
	case o.chosen == H2:
		return "h2 was chosen, but the client's transport does not speak it: its dialler does TLS itself and offers h2, or it has an empty TLSNextProto"
	case known && !offersH2:
		return "client offered no h2: " + ownTLSConfig
	case o.chosen == "" && offersH2:
		return peer + " took no part in ALPN"
	case o.chosen == "":
		return "client offered no ALPN or server took no part: " + ownTLSConfig
	case offersH2:
		return peer + " speaks no h2"
	}
	return "client offered no h2 (" + ownTLSConfig + ") or " + peer + " speaks no h2"
}
