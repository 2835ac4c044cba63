package netlog_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/wiretest/netlog"
)

// A transport without any setting speaks HTTP/2, although what records it gives
// its clone a dialer, for which net/http would take that back.
func TestDefaultTransportSpeaksH2(t *testing.T) {
	srv := serve(t, "h2", page)
	for name, base := range map[string]*http.Transport{"fresh": {}, "used": used(t)} {
		base.Clone()                                   // decides, and makes the TLSClientConfig;
		base.TLSClientConfig.InsecureSkipVerify = true // set before, one would turn HTTP/2 off
		client, log := client(t, base)
		get(t, client, srv.URL)
		if c := log.Connections()[0]; c.Protocol != "h2" {
			t.Errorf("%s: %s, offered %v", name, c.Protocol, c.Offered)
		}
	}
}

func used(t *testing.T) *http.Transport {
	tr, srv := new(http.Transport), serve(t, "http", page)
	get(t, &http.Client{Transport: tr}, srv.URL)
	tr.CloseIdleConnections()
	return tr
}

func TestTransportWithoutH2StaysSo(t *testing.T) {
	srv := serve(t, "h2", page)
	for name, change := range map[string]func(*http.Transport){
		"own dialer":         func(tr *http.Transport) { tr.ForceAttemptHTTP2 = false },
		"empty TLSNextProto": func(tr *http.Transport) { tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} },
	} {
		base := srv.Client().Transport.(*http.Transport)
		base = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: base.TLSClientConfig.RootCAs}, DialContext: new(net.Dialer).DialContext}
		change(base)
		client, log := client(t, base)
		get(t, client, srv.URL)
		if c := log.Connections()[0]; c.Protocol != "http/1.1" || c.Offered != nil {
			t.Errorf("%s: %s, offered %v", name, c.Protocol, c.Offered)
		}
	}
}

func TestDialTLSContextOfTheUser(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := recorded(t, srv, func(tr *http.Transport) {
		cfg := tr.TLSClientConfig.Clone()
		cfg.NextProtos = []string{"h2"}
		tr.DialTLSContext = (&tls.Dialer{Config: cfg}).DialContext
	})
	get(t, client, srv.URL)
	get(t, client, srv.URL)
	netlog.RequireConnections(t, log, 1, "h2", netlog.Used())
	c := log.Connections()[0]
	equal(t, "ALPN", c.ALPN, "h2")
	equal(t, "offered", c.Offered == nil, true)
	equal(t, "opened before handshaken", c.Opened.Before(c.Handshaken), true)
}

func TestOtherRoundTripper(t *testing.T) {
	srv := serve(t, "h2", page)
	client, log := client(t, other{srv.Client().Transport})
	get(t, client, srv.URL)
	get(t, client, srv.URL)
	netlog.RequireConnections(t, log, 1, "h2", netlog.Used())
	c := log.Connections()[0]
	equal(t, "requests", c.Requests, 2)
	equal(t, "host", c.Host, srv.Listener.Addr())
}

type other struct{ http.RoundTripper }

// A RoundTripper that has no connections is still one with requests.
func TestRoundTripperThatTellsNothing(t *testing.T) {
	client, log := client(t, canned{})
	get(t, client, "https://a.test/")
	equal(t, "connections", len(log.Connections()), 0)
	q := log.Requests(netlog.Status(203))[0]
	equal(t, "protocol", q.Protocol, "http/1.1")
}

type canned struct{}

func (canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 203, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader("x"))}, nil
}

func TestNilLogPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "netlog: NewTransport: log is nil") {
			t.Error(got)
		}
	}()
	netlog.NewTransport(nil, nil)
}
