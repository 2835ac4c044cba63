package downgrade

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
)

var update = flag.Bool("update", false, "write the pictures in testdata and the tables in the README anew")

// TestPictures draws the three modes in virtual time, and holds what is in
// testdata to it.
func TestPictures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := setUp(t, linkdelay.NewNetwork(t, linkdelay.Link{}), nil)
		var modes []netlog.Named
		for _, r := range s.routes() {
			v := r.load(t, s.site.URL)
			modes = append(modes, netlog.Named{Name: v.name, Log: v.Log, Done: v.Duration})
		}
		for i, name := range []string{"waterfall-direct.svg", "waterfall-proxy-http1.svg", "waterfall-proxy-h2.svg"} {
			current(t, name, func(b *bytes.Buffer) error {
				return netlog.WriteWaterfalls(b, &netlog.WaterfallOptions{Span: 7300 * time.Millisecond}, modes[i])
			})
		}
		current(t, "lanes.svg", func(b *bytes.Buffer) error {
			return netlog.WriteWaterfalls(b, &netlog.WaterfallOptions{Title: "One page of 171 requests, three ways", Lanes: true}, modes...)
		})
		current(t, "comparison.md", func(b *bytes.Buffer) error { return netlog.WriteComparison(b, modes...) })
	})
}

// current fails unless the file is what write writes.
func current(t *testing.T, name string, write func(*bytes.Buffer) error) {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, write(&text))
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, text.Bytes(), 0o644))
	}
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Equal(kept, text.Bytes()) {
		t.Errorf("%s is not what is drawn now; go test -run %s -update writes it anew", path, t.Name())
	}
}
