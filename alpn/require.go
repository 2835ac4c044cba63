package alpn

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// RequireProtocol fails tb at once unless resp came over proto: "h2",
// "http/1.1", "http/1.0" or "h3". The failure says what was offered, chosen
// and spoken, who issued the server's certificate, and what is the likely
// cause.
//
// What was offered is known if the request went through netlog.NewTransport,
// whose bodies have OfferedALPN() []string.
func RequireProtocol(tb testing.TB, resp *http.Response, proto string) {
	tb.Helper()
	if why := mistaken(resp, proto); why != "" {
		tb.Fatalf("alpn: RequireProtocol: %s", why)
		return
	}
	if o := observe(resp); o.spoken != proto || o.copied() {
		tb.Fatalf("alpn: want %s, got %s%s", proto, o.spoken, o.report(proto))
	}
}

func mistaken(resp *http.Response, proto string) string {
	known := []string{H3, H2, HTTP11, HTTP10}
	switch {
	case !slices.Contains(known, proto):
		return fmt.Sprintf("%q is not the name of a version of HTTP; want one of %s", proto, quoted(known))
	case resp == nil:
		return fmt.Sprintf("want %s, got no response: look at the error of the request first", proto)
	}
	return ""
}

// outcome is what a response tells about its connection.
type outcome struct {
	url      string // "" is unknown
	line     string // the version as it stands in the response
	spoken   string
	tls      bool
	version  string   // of TLS
	chosen   string   // "" is no ALPN
	recorded bool     // offered was recorded
	offered  []string // nil: none, or not visible to the transport
	issuer   string   // "" is unknown
}

func observe(resp *http.Response) *outcome {
	o := &outcome{line: resp.Proto, spoken: spoken(resp)}
	if resp.Request != nil && resp.Request.URL != nil {
		o.url = resp.Request.URL.Redacted()
	}
	if body, ok := resp.Body.(interface{ OfferedALPN() []string }); ok {
		o.recorded, o.offered = true, body.OfferedALPN()
	}
	o.observeTLS(resp)
	return o
}

func spoken(resp *http.Response) string {
	switch {
	case resp.ProtoMajor == 2:
		return H2
	case resp.ProtoMajor == 3:
		return H3
	}
	return fmt.Sprintf("http/%d.%d", resp.ProtoMajor, resp.ProtoMinor)
}

// copied reports a status line that cannot be true: HTTP/1.1 was chosen, but
// something in between copied the version of the other side.
func (o *outcome) copied() bool {
	return o.spoken == H2 && (o.chosen == HTTP11 || o.chosen == HTTP10)
}
