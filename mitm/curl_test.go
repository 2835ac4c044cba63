package mitm_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// curl runs it through the proxy and returns what it prints.
func curl(t *testing.T, proxy *mitm.Proxy, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal("curl is not installed (Debian package curl), and WIRETEST_REQUIRE_TOOLS is set")
		}
		t.Skip("curl is not installed: Debian package curl")
	}
	authority := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(authority, proxy.CA().PEM(), 0o600))
	args = append([]string{"--silent", "--show-error", "--disable", "--max-time", "30", "--noproxy", "", "--proxy", proxy.URL, "--cacert", authority}, args...)
	cmd := exec.CommandContext(t.Context(), "curl", args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "curl %q: %s\n%s", args, &errors, proxy.Log())
	return string(out)
}

func TestCurlCountsAsTheLedgerDoes(t *testing.T) {
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			for _, parallel := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s parallel %v", pairName(down, up), parallel), func(t *testing.T) {
					curlsLedger(t, down, up, parallel)
				})
			}
		}
	}
}

func curlsLedger(t *testing.T, down, up string, parallel bool) {
	site := origin.New(t, &origin.Config{ALPN: alpn.Only(up), Handler: handler(func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscan(strings.TrimPrefix(r.URL.Path, "/"), &status)
		w.WriteHeader(status)
	})})
	proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(down)}})
	want := []string{"200", "201", "204", "304", "404", "418", "503"}
	args := []string{"--write-out", "%{http_code} %{http_version} %{ssl_verify_result}\n", "--output", "/dev/null"}
	if parallel {
		args = append(args, "-Z")
	}
	for i, status := range want {
		if i > 0 {
			args = append(args, "--output", "/dev/null")
		}
		args = append(args, site.URL+"/"+status)
	}
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(curl(t, proxy, args...)), " ", "|"))
	var got []string
	for _, line := range lines {
		status, rest, _ := strings.Cut(line, "|")
		got = append(got, status)
		version := map[string]string{alpn.HTTP11: "1.1", alpn.H2: "2"}[down]
		assert.Equal(t, version+"|0", rest)
	}
	slices.Sort(got)
	assert.Equal(t, want, got)
	for _, leg := range []netlog.Leg{mitm.Downstream, mitm.Upstream} {
		var recorded []string
		for _, q := range proxy.Log().Requests(leg) {
			recorded = append(recorded, fmt.Sprint(q.Status))
		}
		slices.Sort(recorded)
		assert.Equal(t, want, recorded, "%s leg", leg)
	}
	if down == alpn.H2 || !parallel {
		netlog.RequireConnections(t, proxy.Log(), 1, down, mitm.Downstream, netlog.Used())
	}
	if up == alpn.H2 || !parallel {
		requireInTurn(t, proxy.Log(), up, mitm.Upstream)
	}
}

func TestCurlOverPlainHTTPAndTunnel(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello})
	proxy := mitm.New(t, &mitm.Config{Passthrough: []string{"127.0.0.1"}})
	authority := filepath.Join(t.TempDir(), "site.pem")
	require.NoError(t, os.WriteFile(authority, site.CA().PEM(), 0o600))
	assert.Equal(t, "hello 2", curl(t, proxy, "--cacert", authority, "--write-out", " %{http_version}", site.URL))
	assert.Equal(t, "502", curl(t, proxy, "--write-out", "%{http_code}", "--output", "/dev/null", "http://127.0.0.1:1/"))
	assert.True(t, proxy.Log().Connections(mitm.Downstream)[0].Tunnel)
}

func TestCurlUploads(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: handler(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d of %d: %v", n, r.ContentLength, err)
	})})
	file := filepath.Join(t.TempDir(), "upload")
	require.NoError(t, os.WriteFile(file, make([]byte, 3<<20), 0o600))
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(down)}})
		assert.Equal(t, "3145728 of 3145728: <nil>", curl(t, proxy, "--upload-file", file, site.URL+"/up"), down)
	}
}
