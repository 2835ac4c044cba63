package netlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// The figures are stated for 100 MB; a shorter log shows as much each time.
var syntheticMB = flag.Int("synthetic-mb", 4, "length of the synthetic log in MB")

// A log is one of Chromium's, repeated, or one that WriteTo made.
var benchmarked = []string{"h1tls", "h2", "written"}

func syntheticText(b *testing.B, name string) (text []byte) {
	b.Helper()
	if name == "written" {
		text = writtenText(b, *syntheticMB<<20)
	} else {
		var err error
		if text, err = io.ReadAll(syntheticLog(b, name, *syntheticMB<<20)); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	return text
}

// BenchmarkRead reads and understands.
func BenchmarkRead(b *testing.B) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			text := syntheticText(b, name)
			for b.Loop() {
				if log, err := Read(bytes.NewReader(text)); err != nil || len(log.Requests()) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodingJSON has encoding/json make the same of each line, and
// understands it the same way: what BenchmarkRead is measured by.
func BenchmarkEncodingJSON(b *testing.B) {
	for _, name := range benchmarked {
		b.Run(name, func(b *testing.B) {
			text := syntheticText(b, name)
			for b.Loop() {
				if log := readByLine(b, text); len(log.Requests()) == 0 {
					b.Fatal("no requests")
				}
			}
		})
	}
}

// lineEvent is an event with parameters as chromefile has them: to be looked at.
type lineEvent struct {
	Params json.RawMessage `json:"params"`
	Phase  int             `json:"phase"`
	Source struct {
		ID   int64 `json:"id"`
		Type int64 `json:"type"`
	} `json:"source"`
	Time string `json:"time"`
	Type int64  `json:"type"`
}

func readByLine(b *testing.B, text []byte) *Log {
	constants, err := chromefile.ReadConstants(bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	events, sources := inverse(constants.EventTypes), inverse(constants.SourceTypes)
	c, opened := newChrome(new(ReadOptions)), 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e lineEvent
		line := bytes.TrimRight(lines.Bytes(), ",]")
		if json.Unmarshal(line, &e) != nil || e.Time == "" {
			continue
		}
		ms, _ := strconv.ParseInt(e.Time, 10, 64)
		one := chromefile.Event{
			Name: events[e.Type], Phase: chromefile.Phase(e.Phase),
			Source: chromefile.Source{ID: e.Source.ID, Type: sources[e.Source.Type]},
			Time:   constants.Zero.Add(time.Duration(ms) * time.Millisecond),
			Params: chromefile.Params(e.Params),
		}
		c.see(&one)
		opened++
	}
	return c.conclude(&chromefile.Found{Events: opened, Constants: constants})
}

func inverse(m map[string]int64) map[int64]string {
	out := make(map[int64]string, len(m))
	for name, n := range m {
		out[n] = name
	}
	return out
}

// TestPeakMemory: beyond what the Log itself takes, reading takes little.
func TestPeakMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that what is measured is what is held
	r := &watched{r: syntheticLog(t, "h1tls", *syntheticMB<<20)}
	runtime.GC()
	start := heapInUse()
	log, err := Read(r)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	model := heapInUse() - start
	allowed := int64(2<<20 + *syntheticMB<<20/6) // to remember sources by, and what the collector lets pile up
	if beyond := int64(r.peak) - int64(start) - int64(model); beyond > allowed {
		t.Errorf("%d MB at the peak for a log of %d MB that takes %d MB", beyond>>20, *syntheticMB, model>>20)
	} else {
		t.Logf("%d MB: at the peak %d kB more than the %d kB of the log (%d requests)", *syntheticMB, beyond>>10, model>>10, len(log.Requests()))
	}
}

type watched struct {
	r    io.Reader
	n    int
	peak uint64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.n++; w.n%8 == 0 {
		w.peak = max(w.peak, heapInUse())
	}
	return w.r.Read(p)
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
