package netlog_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

// checkFindings: a log has what it has, and nothing else.
func checkFindings(t *testing.T, name string, log *netlog.Log, want *answer) {
	t.Helper()
	var got []string
	for _, f := range log.Findings() {
		got = append(got, f.Host+": "+f.Text)
	}
	if all := strings.Join(got, "; "); all != want.finding {
		t.Errorf("got %s, want %s", all, want.finding)
	}
	events := log.Events()
	for _, f := range log.Findings() {
		if len(f.Evidence) == 0 {
			t.Errorf("%v, without evidence", f)
		}
		for _, e := range f.Evidence {
			if n := events[e.Event]; e.Count < 1 || e.Count > n || len(e.Sources) == 0 {
				t.Errorf("%v, of %d sources, but the file has it %d times", e, len(e.Sources), n)
			}
		}
	}
	checkEvidenceIn(t, plainText(t, name), log)
}

// checkEvidenceIn: the events and sources that findings name are in the file.
func checkEvidenceIn(t *testing.T, text string, log *netlog.Log) {
	t.Helper()
	events := log.Events()
	for _, f := range log.Findings() {
		for _, e := range f.Evidence {
			if events[e.Event] == 0 {
				t.Errorf("%v: the file has no such event", e)
			}
			for _, id := range e.Sources {
				if !strings.Contains(text, fmt.Sprintf(`"source":{"id":%d,`, id)) {
					t.Errorf("%v: source %d is not in the file", e, id)
				}
			}
		}
	}
}

func TestEvidenceInWords(t *testing.T) {
	const want = "localhost:18443: stream limit 4 reached, 8 requests waited, median 510ms\n" +
		"  12 × HTTP2_SESSION_STALLED_MAX_STREAMS (source 146)\n"
	if got := readLog(t, "h2").Findings()[0].String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const broken = "h3.test:18447: QUIC broken, fell back to h2\n" +
		"  1 × QUIC_SESSION_POOL_JOB_CONNECT: QUIC was not connected: ERR_QUIC_HANDSHAKE_FAILED (source 128)\n" +
		"  1 × HTTP_SERVER_PROPERTIES_UPDATE_PREFS: the browser calls h3.test:18999 broken (source 7)\n"
	if got := readLog(t, "altbroken").Findings()[0].String(); got != broken {
		t.Errorf("got %q, want %q", got, broken)
	}
	many := netlog.Evidence{Event: "X", Count: 10, Says: "so", Sources: []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}
	if got := many.String(); got != "10 × X: so (source 1, 2, 3, 4, 5, 6, 7, 8 and 2 more)" {
		t.Errorf("%q", got)
	}
}

// TestDowngradeByTheBrowsersMemory: that the host speaks h2 is known from an
// earlier visit.
func TestDowngradeByTheBrowsersMemory(t *testing.T) {
	text := strings.Replace(plainText(t, "h1tls"), `"params":{"servers":[],"version":5}`,
		`"params":{"servers":[{"server":"https://localhost:18444","supports_spdy":true}],"version":5}`, 1)
	var found []netlog.Finding
	for _, f := range mustRead(t, text, nil).Findings() {
		if f.Kind == netlog.FoundDowngrade {
			found = append(found, f)
		}
	}
	const want = "localhost:18444: downgraded: http/1.1 on a host that speaks h2\n" +
		"  1 × HTTP_SERVER_PROPERTIES_UPDATE_PREFS: the browser knows that the host speaks h2 (source 7)\n" +
		"  6 × SSL_CONNECT: next_proto http/1.1 (source 91, 117, 138, 147, 156, 165)\n"
	if len(found) != 1 || found[0].String() != want {
		t.Errorf("got %v\nwant %s", found, want)
	}
}

// TestFindingsOnLegs: a proxy's own record shows both, without a browser.
func TestFindingsOnLegs(t *testing.T) {
	log := new(netlog.Log)
	var up *netlog.ConnectionRecord
	for i := range 2 {
		in := log.Open(netlog.Connection{Leg: down, Host: "shop.test:443", Issuer: "proxy CA", TLSVersion: 0x304, ALPN: "http/1.1", Protocol: "http/1.1"})
		if i == 0 {
			up = log.Open(netlog.Connection{Leg: "upstream", Host: "shop.test:443", Issuer: "origin CA", TLSVersion: 0x304, ALPN: "h2", Protocol: "h2"})
		}
		asked := in.Request(netlog.Request{URL: "https://shop.test/"})
		up.Request(netlog.Request{URL: "https://shop.test/"}).Pair(asked)
		log.Stall(netlog.Stall{Leg: down, Kind: netlog.StalledMaxSocketsPerGroup, Host: "shop.test:443", Request: 1, Duration: time.Second})
	}
	const want = `shop.test:443: intercepted: issuer proxy CA
  2 × SSL_CERTIFICATES_RECEIVED: the certificate is by proxy CA, and by origin CA on leg upstream
shop.test:443: downgraded: http/1.1 on a host that speaks h2
  1 × SSL_CONNECT: next_proto h2 on leg upstream
  2 × SSL_CONNECT: next_proto http/1.1 on leg downstream
shop.test:443: 2 connections, 1 request waited, median 1s
  2 × SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP: the limit of connections to one host
`
	var got strings.Builder
	for _, f := range log.Findings() {
		got.WriteString(f.String())
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestInterception is told by where the certificate leads, and what for.
func TestInterception(t *testing.T) {
	intercepted := "intercepted: issuer Proxy CA"
	for name, c := range map[string]struct {
		host, issuer, proxy string
		known               bool
		opt                 *netlog.ReadOptions
		want                string
	}{
		"a public name by an unknown root":    {host: "shop.com", issuer: "Proxy CA", want: intercepted},
		"a public name by a root of the web":  {host: "shop.com", issuer: "Web CA", known: true},
		"a private name without a proxy":      {host: "shop.test", issuer: "Own CA"},
		"a private name behind a proxy":       {host: "shop.test", issuer: "Proxy CA", proxy: "p.test:3128", want: intercepted},
		"behind a proxy, vouching for itself": {host: "shop.test", issuer: "shop.test", proxy: "p.test:3128"},
		"behind a proxy, by the host's own":   {host: "shop.test", issuer: "Own CA", proxy: "p.test:3128", opt: &netlog.ReadOptions{Issuers: []string{"Own CA"}}},
		"an address":                          {host: "10.1.2.3", issuer: "Own CA"},
	} {
		log := mustRead(t, script(interceptScript(t, c.host, c.issuer, c.proxy, c.known)), c.opt)
		conns := log.Connections()
		if len(conns) != 1 || conns[0].Issuer != c.issuer || conns[0].Proxy != c.proxy || conns[0].Host != c.host+":443" {
			t.Errorf("%s: %+v", name, conns)
		}
		got := ""
		for _, f := range log.Findings() {
			got += f.Text
			if len(f.Evidence) != 2 || f.Evidence[0].Sources[0] != 4 || f.Evidence[1].Sources[0] != 9 {
				t.Errorf("%s: %v", name, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func interceptScript(t *testing.T, host, issuer, proxy string, known bool) string {
	certs, _ := json.Marshal([]string{certificate(t, host, issuer)})
	chain := "direct://"
	if proxy != "" {
		chain = proxy
	}
	return fmt.Sprintf(`
		1 URL_REQUEST#1 B REQUEST_ALIVE {"url":"https://%[1]s/"}
		1 URL_REQUEST#1 B URL_REQUEST_START_JOB {"url":"https://%[1]s/","method":"GET"}
		1 URL_REQUEST#1 B HTTP_STREAM_REQUEST
		1 URL_REQUEST#1 - HTTP_STREAM_JOB_CONTROLLER_BOUND {@2}
		1 HTTP_STREAM_JOB_CONTROLLER#2 - HTTP_STREAM_JOB_CONTROLLER_PROXY_SERVER_RESOLVED {"proxy_chain":"[%[2]s]"}
		1 HTTP_STREAM_JOB#3 B HTTP_STREAM_JOB {@2,"destination":"https://%[1]s"}
		2 SOCKET#4 B SOCKET_ALIVE {@8}
		2 SOCKET#4 B TCP_CONNECT
		3 SOCKET#4 E TCP_CONNECT {"remote_address":"192.0.2.1:443","local_address":"192.0.2.2:5"}
		3 SOCKET#4 B SSL_CONNECT
		4 SOCKET#4 - SSL_CERTIFICATES_RECEIVED {"certificates":%[3]s}
		4 CERT_VERIFIER_JOB#9 B CERT_VERIFIER_JOB {"certificates":%[3]s}
		4 SOCKET#4 - CERT_VERIFIER_REQUEST_BOUND_TO_JOB {@9}
		5 CERT_VERIFIER_JOB#9 E CERT_VERIFIER_JOB {"cert_status":0,"is_issued_by_known_root":%[4]v}
		5 SOCKET#4 E SSL_CONNECT {"version":"TLS 1.3","next_proto":"http/1.1","is_resumed":false}
		5 SOCKET#4 B SOCKET_IN_USE {@3}
		5 URL_REQUEST#1 - HTTP_STREAM_REQUEST_BOUND_TO_JOB {@3}
		5 URL_REQUEST#1 E HTTP_STREAM_REQUEST
		5 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS
		9 URL_REQUEST#1 E REQUEST_ALIVE`, host, chain, certs, known)
}

// certificate is for host, by an authority of the name issuer, or by itself.
func certificate(t *testing.T, host, issuer string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, NotAfter: time.Now().Add(time.Hour)}
	parent := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: issuer}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
