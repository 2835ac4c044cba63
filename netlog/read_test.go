package netlog_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
)

// answer is what is right for one log.
type answer struct {
	host           string
	opened, used   int
	requests       int
	proto, alpn    string
	offered        string
	issuer         string
	proxy          string
	limit          int
	stalls         int
	kind           string
	finding        string
	stallEvents    int // that the file has of the stalls
	background     int
	alternatives   int
	resumed        int
	closed         string // why the used ones were
	unlinked       bool   // the log does not say which request was on which connection
	quic, redacted bool
}

func answers() map[string]answer {
	const h2Stalled, tls = netlog.StalledMaxStreams, "h2,http/1.1"
	const streamLimit = "stream limit 4 reached, 8 requests waited, median "
	h2 := answer{
		host: "localhost:18443", opened: 2, used: 1, requests: 14, proto: "h2", alpn: "h2", offered: tls, issuer: "localhost",
		limit: 4, stalls: 8, kind: h2Stalled, stallEvents: 11, background: 5, closed: "Closing all sessions (ERR_ABORTED)",
	}
	h1 := answer{
		host: "localhost:18444", opened: 6, used: 6, requests: 14, proto: "http/1.1", alpn: "http/1.1", offered: tls, issuer: "localhost",
		stalls: 6, kind: netlog.StalledMaxSocketsPerGroup, stallEvents: 6, background: 5, resumed: 4, closed: "Socket pool destroyed",
	}
	all := map[string]answer{"h1tls": h1, "h2": h2, "hev3_h1": h1, "hev3_h2": h2, "httpproxy": h2, "httpsproxy_h1": h1, "ndjson_h2": h2, "bounded": h2, "killed": h2, "redacted": h2}
	edit := func(name string, change func(*answer)) {
		a := all[name]
		change(&a)
		all[name] = a
	}
	edit("h2", func(a *answer) { a.requests, a.stallEvents = 13, 12 })
	edit("hev3_h1", func(a *answer) {
		a.kind, a.resumed, a.closed, a.unlinked, a.stallEvents = netlog.StalledPoolGroup, 2, "closed", true, 0
	})
	edit("hev3_h2", func(a *answer) { a.stallEvents = 12 })
	edit("httpproxy", func(a *answer) { a.proxy = "127.0.0.1:18448" })
	edit("httpsproxy_h1", func(a *answer) {
		a.proxy, a.resumed, a.background, a.closed = "127.0.0.1:18449", 3, 4, "Remote side closed connection"
	})
	edit("killed", func(a *answer) { a.background, a.closed = 6, "" })
	edit("redacted", func(a *answer) {
		*a = answer{
			host: netlog.Redacted, opened: 2, used: 1, requests: 19, proto: "h2", alpn: netlog.Redacted, issuer: netlog.Redacted,
			stalls: 8, kind: h2Stalled, stallEvents: 9, closed: "closed", redacted: true,
		}
	})
	all["quic"] = answer{
		host: "h3.test:18446", opened: 1, used: 1, requests: 2, proto: "h3", alpn: "h3", issuer: "localhost",
		background: 4, closed: "closed: net error (ERR_ABORTED)", quic: true,
	}
	all["altbroken"] = answer{
		host: "h3.test:18447", opened: 1, used: 1, requests: 2, proto: "h2", alpn: "h2", offered: tls, issuer: "localhost",
		limit: 250, background: 4, closed: "Closing all sessions (ERR_ABORTED)", alternatives: 1,
	}
	for name, finding := range map[string]string{
		"h1tls":         "localhost:18444: 6 connections, 6 requests waited, median 295ms",
		"hev3_h1":       "localhost:18444: 6 connections, 6 requests waited, median 311ms",
		"httpsproxy_h1": "localhost:18444: 6 connections, 6 requests waited, median 8ms",
		"h2":            "localhost:18443: " + streamLimit + "510ms",
		"hev3_h2":       "localhost:18443: " + streamLimit + "496ms",
		"httpproxy":     "localhost:18443: " + streamLimit + "444ms",
		"ndjson_h2":     "localhost:18443: " + streamLimit + "465ms",
		"bounded":       "localhost:18443: " + streamLimit + "455ms",
		"killed":        "localhost:18443: " + streamLimit + "448.5ms",
		"redacted":      "redacted: stream limit reached, 8 requests waited, median 432ms",
		"altbroken":     "h3.test:18447: QUIC broken, fell back to h2",
	} {
		edit(name, func(a *answer) { a.finding = finding })
	}
	return all
}

// TestRealLogs reads each once, and asks it everything.
func TestRealLogs(t *testing.T) {
	for name, want := range answers() {
		t.Run(name, func(t *testing.T) {
			log := readLog(t, name)
			t.Run("answers", func(t *testing.T) { checkAnswers(t, log, &want) })
			t.Run("findings", func(t *testing.T) { checkFindings(t, name, log, &want) })
			t.Run("waterfall", func(t *testing.T) { checkWaterfall(t, log) })
			t.Run("written", func(t *testing.T) { checkWritten(t, log) })
		})
	}
}

func checkAnswers(t *testing.T, log *netlog.Log, want *answer) {
	t.Helper()
	host := netlog.Host(want.host)
	if n := len(log.Connections(host)); n != want.opened {
		t.Errorf("%d connections opened, want %d:\n%v", n, want.opened, log.Connections(host))
	}
	netlog.RequireConnections(t, log, want.used, want.proto, host, netlog.Used())
	for _, c := range log.Connections(host, netlog.Used()) {
		checkConnection(t, &c, want)
	}
	checkRequests(t, log, want)
	checkStalls(t, log, want)
	if n := log.Background(); n != want.background {
		t.Errorf("%d requests of the browser's own, want %d", n, want.background)
	}
	if n := len(log.AltServices()); n != want.alternatives {
		t.Errorf("alternatives %v, want %d", log.AltServices(), want.alternatives)
	}
	if log.Client() != "Chromium 156.0.8078.114" {
		t.Errorf("by %q", log.Client())
	}
}

func checkConnection(t *testing.T, c *netlog.Connection, want *answer) {
	t.Helper()
	if c.ALPN != want.alpn || c.Issuer != want.issuer || c.Proxy != want.proxy || c.StreamLimit != want.limit ||
		strings.Join(c.Offered, ",") != want.offered || c.CloseReason != want.closed {
		t.Errorf("connection %+v, want %+v", *c, *want)
	}
	network := "tcp"
	if want.quic {
		network = "udp"
	}
	if c.Network != network || !want.redacted && (c.TLSVersion != 0x304 || c.Local == "" || c.Remote == "") {
		t.Errorf("connection %+v", *c)
	}
	for _, pair := range [][2]time.Time{{c.Opened, c.Handshaken}, {c.Handshaken, c.FirstUsed}} {
		if pair[0].IsZero() || pair[1].Before(pair[0]) {
			t.Errorf("times of %+v", *c)
		}
	}
	if want.limit != 0 && c.MaxStreams > want.limit || c.MaxStreams < 1 || want.proto == "http/1.1" && c.MaxStreams != 1 {
		t.Errorf("%d streams at once", c.MaxStreams)
	}
	if !want.quic && (c.BytesUp < 100 || c.BytesDown < 100) || c.HeaderBytesUp != -1 || c.HeaderBytesDown != -1 {
		t.Errorf("bytes of %+v", *c)
	}
}

func checkRequests(t *testing.T, log *netlog.Log, want *answer) {
	t.Helper()
	all := log.Requests(netlog.Host(want.host))
	if len(all) != want.requests || len(log.Requests()) != want.requests {
		t.Errorf("%d requests and %d in all, want %d:\n%v", len(all), len(log.Requests()), want.requests, log.Requests())
	}
	perConnection, resumed := 0, 0
	for _, c := range log.Connections(netlog.Host(want.host)) {
		if perConnection += c.Requests; c.Resumed {
			resumed++
		}
	}
	used := log.Requests(netlog.Host(want.host), netlog.Used())
	if perConnection != len(used) || resumed != want.resumed {
		t.Errorf("%d requests on connections, %d of them resumed; want %d and %d", perConnection, resumed, len(used), want.resumed)
	}
	streams := make(map[int64]bool)
	for _, q := range used {
		checkRequest(t, &q, want)
		streams[q.Stream] = true
	}
	if want.proto == "h2" && !want.redacted && len(streams) != len(used) {
		t.Errorf("%d streams for %d requests", len(streams), len(used))
	}
}

func checkRequest(t *testing.T, q *netlog.Request, want *answer) {
	t.Helper()
	if q.Protocol != want.proto || q.Method != "GET" || q.Err != "" || q.Status != 200 != want.redacted {
		t.Errorf("request %+v", *q)
	}
	if (q.Connection == nil) != want.unlinked || q.Connection != nil && q.Connection.Protocol != want.proto {
		t.Errorf("request %d is on %+v", q.ID, q.Connection)
	}
	if q.Sent.Before(q.Start) || q.FirstByte.Before(q.Sent) || !q.End.IsZero() && q.End.Before(q.FirstByte) || q.Wait != q.Sent.Sub(q.Start) {
		t.Errorf("times of request %+v", *q)
	}
	if q.BodyBytesDown != 6 && q.BodyBytesDown != 134 && q.BodyBytesDown != 242 {
		t.Errorf("%d bytes of %s", q.BodyBytesDown, q.URL)
	}
}

func checkStalls(t *testing.T, log *netlog.Log, want *answer) {
	t.Helper()
	stalls := log.Stalls(netlog.Host(want.host))
	if len(stalls) != want.stalls {
		t.Errorf("%d stalls, want %d:\n%v", len(stalls), want.stalls, stalls)
	}
	waiters := make(map[int64]bool)
	for _, s := range stalls {
		if s.Kind != want.kind || s.Request == 0 || waiters[s.Request] || s.URL == "" || s.Duration <= 0 || s.Duration > time.Second {
			t.Errorf("stall %+v", s)
		}
		waiters[s.Request] = true
	}
	if n := log.Events()[want.kind]; want.stallEvents != 0 && n != want.stallEvents {
		t.Errorf("%d × %s, want %d", n, want.kind, want.stallEvents)
	}
}

// TestUnused tells apart how far connections got that carried nothing.
func TestUnused(t *testing.T) {
	for name, why := range map[string]string{
		"h2": "Switching to HTTP2 session", "httpproxy": "Switching to HTTP2 session", "killed": "Switching to HTTP2 session",
		"hev3_h2": "cancelled: SpdySessionCreated",
	} {
		c := readLog(t, name).Connections()[1]
		raced := name == "hev3_h2" // before the end of its handshake
		if c.Used() || c.CloseReason != why || c.Handshaken.IsZero() != raced || (c.ALPN == netlog.Unknown) != raced {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestProxyOverTLS: the connection to the proxy is one of its own, and carried
// tunnels only.
func TestProxyOverTLS(t *testing.T) {
	log := readLog(t, "httpsproxy_h1")
	to := log.Connections(netlog.Host("127.0.0.1:18449"))
	if len(to) != 1 || to[0].Protocol != "h2" || to[0].ALPN != alpn.H2 || to[0].Used() || to[0].Proxy != "" {
		t.Errorf("%+v", to)
	}
}

func TestAltServices(t *testing.T) {
	all := readLog(t, "altbroken").AltServices()
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	const want = "h3.test:18447 has h3 at h3.test:18999: 0 requests over it, broken: ERR_QUIC_HANDSHAKE_FAILED"
	if all[0].String() != want {
		t.Errorf("%q, want %q", all[0], want)
	}
}

// TestRedacted: what was taken away is said to be, and is never taken for "none".
func TestRedacted(t *testing.T) {
	log := readLog(t, "redacted")
	for _, c := range log.Connections() {
		if c.ALPN != netlog.Redacted || c.Host != netlog.Redacted || c.ServerName != netlog.Redacted || c.Issuer != netlog.Redacted {
			t.Errorf("%+v", c)
		}
	}
	for _, q := range log.Requests() {
		if q.URL != netlog.Redacted {
			t.Errorf("%+v", q)
		}
	}
}

func TestReadOptionsBackground(t *testing.T) {
	all := mustRead(t, plainText(t, "httpproxy"), &netlog.ReadOptions{Background: true})
	if n := len(all.Requests()); n != 19 || all.Background() != 0 {
		t.Errorf("%d requests, %d left out", n, all.Background())
	}
	if n := len(all.Requests(netlog.Host("update.googleapis.com"))); n != 2 {
		t.Errorf("%d update checks", n)
	}
	own := all.Connections(netlog.Host("clients2.google.com:80"), netlog.Used())
	if len(own) != 1 || own[0].Proxy != "127.0.0.1:18448" || own[0].ALPN != netlog.NoALPN || own[0].Protocol != "http/1.1" {
		t.Errorf("%v", own)
	}
}

func TestReadOptionsConstants(t *testing.T) {
	text := plainText(t, "h1tls")
	_, events, _ := strings.Cut(text, "\n")
	events = strings.TrimPrefix(events, `"events": [`)
	whole := readLog(t, "h1tls")
	log := mustRead(t, events, &netlog.ReadOptions{Constants: strings.NewReader(text)})
	if log.Connections().String() == "" || len(log.Requests()) != len(whole.Requests()) || len(log.Stalls()) != 6 {
		t.Errorf("%v", log)
	}
	log = mustRead(t, events, nil)
	if n := len(log.Requests()); n != 0 || log.Events()["UNKNOWN(2)"]+log.Events()["UNKNOWN(1)"] == 0 || len(log.Damage()) == 0 {
		t.Errorf("without constants: %d requests, %v", n, log.Damage())
	}
	_, err := netlog.ReadWith(strings.NewReader(events), &netlog.ReadOptions{Constants: strings.NewReader("<html>")})
	if err == nil || err.Error() != "netlog: read: ReadOptions.Constants: not a NetLog, but an HTML page" {
		t.Errorf("%v", err)
	}
}

func TestReadErrors(t *testing.T) {
	if _, err := netlog.ReadFile("testdata/nothing.json"); err == nil || !strings.HasPrefix(err.Error(), "netlog: read: open testdata/nothing.json") {
		t.Errorf("%v", err)
	}
	_, err := netlog.ReadFile("testdata/bkilled.json.gz")
	if err == nil || !strings.HasPrefix(err.Error(), "netlog: read: testdata/bkilled.json.gz: not a NetLog, but the note that Chromium leaves") {
		t.Errorf("%v", err)
	}
	if _, err := netlog.Read(strings.NewReader("")); err == nil || err.Error() != "netlog: read: it is empty" {
		t.Errorf("%v", err)
	}
}

// TestRecordedLog has nothing that only a file has.
func TestRecordedLog(t *testing.T) {
	log := new(netlog.Log)
	log.Open(netlog.Connection{})
	if log.Damage() != nil || log.Events() != nil || log.AltServices() != nil || log.Findings() != nil || log.Client() != "" || log.Background() != 0 {
		t.Error("something is there")
	}
}

// TestReadThenRecord: a Log that was read goes on as any other.
func TestReadThenRecord(t *testing.T) {
	log := readLog(t, "h2")
	log.Open(netlog.Connection{Host: "b.test:443"}).Request(netlog.Request{URL: "https://b.test/"}).End("")
	if len(log.Connections()) != 3 || len(log.Requests(netlog.Host("b.test"))) != 1 || len(log.Findings()) != 1 {
		t.Errorf("%v", log)
	}
}

var cutEverywhere = flag.Bool("cut-everywhere", false, "cut the logs at 500 places, and disorder each in every way")

// TestReadCut: of a log that is cut off anywhere, every whole event counts, and
// none is understood into a panic. Each log is cut elsewhere.
func TestReadCut(t *testing.T) {
	places := 3
	if *cutEverywhere {
		places = 500
	}
	logs := realLogs()
	for i, name := range logs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := plainText(t, name)
			for part := i; part < places*len(logs); part += len(logs) {
				checkReadCut(t, text[:(part+1)*len(text)/(places*len(logs)+1)])
			}
		})
	}
}

func checkReadCut(t *testing.T, text string) {
	t.Helper()
	whole := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "],\n")
		if strings.Contains(line, `"phase":`) && strings.HasSuffix(line, "}") && strings.Count(line, `"time":"`) == 1 &&
			(strings.HasPrefix(line, `{"p`) || strings.HasPrefix(line, `{"type":"event"`)) && strings.Contains(line, `,"type":`) {
			whole++
		}
	}
	log, err := netlog.Read(strings.NewReader(text))
	if err != nil {
		if whole > 0 {
			t.Errorf("cut at %d: %v", len(text), err)
		}
		return
	}
	got := 0
	for _, n := range log.Events() {
		got += n
	}
	if got != whole || len(log.Damage()) != 1 {
		t.Errorf("cut at %d: %d events, want %d; %v", len(text), got, whole, log.Damage())
	}
	log.Findings()
	_ = log.String()
}

func plainText(t *testing.T, name string) string {
	t.Helper()
	return string(netlog.PlainLog(t, name))
}
