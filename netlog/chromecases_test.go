package netlog_test

import (
	"strings"
	"testing"
	"time"

	"example.com/wiretest/netlog"
)

// opening is a connection of socket 4 to a.test that speaks what next says.
func opening(next string) string {
	return `
		1 URL_REQUEST#1 B REQUEST_ALIVE {"url":"https://a.test/x"}
		1 URL_REQUEST#1 B URL_REQUEST_START_JOB {"url":"https://a.test/x","method":"GET"}
		2 URL_REQUEST#1 B HTTP_STREAM_REQUEST
		2 HTTP_STREAM_JOB#3 B HTTP_STREAM_JOB {@2,"destination":"https://a.test"}
		3 SOCKET#4 B SOCKET_ALIVE {@8}
		3 SOCKET#4 B TCP_CONNECT {"address_list":["192.0.2.1:443"]}
		4 SOCKET#4 E TCP_CONNECT {"remote_address":"192.0.2.1:443","local_address":"192.0.2.2:5"}
		4 SOCKET#4 B SSL_CONNECT
		5 SOCKET#4 E SSL_CONNECT {"version":"TLS 1.2","is_resumed":true` + next + `}
		5 SOCKET#4 B SOCKET_IN_USE {@3}
		6 URL_REQUEST#1 - HTTP_STREAM_REQUEST_BOUND_TO_JOB {@3}
		6 URL_REQUEST#1 E HTTP_STREAM_REQUEST
	`
}

const (
	sendH1   = "\n7 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS {\"line\":\"GET /x HTTP/1.1\\r\\n\"}\n"
	answered = "\n8 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {\"headers\":[\"HTTP/1.1 200 OK\"]}\n9 URL_REQUEST#1 E HTTP_TRANSACTION_READ_BODY\n"
	over     = "\n20 URL_REQUEST#1 E REQUEST_ALIVE\n"
)

func onlyConnection(t *testing.T, log *netlog.Log) netlog.Connection {
	t.Helper()
	all := log.Connections()
	if len(all) != 1 {
		t.Fatalf("%d connections:\n%v", len(all), log)
	}
	return all[0]
}

func onlyRequest(t *testing.T, log *netlog.Log) netlog.Request {
	t.Helper()
	all := log.Requests()
	if len(all) != 1 {
		t.Fatalf("%d requests:\n%v", len(all), all)
	}
	return all[0]
}

// TestALPN: a name, none, and not known are three answers.
func TestChromeALPN(t *testing.T) {
	for next, want := range map[string]string{
		`,"next_proto":"http/1.1"`: "http/1.1", `,"next_proto":"h2"`: "h2", `,"next_proto":"unknown"`: netlog.NoALPN, ``: netlog.Unknown,
	} {
		c := onlyConnection(t, readScript(t, opening(next)+sendH1+answered+over))
		if c.ALPN != want || c.Protocol != "http/1.1" || c.TLSVersion != 0x303 || !c.Resumed || c.Host != "a.test:443" {
			t.Errorf("%q: %+v", next, c)
		}
	}
}

func TestChromeTimes(t *testing.T) {
	q := onlyRequest(t, readScript(t, opening("")+sendH1+answered+over))
	at := func(ms int64) time.Time { return time.UnixMilli(1767225600000 + ms) }
	if !q.Start.Equal(at(1)) || !q.Sent.Equal(at(7)) || q.Wait != 6*time.Millisecond || !q.FirstByte.Equal(at(8)) || !q.End.Equal(at(9)) {
		t.Errorf("%+v", q)
	}
	back := strings.Replace(answered, "\n8 ", "\n3 ", 1) // the clock steps back
	if q := onlyRequest(t, readScript(t, opening("")+sendH1+back+over)); q.FirstByte.Before(q.Sent) || q.TimeToFirstByte() != 0 {
		t.Errorf("%+v", q)
	}
}

// TestChromeConnections tells apart how connections end.
func TestChromeConnections(t *testing.T) {
	dial := func(id, host string) string {
		return strings.NewReplacer("ID", id, "HOST", host).Replace(`
			1 SSL_CONNECT_JOB#8ID - SOCKET_POOL_CONNECT_JOB_CREATED {"backup_job":true,"group_id":"pm/https://HOST <https://x same_site>"}
			2 SOCKET#ID B SOCKET_ALIVE {@8ID}
			2 SOCKET#ID B TCP_CONNECT
		`)
	}
	ok := func(id string) string {
		return "\n3 SOCKET#" + id + " E TCP_CONNECT {\"remote_address\":\"192.0.2.1:443\"}\n"
	}
	log := readScript(t, dial("4", "refused.test")+"\n3 SOCKET#4 E TCP_CONNECT {\"net_error\":-102}\n3 SOCKET#4 E SOCKET_ALIVE\n"+
		dial("5", "running.test")+
		dial("6", "untrusted.test")+ok("6")+"\n4 SOCKET#6 B SSL_CONNECT\n5 SOCKET#6 E SSL_CONNECT {\"net_error\":-202}\n"+
		dial("7", "reset.test:8443")+ok("7")+"\n4 SOCKET#7 - SOCKET_READ_ERROR {\"net_error\":-101,\"os_error\":104}\n5 SOCKET#7 E SOCKET_ALIVE\n")
	all := log.Connections()
	if len(all) != 2 {
		t.Fatalf("%v", all)
	}
	a, b := all[0], all[1]
	if a.Host != "untrusted.test:443" || a.CloseReason != "TLS failed (ERR_CERT_AUTHORITY_INVALID)" || !a.Handshaken.IsZero() || a.ALPN != netlog.Unknown || a.OpenReason != "the first attempt was slow" {
		t.Errorf("%+v", a)
	}
	if b.Host != "reset.test:8443" || b.CloseReason != "ERR_CONNECTION_RESET" || b.Closed.IsZero() || b.Used() {
		t.Errorf("%+v", b)
	}
}

// TestChromeRetry: what was sent twice is two requests; a try that came to
// nothing is none.
func TestChromeRetry(t *testing.T) {
	log := readScript(t, opening("")+sendH1+`
		8 URL_REQUEST#1 B HTTP_STREAM_REQUEST
		9 URL_REQUEST#1 E HTTP_STREAM_REQUEST
		9 URL_REQUEST#1 B HTTP_STREAM_REQUEST
		10 URL_REQUEST#1 - HTTP_STREAM_REQUEST_BOUND_TO_JOB {@33}
		10 HTTP_STREAM_JOB#33 - SOCKET_POOL_BOUND_TO_SOCKET {@44}
		10 URL_REQUEST#1 E HTTP_STREAM_REQUEST
		11 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS
		12 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 100 Continue"]}
		13 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 401 Unauthorized"]}
		14 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS
		15 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.0 200 OK"]}
	`+over)
	all := log.Requests()
	if len(all) != 3 || all[0].Err != "not answered, and sent once more" || all[1].Status != 401 || all[2].Status != 200 || all[2].Protocol != "http/1.0" {
		t.Fatalf("%v", all)
	}
	if all[1].Wait != 3*time.Millisecond || all[1].Connection == nil || all[1].Connection.ID == all[0].Connection.ID || all[2].Connection.ID != all[1].Connection.ID {
		t.Errorf("%+v %+v", all[1], all[2])
	}
}

func TestChromeRedirect(t *testing.T) {
	log := readScript(t, opening("")+sendH1+`
		8 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 302 Found","Location: /y"]}
		9 URL_REQUEST#1 E URL_REQUEST_START_JOB
		10 URL_REQUEST#1 B URL_REQUEST_START_JOB {"url":"https://a.test/y","method":"GET"}
		11 URL_REQUEST#1 B HTTP_STREAM_REQUEST
		12 URL_REQUEST#1 - HTTP_STREAM_REQUEST_BOUND_TO_JOB {@3}
		12 URL_REQUEST#1 E HTTP_STREAM_REQUEST
		13 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS
		14 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 304 Not Modified"]}
		15 URL_REQUEST#1 - URL_REQUEST_JOB_FILTERED_BYTES_READ {"byte_count":500}
	`+over)
	all := log.Requests()
	if len(all) != 2 || all[0].URL != "https://a.test/x" || all[1].URL != "https://a.test/y" || all[0].End.IsZero() ||
		all[1].Wait != 3*time.Millisecond || all[1].BodyBytesDown != 0 || onlyConnection(t, log).Requests != 2 {
		t.Errorf("%v\n%v", all, log)
	}
}

// TestChromeCache: what no connection was asked for is no request.
func TestChromeCache(t *testing.T) {
	log := readScript(t, `
		1 URL_REQUEST#1 B REQUEST_ALIVE {"url":"https://a.test/x"}
		1 URL_REQUEST#1 B URL_REQUEST_START_JOB {"url":"https://a.test/x","method":"GET"}
		2 URL_REQUEST#1 E HTTP_TRANSACTION_READ_BODY
		2 URL_REQUEST#1 - URL_REQUEST_JOB_FILTERED_BYTES_READ {"byte_count":500}
	`+over)
	if len(log.Requests()) != 0 {
		t.Errorf("%v", log.Requests())
	}
}

func TestChromeBodyBytes(t *testing.T) {
	const filtered = "\n9 URL_REQUEST#1 - URL_REQUEST_JOB_FILTERED_BYTES_READ {\"byte_count\":500}\n"
	if q := onlyRequest(t, readScript(t, opening("")+sendH1+answered+filtered+filtered+over)); q.BodyBytesDown != 1000 {
		t.Errorf("%d bytes", q.BodyBytesDown)
	}
	const raw = "\n9 URL_REQUEST#1 - URL_REQUEST_JOB_BYTES_READ {\"byte_count\":100}\n"
	if q := onlyRequest(t, readScript(t, opening("")+sendH1+answered+filtered+raw+over)); q.BodyBytesDown != 100 {
		t.Errorf("%d bytes before decoding", q.BodyBytesDown)
	}
}

// TestChromeH2 has what an HTTP/2 session says: its end, a limit, a reset.
func TestChromeH2(t *testing.T) {
	log := readScript(t, opening(`,"next_proto":"h2"`)+`
		6 HTTP2_SESSION#5 B HTTP2_SESSION {"host":"a.test:443","proxy":"DIRECT"}
		6 HTTP2_SESSION#5 - HTTP2_SESSION_INITIALIZED {@4,"protocol":"h2"}
		6 HTTP_STREAM_JOB#3 - HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET {@5}
		6 HTTP2_SESSION#5 - HTTP2_SESSION_RECV_SETTING {"id":3,"value":77}
		7 URL_REQUEST#1 - HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS
		7 HTTP2_SESSION#5 - HTTP2_SESSION_SEND_HEADERS {@3,"stream_id":9}
		8 HTTP2_SESSION#5 - HTTP2_SESSION_RECV_RST_STREAM {"error_code":"11 (ENHANCE_YOUR_CALM)","stream_id":9}
		8 HTTP2_SESSION#5 - HTTP2_SESSION_RECV_GOAWAY {"error_code":"2 (INTERNAL_ERROR)","last_accepted_stream_id":7}
		9 HTTP2_SESSION#5 - HTTP2_SESSION_CLOSE {"description":"Draining.","net_error":-101}
		9 SOCKET#4 E SOCKET_ALIVE
		9 URL_REQUEST#1 E REQUEST_ALIVE {"net_error":-337}
	`)
	c, q := onlyConnection(t, log), onlyRequest(t, log)
	if c.Protocol != "h2" || c.StreamLimit != 77 || c.GoAway != "GOAWAY INTERNAL_ERROR last stream 7, received" || c.CloseReason != "Draining (ERR_CONNECTION_RESET)" {
		t.Errorf("%+v", c)
	}
	if q.Stream != 9 || q.Err != "reset by the server: ENHANCE_YOUR_CALM" || q.Connection.ID != c.ID {
		t.Errorf("%+v", q)
	}
}

// TestChromeSameURL: as many stalls as requests wait for it, however often it is
// said.
func TestChromeSameURL(t *testing.T) {
	var b strings.Builder
	b.WriteString("1 HTTP2_SESSION#50 - HTTP2_SESSION_RECV_SETTING {\"id\":\"3 (SETTINGS_MAX_CONCURRENT_STREAMS)\",\"value\":1}\n")
	for _, id := range []string{"1", "2", "3"} {
		b.WriteString(strings.ReplaceAll(`
			1 URL_REQUEST#N B URL_REQUEST_START_JOB {"url":"https://a.test/x","method":"GET"}
			1 URL_REQUEST#N B HTTP_STREAM_REQUEST
			2 URL_REQUEST#N - HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION {@50}
			2 URL_REQUEST#N E HTTP_STREAM_REQUEST
			3 HTTP2_SESSION#50 - HTTP2_SESSION_STALLED_MAX_STREAMS {"max_concurrent_streams":1,"url":"https://a.test/x"}
		`, "#N", "#"+id))
	}
	b.WriteString(`
		4 HTTP2_SESSION#50 - HTTP2_SESSION_STALLED_MAX_STREAMS {"url":"https://a.test/x"}
		5 HTTP2_SESSION#50 - HTTP2_SESSION_STALLED_MAX_STREAMS {"url":"https://a.test/other"}
		6 URL_REQUEST#1 - HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS
		8 URL_REQUEST#2 - HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS
		9 URL_REQUEST#3 E REQUEST_ALIVE {"net_error":-3}
	`)
	log := readScript(t, b.String())
	stalls := log.Stalls()
	if len(stalls) != 3 || stalls[0].Duration != 3*time.Millisecond || stalls[1].Duration != 5*time.Millisecond || stalls[2].Duration != 6*time.Millisecond {
		t.Errorf("%v", stalls)
	}
	if c := onlyConnection(t, log); c.Requests != 2 || c.Protocol != "h2" || c.ALPN != netlog.Unknown || c.StreamLimit != 1 { // of the session nothing else is in the log
		t.Errorf("%+v", c)
	}
	if q := log.Requests()[2]; q.Err != "ERR_ABORTED" || !q.Sent.IsZero() || q.Connection != nil {
		t.Errorf("%+v", q)
	}
}

// TestChromePoolStalls: each wait of a job is a stall, however often it is said,
// and a job that has left waits no more.
func TestChromePoolStalls(t *testing.T) {
	stalls := readScript(t, `
		1 HTTP_STREAM_JOB#3 B HTTP_STREAM_JOB {@2,"destination":"https://a.test"}
		1 HTTP_STREAM_JOB#3 - SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP
		2 HTTP_STREAM_JOB#3 - SOCKET_POOL_STALLED_MAX_SOCKETS_PER_GROUP
		3 HTTP_STREAM_JOB#3 E SOCKET_POOL
		4 HTTP_STREAM_JOB#3 - SOCKET_POOL_STALLED_MAX_SOCKETS
		9 NONE#1 - END_OF_LOG
	`).Stalls()
	if len(stalls) != 2 || stalls[0].Duration != 2*time.Millisecond || stalls[0].Request != 0 || stalls[0].Host != "a.test:443" ||
		stalls[1].Kind != netlog.StalledMaxSockets || stalls[1].Duration != 5*time.Millisecond {
		t.Errorf("%v", stalls)
	}
	stalls = readScript(t, `
		1 HTTP_STREAM_POOL_JOB#5 - HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND {@9}
		1 HTTP_STREAM_POOL_JOB#6 - HTTP_STREAM_POOL_ATTEMPT_MANAGER_JOB_BOUND {@9}
		2 HTTP_STREAM_POOL_JOB#5 E HTTP_STREAM_POOL_JOB_ALIVE
		3 HTTP_STREAM_POOL_ATTEMPT_MANAGER#9 - HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP {"can_attempt":5}
		4 HTTP_STREAM_POOL_ATTEMPT_MANAGER#9 - HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP {"can_attempt":5}
		5 HTTP_STREAM_POOL_ATTEMPT_MANAGER#9 - HTTP_STREAM_POOL_ATTEMPT_MANAGER_CAN_ATTEMPT_TCP {"can_attempt":1}
		6 HTTP_STREAM_POOL_JOB#6 E HTTP_STREAM_POOL_JOB_ALIVE
	`).Stalls()
	if len(stalls) != 1 || stalls[0].Kind != netlog.StalledPool || stalls[0].Duration != 3*time.Millisecond {
		t.Errorf("%v", stalls)
	}
}

// TestChromeInformational: an answer that is not final is none.
func TestChromeInformational(t *testing.T) {
	q := onlyRequest(t, readScript(t, opening("")+sendH1+"\n8 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {\"headers\":[\"HTTP/1.1 103 Early Hints\"]}\n"))
	if q.Status != 0 || !q.FirstByte.IsZero() {
		t.Errorf("%+v", q)
	}
}

// TestChromeQUIC is as Cronet had it in 2019, with Google's QUIC and its names
// of events.
func TestChromeQUIC(t *testing.T) {
	lines := `
		1 URL_REQUEST#1 B REQUEST_ALIVE {"url":"https://a.test/x"}
		1 URL_REQUEST#1 B URL_REQUEST_START_JOB {"url":"https://a.test/x","method":"GET","load_flags":0}
		1 URL_REQUEST#1 B HTTP_STREAM_REQUEST
		2 HTTP_STREAM_JOB#3 B HTTP_STREAM_JOB {@2,"original_url":"https://a.test/","url":"https://a.test/"}
		2 QUIC_STREAM_FACTORY_JOB#6 B QUIC_STREAM_FACTORY_JOB {"server_id":"https://a.test"}
		2 HTTP_STREAM_JOB#3 - HTTP_STREAM_JOB_BOUND_TO_QUIC_STREAM_FACTORY_JOB {@6}
		3 QUIC_SESSION#7 B QUIC_SESSION {"host":"a.test","port":443,"peer_address":"192.0.2.1:443","self_address":"192.0.2.2:9"}
		3 QUIC_SESSION#7 - QUIC_SESSION_VERSION_NEGOTIATED {"version":"vvv"}
		4 CERT_VERIFIER_JOB#9 B CERT_VERIFIER_JOB {"certificates":["PEM"]}
		4 QUIC_SESSION#7 - CERT_VERIFIER_REQUEST_BOUND_TO_JOB {@9}
		5 QUIC_SESSION#7 - QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE
		5 URL_REQUEST#1 - HTTP_STREAM_REQUEST_BOUND_TO_JOB {@3}
		5 URL_REQUEST#1 E HTTP_STREAM_REQUEST
		5 URL_REQUEST#1 - HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION {@7}
		6 URL_REQUEST#1 - HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS {"quic_stream_id":5}
		6 QUIC_SESSION#7 - QUIC_SESSION_GOAWAY_FRAME_RECEIVED {"last_good_stream_id":5}
		8 QUIC_SESSION#7 - QUIC_SESSION_CLOSED {"from_peer":true,"quic_error":25}
		8 QUIC_SESSION#7 - QUIC_SESSION_CLOSED {"from_peer":true,"quic_error":25}
		8 QUIC_SESSION#7 E QUIC_SESSION
	`
	cert := strings.ReplaceAll(certificate(t, "a.test", "Some CA"), "\n", `\n`)
	for version, proto := range map[string]string{"Q046": "quic", "RFCv1": "h3", "draft29": "h3"} {
		log := readScript(t, strings.NewReplacer("vvv", version, "PEM", cert).Replace(lines)+answered+over)
		c, q := onlyConnection(t, log), onlyRequest(t, log)
		if c.Protocol != proto || q.Protocol != proto || c.Network != "udp" || c.Issuer != "Some CA" || c.Host != "a.test:443" ||
			c.Remote != "192.0.2.1:443" || c.CloseReason != "closed by the server" || c.GoAway != "GOAWAY last stream 5, received" || c.Handshaken.IsZero() {
			t.Errorf("%s: %+v", version, c)
		}
		if q.Stream != 5 || q.Connection.ID != c.ID || (c.ALPN == netlog.Unknown) != (proto == "quic") {
			t.Errorf("%s: %+v on %+v", version, q, c)
		}
	}
}

// TestChromeTunnelOverTLS: through a proxy that speaks TLS and http/1.1 both
// handshakes are on one socket. The origin's counts.
func TestChromeTunnelOverTLS(t *testing.T) {
	head, tail, _ := strings.Cut(opening(`,"next_proto":"h2"`), "5 SOCKET#4 B SOCKET_IN_USE")
	c := onlyConnection(t, readScript(t, head+`
		5 SOCKET#4 - SSL_SOCKET_BYTES_SENT {"byte_count":99}
		5 SOCKET#4 - HTTP_TRANSACTION_SEND_TUNNEL_HEADERS {"line":"CONNECT b.test:8443 HTTP/1.1\r\n"}
		5 SOCKET#4 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS {"line":"CONNECT b.test:8443 HTTP/1.1\r\n"}
		5 SOCKET#4 - HTTP_TRANSACTION_READ_TUNNEL_RESPONSE_HEADERS {"headers":["HTTP/1.1 200 OK"]}
		5 SOCKET#4 B SSL_CONNECT
		5 SOCKET#4 E SSL_CONNECT {"version":"TLS 1.3","next_proto":"http/1.1"}
		5 SOCKET#4 - SSL_SOCKET_BYTES_SENT {"byte_count":7}
		5 SOCKET#4 B SOCKET_IN_USE`+tail+sendH1+answered+over))
	if c.Host != "b.test:8443" || c.Proxy != "192.0.2.1:443" || c.ALPN != "http/1.1" || c.TLSVersion != 0x304 || c.BytesUp != 7 || c.Requests != 1 {
		t.Errorf("%+v", c)
	}
	refused := onlyConnection(t, readScript(t, head+`
		5 SOCKET#4 - HTTP_TRANSACTION_SEND_TUNNEL_HEADERS {"line":"CONNECT b.test:8443 HTTP/1.1\r\n"}
		5 SOCKET#4 - HTTP_TRANSACTION_READ_TUNNEL_RESPONSE_HEADERS {"headers":["HTTP/1.1 407 Proxy Authentication Required"]}`))
	if refused.CloseReason != "the proxy answered CONNECT with 407" || refused.Used() || refused.ALPN != netlog.Unknown {
		t.Errorf("%+v", refused)
	}
}

// TestChromeWithoutBeginning is a log of which the beginning was written over:
// the address of the request is in its head.
func TestChromeWithoutBeginning(t *testing.T) {
	_, late, _ := strings.Cut(opening(`,"next_proto":"http/1.1"`), "4 SOCKET#4 B SSL_CONNECT")
	for _, head := range []string{
		`7 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS {"line":"GET /x HTTP/1.1\r\n","headers":["Host: a.test","Accept: */*"]}`,
		`7 URL_REQUEST#1 - HTTP_TRANSACTION_SEND_REQUEST_HEADERS {"headers":[":method: GET",":authority: a.test",":scheme: https",":path: /x"]}`,
	} {
		log := readScript(t, late+head+answered+over)
		c, q := onlyConnection(t, log), onlyRequest(t, log)
		if q.URL != "https://a.test/x" || q.Method != "GET" || q.Status != 200 || c.ALPN != "http/1.1" || c.Requests != 1 || c.BytesUp != -1 || c.Host != "a.test:443" {
			t.Errorf("%+v on %+v", q, c)
		}
	}
}

// TestChromeBackground: a request without an initiator is the browser's own only
// where others have one.
func TestChromeBackground(t *testing.T) {
	request := func(id, url, kind, initiator string) string {
		return strings.NewReplacer("#N", "#"+id, "ADDRESS", url, "KIND", kind, "WHO", initiator).Replace(`
			1 URL_REQUEST#N B URL_REQUEST_START_JOB {"url":"ADDRESS","method":"GET","request_type":"KIND","initiator":"WHO"}
			1 URL_REQUEST#N B HTTP_STREAM_REQUEST
			2 URL_REQUEST#N E HTTP_STREAM_REQUEST
			2 URL_REQUEST#N E REQUEST_ALIVE {"net_error":-101}
		`)
	}
	own := request("1", "https://update.test/", "other", "not an origin")
	page := request("2", "https://a.test/", "main frame", "not an origin") + request("3", "https://a.test/x", "other", "https://a.test")
	if log := readScript(t, own); len(log.Requests()) != 1 || log.Background() != 0 {
		t.Errorf("%v", log)
	}
	if log := readScript(t, own+page); len(log.Requests()) != 2 || log.Background() != 1 {
		t.Errorf("%v", log)
	}
}

// TestChromeAltSvc: an alternative that works is used.
func TestChromeAltSvc(t *testing.T) {
	log := readScript(t, opening(`,"next_proto":"h2"`)+sendH1+`
		8 URL_REQUEST#1 - HTTP_TRANSACTION_READ_RESPONSE_HEADERS {"headers":["HTTP/1.1 200","alt-svc: h3=\":443\"; ma=60, h3-29=\"b.test:8443\", clear"]}
		9 HTTP_STREAM_JOB_CONTROLLER#30 B HTTP_STREAM_JOB_CONTROLLER {"url":"https://a.test/y"}
		9 HTTP_STREAM_JOB_CONTROLLER#30 - HTTP_STREAM_JOB_CONTROLLER_ALT_SVC_FOUND {"alt_svc":"quic a.test:443, expires 2030-01-01","is_broken":false}
		9 URL_REQUEST#31 B URL_REQUEST_START_JOB {"url":"https://a.test/y","method":"GET"}
		9 URL_REQUEST#31 B HTTP_STREAM_REQUEST
		9 URL_REQUEST#31 - HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION {@33}
		9 URL_REQUEST#31 - HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS
	`)
	all := log.AltServices()
	if len(all) != 2 || all[0].String() != "a.test:443 has h3 at a.test:443: 1 request over it" || all[1].String() != "a.test:443 has h3-29 at b.test:8443: 0 requests over it" {
		t.Errorf("%v", all)
	}
	if log.Findings() != nil {
		t.Errorf("%v", log.Findings())
	}
}
