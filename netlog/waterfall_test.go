package netlog_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
)

// drawnLog has every phase that there is.
func drawnLog() *netlog.Log {
	log := new(netlog.Log)
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	c := log.Open(netlog.Connection{Host: "a.test:443", Opened: at(10), Handshaken: at(20), Protocol: "http/1.1", ALPN: "http/1.1", Issuer: "CA"})
	c.Request(netlog.Request{Method: "GET", URL: "https://a.test/<first>&", Status: 200, Start: at(0), Wait: 20 * time.Millisecond, Sent: at(20), FirstByte: at(50), End: at(60)})
	c.Request(netlog.Request{Method: "POST", URL: "https://a.test/second", Status: 200, Start: at(5), Wait: 57 * time.Millisecond, Sent: at(62), FirstByte: at(70), End: at(80)})
	log.Stall(netlog.Stall{Kind: netlog.StalledMaxSocketsPerGroup, Host: "a.test:443", Request: 2, Start: at(25), Duration: 35 * time.Millisecond})
	log.Request(netlog.Request{Method: "GET", URL: "https://a.test/refused", Start: at(6), End: at(30), Err: "refused"})
	c.Request(netlog.Request{Method: "GET", URL: "https://a.test/runs", Start: at(82), Sent: at(82)})
	return log
}

func drawn(t *testing.T, draw func(io.Writer) error) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, draw(&text))
	for d := xml.NewDecoder(bytes.NewReader(text.Bytes())); ; {
		_, err := d.Token()
		if err == io.EOF {
			return text.String()
		}
		require.NoError(t, err)
	}
}

// TestWaterfallPhases: each request is what it was, and for as long.
func TestWaterfallPhases(t *testing.T) {
	text := drawn(t, drawnLog().WriteWaterfall)
	for _, want := range []string{
		"<title>/%3Cfirst%3E&amp;, connection 1, connecting 20 ms, waiting for the answer 30 ms, receiving 10 ms</title>",
		"<title>POST /second, connection 1, connecting 15 ms, queued 5 ms, stalled by a limit 35 ms, queued 2 ms, waiting for the answer 8 ms, receiving 10 ms</title>",
		"<title>/refused, failed 24 ms, refused</title>",
		"4 requests on 1 connection over http/1.1, 1 waited for a limit, median 35 ms",
	} {
		assert.Contains(t, text, want)
	}
}

// TestWaterfallScale: bars are where the axis says.
func TestWaterfallScale(t *testing.T) {
	text := drawn(t, func(w io.Writer) error {
		return drawnLog().WriteWaterfallWith(w, &netlog.WaterfallOptions{Span: 92 * time.Millisecond})
	})
	// 10 px are a millisecond, from 250 on: waiting from 20 to 50 ms.
	assert.Contains(t, text, `<rect x="450" y="97.8" width="300" height="14.4" fill="#56B4E9"/>`)
	assert.Contains(t, text, `x="450" y="87" font-size="11" fill="#555" text-anchor="middle">20 ms<`)
}

func TestWaterfallLanes(t *testing.T) {
	text := drawn(t, func(w io.Writer) error {
		return drawnLog().WriteWaterfallWith(w, &netlog.WaterfallOptions{Lanes: true, Title: "a < b"})
	})
	assert.Contains(t, text, ">connection 1, http/1.1: 3 requests<")
	assert.Contains(t, text, ">stalled: up to 1 request<")
	assert.Contains(t, text, ">a &lt; b<")
}

// TestWaterfallLegs: a proxy's are apart, on one axis.
func TestWaterfallLegs(t *testing.T) {
	log, zero := new(netlog.Log), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, leg := range []netlog.Leg{"downstream", "upstream"} {
		c := log.Open(netlog.Connection{Leg: leg, Opened: zero, Protocol: "h2"})
		start := zero.Add(time.Duration(i) * time.Second)
		c.Request(netlog.Request{URL: "https://a.test/", Start: start, Sent: start, FirstByte: start, End: zero.Add(3 * time.Second)})
	}
	text := drawn(t, log.WriteWaterfall)
	down, up := strings.Index(text, ">downstream<"), strings.Index(text, ">upstream<")
	assert.Positive(t, down)
	assert.Greater(t, up, down)
	assert.Contains(t, text[up:], "receiving 2.00 s")
	assert.Contains(t, text[up:], `<rect x="551.9"`) // a third of the way
}

// checkWaterfall: a real log makes pictures.
func checkWaterfall(t *testing.T, log *netlog.Log) {
	t.Helper()
	for _, lanes := range []bool{false, true} {
		text := drawn(t, func(w io.Writer) error {
			return log.WriteWaterfallWith(w, &netlog.WaterfallOptions{Lanes: lanes})
		})
		if !lanes {
			assert.Equal(t, len(log.Requests()), strings.Count(text, "<g><title>"))
		}
		assert.NotContains(t, text, "NaN")
	}
}

func TestWaterfallOfNothing(t *testing.T) {
	assert.Contains(t, drawn(t, new(netlog.Log).WriteWaterfall), "0 requests")
	assert.EqualError(t, drawnLog().WriteWaterfall(&failing{}), "netlog: waterfall: disk full")
}

func TestWriteComparison(t *testing.T) {
	text := func() string {
		var b strings.Builder
		require.NoError(t, netlog.WriteComparison(&b, netlog.Named{Name: "a|b", Log: drawnLog(), Done: 90 * time.Millisecond}, netlog.Named{Name: "h1", Log: readLog(t, "h1tls")}))
		return b.String()
	}()
	lines := strings.Split(text, "\n")
	assert.Equal(t, `| a\|b | 90 ms | 4 | 1 | 3 | 1 | 28 ms | 57 ms | 8 ms | http/1.1 | CA |`, lines[2])
	assert.Contains(t, lines[3], "| h1 | ")
	assert.Contains(t, lines[3], "| 14 | 6 | 2–3 | 6 |")
	assert.Contains(t, text, "\nh1:\n\n- localhost:18444: 6 connections, 6 requests waited, median 295ms\n  - 6 × SOCKET_POOL_STALLED")
	assert.Error(t, netlog.WriteComparison(&failing{}, netlog.Named{Log: drawnLog()}))
}

// TestNewKeepsPictures: of a failed test, what viewers show.
func TestNewKeepsPictures(t *testing.T) {
	tb := &fakeTB{dir: t.TempDir(), failed: true}
	tb.run(func(tb testing.TB) { open(netlog.New(tb), netlog.Connection{Host: "a.test:443"}, "h2", 3) })
	for pattern, want := range map[string]string{"netlog-*.json": `"logEventTypes"`, "netlog-*-waterfall.svg": "3 requests", "netlog-*-lanes.svg": "3 requests"} {
		files, _ := filepath.Glob(filepath.Join(tb.dir, pattern))
		require.Len(t, files, 1, pattern)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.Contains(t, string(text), want)
	}
}

// A Log is written for Chrome's viewers, and read again.
func ExampleLog_WriteTo() {
	log, err := netlog.ReadFile("testdata/h2.json.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if _, err := log.WriteTo(&file); err != nil {
		fmt.Println(err)
		return
	}
	again, err := netlog.Read(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range again.Connections(netlog.Used()) {
		fmt.Println(c.Protocol, c.Host, c.Requests)
	}
	// Output: h2 localhost:18443 13
}

// A line for each request: what it waited for, and how long.
func ExampleLog_WriteWaterfall() {
	log, err := netlog.ReadFile("testdata/h1tls.json.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	var svg strings.Builder
	if err := log.WriteWaterfall(&svg); err != nil {
		fmt.Println(err)
		return
	}
	_, title, _ := strings.Cut(svg.String(), "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	fmt.Println(title)
	// Output: 14 requests on 6 connections over http/1.1, 6 waited for a limit, median 295 ms
}

// Two ways to one page, side by side.
func ExampleWriteComparison() {
	var direct, proxied netlog.Log
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for log, took := range map[*netlog.Log]time.Duration{&direct: 100 * time.Millisecond, &proxied: 300 * time.Millisecond} {
		c := log.Open(netlog.Connection{Host: "a.test:443", Opened: zero, Protocol: "h2"})
		c.Request(netlog.Request{URL: "https://a.test/", Status: 200, Start: zero, Sent: zero, FirstByte: zero.Add(took), End: zero.Add(took)})
	}
	var table strings.Builder
	if err := netlog.WriteComparison(&table, netlog.Named{Name: "direct", Log: &direct}, netlog.Named{Name: "proxy", Log: &proxied}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(table.String())
	// Output:
	// | | page done | requests | connections | requests on each | stalled | wait, median | wait, worst | first byte, median | protocol | issuer |
	// |---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|
	// | direct | 100 ms | 1 | 1 | 1 | 0 | 0 ms | 0 ms | 100 ms | h2 |  |
	// | proxy | 300 ms | 1 | 1 | 1 | 0 | 0 ms | 0 ms | 300 ms | h2 |  |
}
