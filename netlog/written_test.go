package netlog

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pages is a Log of that many pages through a proxy: six connections of
// http/1.1 each, 170 requests, most of which wait for their turn.
func pages(n int) *Log {
	l := new(Log)
	for i := range n {
		page(l, time.Date(2000, 1, 1, 0, 0, 8*i, 0, time.UTC))
	}
	return l
}

func page(l *Log, start time.Time) {
	const each, slots, requests = 250 * time.Millisecond, 6, 170
	conns := make([]*ConnectionRecord, slots)
	for i := range conns {
		conns[i] = l.Open(Connection{
			Leg: "downstream", Network: "tcp", Host: "origin.test:443", ServerName: "origin.test", Proxy: "proxy.test:8080",
			Local: "192.0.2.1:443", Remote: fmt.Sprint("198.51.100.7:", 50000+len(l.connections)), TLSVersion: 0x304,
			Offered: []string{"h2", "http/1.1"}, ALPN: "http/1.1", Protocol: "http/1.1", Issuer: "wiretest mitm CA",
			Opened: start, Handshaken: start.Add(time.Millisecond), BytesUp: 12345, BytesDown: 67890,
		})
	}
	for i := range requests {
		sent := start.Add(time.Millisecond + time.Duration(i/slots)*each)
		url := fmt.Sprintf("https://origin.test/js/mod%03d.js", i)
		q := conns[i%slots].Request(Request{Leg: "downstream", Method: "GET", URL: url, Protocol: "http/1.1", Start: start, Wait: sent.Sub(start), Sent: sent})
		if i >= slots {
			l.Stall(Stall{Kind: StalledMaxSocketsPerGroup, Leg: "downstream", Host: "origin.test:443", URL: url, Request: q.Request().ID, Start: start, Duration: sent.Sub(start)})
		}
		q.Update(func(q *Request) {
			q.Status, q.FirstByte, q.BodyBytesDown, q.HeaderBytesUp = 200, sent.Add(each-time.Millisecond), 1000, 180
		})
		q.Update(func(q *Request) { q.End = sent.Add(each) })
	}
}

// writtenText is a file of about that size which WriteTo made.
func writtenText(tb testing.TB, size int) []byte {
	tb.Helper()
	one, err := pages(1).WriteTo(io.Discard)
	require.NoError(tb, err)
	var text bytes.Buffer
	_, err = pages(max(1, size/int(one))).WriteTo(&text)
	require.NoError(tb, err)
	return text.Bytes()
}

// TestWritingTakesLittle: beside a copy of the records, memory holds only the
// events of what goes on at one instant.
func TestWritingTakesLittle(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that what is measured is what is held
	start := held()
	log := pages(16)
	model := held() - start
	w := &weighed{}
	n, err := log.WriteTo(w)
	require.NoError(t, err)
	beyond := int64(w.peak) - int64(start+model)
	if allowed := int64(3*model) + 4<<20; beyond > allowed {
		t.Errorf("%d kB at the peak for a file of %d kB, of a log of %d kB", beyond>>10, n>>10, model>>10)
	}
	t.Logf("a log of %d kB, a file of %d kB: at the peak %d kB more", model>>10, n>>10, beyond>>10)
	runtime.KeepAlive(log)
}

func held() uint64 {
	runtime.GC()
	return heapInUse()
}

type weighed struct {
	n    int
	peak uint64
}

func (w *weighed) Write(p []byte) (int, error) {
	if w.n++; w.n%16 == 0 {
		w.peak = max(w.peak, heapInUse())
	}
	return len(p), nil
}
