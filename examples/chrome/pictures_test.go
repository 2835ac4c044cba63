package chrome

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
)

var update = flag.Bool("update", false, "write the pictures and the table in testdata anew, from a run of the browser")

// pictures are what testdata has: the three modes below each other as lanes, the
// waterfall of each on the same axis, and a table.
func pictures(t *testing.T, visits []*visit) map[string][]byte {
	t.Helper()
	var modes []netlog.Named
	span := time.Duration(0)
	for _, v := range visits {
		modes = append(modes, netlog.Named{Name: v.name, Log: v.browser, Done: v.report.Done, Filters: v.withoutReport()})
		span = max(span, v.report.Done+v.report.Done/32)
	}
	files := make(map[string][]byte)
	draw := func(name string, opt *netlog.WaterfallOptions, some ...netlog.Named) {
		var svg bytes.Buffer
		require.NoError(t, netlog.WriteWaterfalls(&svg, opt, some...))
		files[name] = svg.Bytes()
	}
	_, version, _ := strings.Cut(visits[0].version, "/")
	major, _, _ := strings.Cut(version, ".")
	title := "One page of 171 requests in Chromium " + major
	draw("lanes.svg", &netlog.WaterfallOptions{Title: title, Lanes: true, Span: span}, modes...)
	for i, name := range []string{"waterfall-direct.svg", "waterfall-proxy-http1.svg", "waterfall-proxy-h2.svg"} {
		draw(name, &netlog.WaterfallOptions{Title: title, Span: span}, modes[i])
	}
	var table bytes.Buffer
	require.NoError(t, netlog.WriteComparison(&table, modes...))
	files["comparison.md"] = table.Bytes()
	return files
}

// withoutReport leaves out the page's report to its origin, which begins when
// all else has ended.
func (v *visit) withoutReport() []netlog.Filter {
	var ended time.Time
	for _, q := range page(v.browser.Requests()) {
		if q.End.After(ended) {
			ended = q.End
		}
	}
	return []netlog.Filter{netlog.Between(time.Time{}, ended.Add(-time.Millisecond))} // of the clock's grain
}

// keepPictures draws them in every run, and keeps them if told to.
func keepPictures(t *testing.T, visits []*visit) {
	t.Helper()
	for name, text := range pictures(t, visits) {
		require.NotEmpty(t, text, name)
		if *update {
			require.NoError(t, os.WriteFile(filepath.Join("testdata", name), text, 0o644))
		}
	}
}
