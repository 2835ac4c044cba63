package netlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// checkWritten: a real log, written and read again, is the same.
func checkWritten(t *testing.T, log *netlog.Log) {
	t.Helper()
	again := rewritten(t, log)
	assert.Equal(t, log.Client(), again.Client())
	assert.Equal(t, log.Background(), again.Background())
}

// TestWriteFixtures: so is what fixtures record, with both legs of a proxy and
// all that a page does; and Chrome's events alone tell the same to the
// millisecond.
func TestWriteFixtures(t *testing.T) {
	t.Run("in virtual time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { writeFixtures(t, linkdelay.NewNetwork(t, linkdelay.RTT(20*time.Millisecond))) })
	})
	t.Run("on loopback", func(t *testing.T) { writeFixtures(t, linkdelay.NewLoopback(t, linkdelay.Link{})) })
}

func writeFixtures(t *testing.T, network *linkdelay.Network) {
	page := &origin.Page{Scripts: 4, Images: 8, API: 2, DelayMin: 3 * time.Millisecond, DelayMax: 20 * time.Millisecond}
	site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), Page: page})
	for _, leg := range []mitm.Leg{{ALPN: alpn.Only(alpn.HTTP11)}, {MaxConcurrentStreams: 4}} {
		proxy := mitm.New(t, &mitm.Config{Net: network.Host(fmt.Sprintf("proxy%d.test", leg.MaxConcurrentStreams)), RootCAs: site.CA().Pool(), Downstream: leg})
		visit, err := pageload.Load(t.Context(), &pageload.Config{URL: site.URL, Transport: proxy.Transport(network.Host("pc.test"))})
		require.NoError(t, err)
		require.NotEmpty(t, visit.Log.Stalls())
		comeToRest(t, proxy.Log(), mitm.Downstream)
		rewritten(t, visit.Log)
		rewritten(t, proxy.Log())
		onlyChrome(t, visit.Log)
		onlyChrome(t, proxy.Log(), mitm.Downstream)
	}
	rewritten(t, site.Log())
	onlyChrome(t, site.Log())
}

// TestWriteClient: so is what NewTransport records of a Go client, with the
// stalls of its pool and a request that fails.
func TestWriteClient(t *testing.T) {
	for _, scheme := range []string{"http", "https", "h2"} {
		t.Run(scheme, func(t *testing.T) {
			slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/broken" {
					panic(http.ErrAbortHandler)
				}
				time.Sleep(10 * time.Millisecond)
				page(w, r)
			})
			srv := serve(t, scheme, slow)
			c, log := recorded(t, srv, func(tr *http.Transport) { tr.MaxConnsPerHost = 2 })
			var all sync.WaitGroup
			for i := range 12 {
				all.Go(func() { get(t, c, fmt.Sprint(srv.URL, "/", i)) })
			}
			all.Wait()
			_, err := c.Get(srv.URL + "/broken")
			require.Error(t, err)
			c.CloseIdleConnections()
			comeToRest(t, log)
			rewritten(t, log)
		})
	}
}

// comeToRest waits for the end of connections that a client has left, or that
// net/http has dialled and does not need, and for what their handshakes then have to
// say.
func comeToRest(t *testing.T, log *netlog.Log, filters ...netlog.Filter) {
	t.Helper()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(log.Connections(filters...), func(c netlog.Connection) bool {
			return c.Closed.IsZero() || strings.HasSuffix(c.CloseReason, "before TLS was established")
		})
	}, time.Minute, time.Millisecond, "connections that stay open")
}

// rewritten writes and reads; both must say the same, and the file must be what
// a viewer accepts.
func rewritten(t *testing.T, log *netlog.Log) *netlog.Log {
	t.Helper()
	text := written(t, log)
	checkViewer(t, text)
	again := mustRead(t, text, nil)
	assert.Empty(t, again.Damage())
	require.Equal(t, plain(log.Connections()), plain(again.Connections()))
	require.Equal(t, plain(log.Requests()), plain(again.Requests()))
	require.Equal(t, plain(log.Stalls()), plain(again.Stalls()))
	require.Equal(t, plain(log.Pairs()), plain(again.Pairs()))
	require.Equal(t, plain(log.AltServices()), plain(again.AltServices()))
	require.Equal(t, log.Findings(), again.Findings())
	for _, code := range []int{200, 304, 404, 500} {
		require.Len(t, again.Connections(netlog.Status(code)), len(log.Connections(netlog.Status(code))))
	}
	require.Equal(t, text, written(t, again), "written a second time")
	checkEvidenceIn(t, text, again)
	return again
}

func written(t *testing.T, log *netlog.Log) string {
	t.Helper()
	var text bytes.Buffer
	n, err := log.WriteTo(&text)
	require.NoError(t, err)
	require.EqualValues(t, text.Len(), n)
	return text.String()
}

// plain is what v says, with times in UTC.
func plain(v any) string {
	out := reflect.New(reflect.TypeOf(v)).Elem()
	out.Set(reflect.ValueOf(v))
	text, _ := json.MarshalIndent(inUTC(out), "", " ")
	return string(text)
}

func inUTC(v reflect.Value) any {
	if at, ok := v.Interface().(time.Time); ok {
		return at.UTC()
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return inUTC(v.Elem())
	case reflect.Slice:
		all := []any{}
		for i := range v.Len() {
			all = append(all, inUTC(v.Index(i)))
		}
		return all
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fields[f.Name] = inUTC(v.Field(i))
			}
		}
		return fields
	}
	return v.Interface()
}

// withoutOwn is the file without this package's events, each of which is a line.
func withoutOwn(t *testing.T, text string) string {
	t.Helper()
	numbers := map[string]bool{}
	for _, m := range regexp.MustCompile(`"WIRETEST_\w+":(\d+)`).FindAllStringSubmatch(text, -1) {
		numbers[m[1]] = true
	}
	require.Len(t, numbers, 5)
	kind := regexp.MustCompile(`"type":(\d+)\},?\n$`)
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if m := kind.FindStringSubmatch(line); m == nil || !numbers[m[1]] {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// onlyChrome compares with what Chrome's events say to one who knows no others.
func onlyChrome(t *testing.T, log *netlog.Log, filters ...netlog.Filter) {
	t.Helper()
	read := mustRead(t, withoutOwn(t, written(t, log)), nil)
	assert.Empty(t, read.Damage())
	if len(filters) == 0 {
		require.Equal(t, connectionFacts(log.Connections()), connectionFacts(read.Connections()))
		require.Equal(t, requestFacts(log.Requests()), requestFacts(read.Requests()))
		require.Equal(t, stallFacts(log.Stalls()), stallFacts(read.Stalls()))
		return
	}
	require.Len(t, read.Requests(), len(log.Requests()), "both legs")
	require.Len(t, read.Connections(), len(log.Connections()))
}

func connectionFacts(all netlog.Connections) (facts []string) {
	for _, c := range all {
		if !c.Used() { // on sockets one may come too late; and Chrome names the proxy with requests
			c.Proxy = ""
		}
		facts = append(facts, fmt.Sprint(c.Network, c.Host, c.Proxy, c.Local, c.Remote, c.TLSVersion, c.ALPN, c.Protocol, c.Requests, c.Resumed, c.StreamLimit, toMS(c.Opened), toMS(c.Handshaken)))
	}
	slices.Sort(facts) // in a millisecond there is no order
	return facts
}

func requestFacts(all netlog.Requests) (facts []string) {
	for _, q := range all {
		carrier := ""
		if q.Connection != nil {
			carrier = q.Connection.Local + "-" + q.Connection.Remote
		}
		facts = append(facts, fmt.Sprint(carrier, q.Method, q.URL, q.Protocol, q.Status, q.Stream, q.BodyBytesDown, toMS(q.Start), toMS(q.Sent), toMS(q.FirstByte), toMS(q.End)))
	}
	slices.Sort(facts) // in a millisecond there is no order
	return facts
}

func stallFacts(all netlog.Stalls) (facts []string) {
	for _, s := range all {
		facts = append(facts, fmt.Sprint(s.Kind, s.Host, s.URL, toMS(s.Start)))
	}
	slices.Sort(facts) // in a millisecond there is no order
	return facts
}

func toMS(t time.Time) int64 { return t.UnixMilli() }

// checkViewer holds the text to what Chromium's viewer asks of a file.
func checkViewer(t *testing.T, text string) {
	t.Helper()
	var file struct {
		Constants  map[string]any
		Events     []map[string]any
		PolledData any
	}
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	for _, name := range []string{"logEventTypes", "clientInfo", "logEventPhase", "logSourceType", "loadFlag", "netError", "addressFamily"} {
		require.IsType(t, map[string]any{}, file.Constants[name], name)
	}
	require.IsType(t, 0.0, file.Constants["timeTickOffset"])
	require.Equal(t, 1.0, file.Constants["logFormatVersion"])
	known := make(map[string]map[any]bool)
	for _, table := range []string{"logEventTypes", "logEventPhase", "logSourceType"} {
		known[table] = make(map[any]bool)
		for _, n := range file.Constants[table].(map[string]any) {
			known[table][n] = true
		}
	}
	last := int64(0)
	for _, e := range file.Events {
		source := e["source"].(map[string]any)
		require.IsType(t, "", e["time"])
		require.IsType(t, 0.0, source["id"])
		require.True(t, known["logEventTypes"][e["type"]] && known["logEventPhase"][e["phase"]] && known["logSourceType"][source["type"]], "%v", e)
		var at int64
		_, err := fmt.Sscan(e["time"].(string), &at)
		require.NoError(t, err)
		require.GreaterOrEqual(t, at, last, "%v", e)
		last = at
	}
}

func TestWriteNothing(t *testing.T) {
	again := rewritten(t, new(netlog.Log))
	assert.Equal(t, "nothing was recorded\n", again.String())
	assert.Equal(t, "wiretest", again.Client())
}

// TestWriteOdd: what no browser says, in the middle of things, and what is no
// JSON.
func TestWriteOdd(t *testing.T) {
	var log netlog.Log
	at := time.Date(2026, 1, 2, 3, 4, 5, 678900, time.FixedZone("", 3600))
	c := log.Open(netlog.Connection{Host: `a"b<c>`, Network: "udp", Protocol: "h3", ALPN: netlog.NoALPN, BytesUp: -1, Leg: "x", Opened: at, Offered: []string{"\x00", "é"}})
	c.Request(netlog.Request{URL: "%ESCAPED:\u200b %41", Start: at}).End("odd: \u2028")
	log.Request(netlog.Request{Start: at.Add(-time.Hour), Wait: time.Second})
	log.Stall(netlog.Stall{Kind: "ANY_OTHER", Start: at, Duration: time.Minute})
	log.Stall(netlog.Stall{Kind: netlog.StalledPool, Start: at, Request: 1})
	log.Note(netlog.Note{Type: "linkdelay.drop", Params: map[string]any{"bytes": 7, "chan": make(chan int), "\x01\U000e0001": true}})
	again := rewritten(t, &log)
	notes := again.Notes()
	require.Len(t, notes, 1)
	assert.Equal(t, "linkdelay.drop", notes[0].Type)
	assert.Equal(t, 7.0, notes[0].Params["bytes"])
	assert.Contains(t, notes[0].Params["chan"], "unsupported type")
	assert.Equal(t, true, notes[0].Params["\x01\U000e0001"], "of a name that Go would quote unlike JSON")
}

// TestReadKeptOdd: records that contradict each other, or are none.
func TestReadKeptOdd(t *testing.T) {
	log := readScript(t, `
		1 NONE#1 - WIRETEST_LOG {}
		2 SOCKET#2 - WIRETEST_CONNECTION {"id":7,"opened":"2026-01-01T00:00:00Z","requests":1}
		2 SOCKET#2 - WIRETEST_CONNECTION {"id":7,"opened":"2026-01-01T00:00:00Z"}
		3 URL_REQUEST#3 - WIRETEST_REQUEST {"id":9,"connection":7,"pair":4,"wait":-5,"sent":"2026-01-01T00:00:02Z","first_byte":"2026-01-01T00:00:01Z"}
		4 URL_REQUEST#4 - WIRETEST_REQUEST {"id":10,"pair":9,"connection":8}
		4 SOCKET#5 - TCP_CONNECT {"remote_address":"1.2.3.4:5"}
		5 HTTP_STREAM_JOB#6 - WIRETEST_STALL {"kind":"X","request":10,"duration":-1}
		6 URL_REQUEST#7 - WIRETEST_REQUEST {"id":"eleven"}
	`)
	requests := log.Requests()
	require.Len(t, log.Connections(), 1)
	require.Len(t, requests, 2)
	assert.Equal(t, int64(1), requests[0].Connection.ID)
	assert.Equal(t, int64(0), requests[0].Pair)
	assert.Equal(t, int64(1), requests[1].Pair)
	assert.Nil(t, requests[1].Connection)
	assert.Zero(t, requests[0].Wait)
	assert.Zero(t, requests[0].TimeToFirstByte())
	assert.Equal(t, int64(2), log.Stalls()[0].Request)
	require.Len(t, log.Damage(), 1)
	assert.Contains(t, log.Damage()[0].String(), "WIRETEST_REQUEST: json: cannot unmarshal string")
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	log := readLog(t, "h2")
	for _, after := range []int{0, len(written(t, log)) - 1} {
		_, err := log.WriteTo(&failing{after})
		require.EqualError(t, err, "netlog: write: disk full")
	}
}

// FuzzWrite: whatever was read can be written, and is read again.
func FuzzWrite(f *testing.F) {
	f.Add([]byte(script(opening(`,"next_proto":"h2"`) + sendH1 + answered + over)))
	f.Add([]byte(script(`
		1 NONE#1 - WIRETEST_LOG {"speaks_h2":{"a":[{"event":"E","source":4}]}}
		2 SOCKET#2 - WIRETEST_CONNECTION {"id":7,"opened":"2026-01-01T00:00:00Z","protocol":"h2","root":2,"check":-5,"issuer":"i","handshaken":"2026-01-01T00:00:00Z"}
		3 URL_REQUEST#3 - WIRETEST_REQUEST {"id":9,"connection":7,"protocol":"h2","stream":1,"sent":"0001-01-01T00:00:02Z","url":"::"}
		5 HTTP_STREAM_JOB#6 - WIRETEST_STALL {"kind":"","request":9,"duration":9223372036854775807}
	`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := netlog.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := log.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		again, err := netlog.Read(&out)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := len(log.Requests()), len(again.Requests()); a != b || len(log.Connections()) != len(again.Connections()) || len(log.Stalls()) != len(again.Stalls()) {
			t.Errorf("%d requests, then %d", a, b)
		}
		if len(again.Damage()) > 0 {
			t.Error(again.Damage())
		}
	})
}

// BenchmarkWriteTo writes pages of 171 requests.
func BenchmarkWriteTo(b *testing.B) {
	var log netlog.Log
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1000 {
		c := log.Open(netlog.Connection{Host: "a.test:443", Network: "tcp", Opened: at, Handshaken: at, Protocol: "h2", ALPN: "h2"})
		for j := range 171 {
			start := at.Add(time.Duration(i*171+j) * time.Millisecond)
			c.Request(netlog.Request{Method: "GET", URL: fmt.Sprintf("https://a.test/%d", j), Status: 200, Start: start, Sent: start, FirstByte: start.Add(20 * time.Millisecond), End: start.Add(30 * time.Millisecond)})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n, err := log.WriteTo(io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}
