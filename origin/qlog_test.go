package origin_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/origin"
)

func TestFailedTestKeepsTheQlog(t *testing.T) {
	folder := t.TempDir()
	tb := &keeper{recorder: recorder{TB: t}, folder: folder}
	s := origin.New(tb, &origin.Config{Handler: hello, HTTP3: &origin.HTTP3{}})
	get(t, &http.Client{Transport: s.HTTP3Transport(nil)}, s.URL)
	tb.Error("the test fails")
	tb.finish()
	files, err := filepath.Glob(filepath.Join(folder, "*_server.sqlog"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text := string(must(os.ReadFile(files[0])))
	for _, want := range []string{`"vantage_point":{"type":"server"}`, `"transport:packet_received"`, `"http3:frame_parsed"`, `"transport:connection_closed"`} {
		assert.Contains(t, text, want)
	}
	for _, record := range strings.Split(strings.TrimPrefix(text, "\x1e"), "\x1e") {
		assert.JSONEq(t, record, record)
	}
}

// keeper is a recorder whose artifacts have a folder.
type keeper struct {
	recorder
	folder string
}

func (k *keeper) ArtifactDir() string { return k.folder }
