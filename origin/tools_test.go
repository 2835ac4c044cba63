package origin_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// tool is the path of a program. Without it the test is skipped, or fails where
// WIRETEST_REQUIRE_TOOLS says that nothing may be skipped.
func tool(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
		t.Fatalf("%s is not installed: it is in the Debian package %s", program, debian)
	}
	t.Skipf("%s is not installed: it is in the Debian package %s", program, debian)
	return ""
}

// run returns what a program writes to its standard output.
func run(t *testing.T, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "no_proxy=*", "NO_PROXY=*")
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", filepath.Base(path), stderr.String())
	return string(out)
}

// statuses answers /status/404 with 404, and takes a little for it so that
// parallel requests overlap.
var statuses = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
	if err != nil {
		n = 500
	}
	w.WriteHeader(n)
	fmt.Fprintln(w, n)
})

func statusURLs(s *origin.Server) (urls []string) {
	for i := range 24 {
		urls = append(urls, fmt.Sprintf("%s/status/%d?%d", s.URL, []int{200, 201, 404, 503}[i%4], i))
	}
	return urls
}

// seen is one request as either side tells it.
type seen struct {
	URL      string
	Status   int
	Protocol string
	Port     string // of the client's end of the connection
}

func byURL(a, b seen) int { return strings.Compare(a.URL, b.URL) }

// ledger is what the origin recorded; keep says what the tool tells too.
func ledger(t *testing.T, s *origin.Server, keep func(*seen)) (all []seen) {
	t.Helper()
	for _, q := range s.Log().Requests() {
		require.NotNil(t, q.Connection, q.URL)
		_, port, err := net.SplitHostPort(q.Connection.Remote)
		require.NoError(t, err)
		one := seen{q.URL, q.Status, q.Protocol, port}
		keep(&one)
		all = append(all, one)
	}
	slices.SortFunc(all, byURL)
	return all
}

func caFile(t *testing.T, authority *ca.Authority) string {
	name := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(name, authority.PEM(), 0o600))
	return name
}

func TestCurlAgreesWithTheLedger(t *testing.T) {
	curl := tool(t, "curl", "curl")
	for _, c := range []struct {
		name, proto string
		args        []string
		conns       int // 0 is "what curl says"
	}{
		{"h1", alpn.HTTP11, []string{"--http1.1"}, 1},
		{"h2", alpn.H2, []string{"--http2"}, 1},
		{"h1 without ALPN", alpn.HTTP11, []string{"--no-alpn"}, 1},
		{"h1 in parallel", alpn.HTTP11, []string{"--http1.1", "-Z", "--parallel-max", "5"}, 0},
		{"h2 in parallel", alpn.H2, []string{"--http2", "-Z", "--parallel-max", "50"}, 1},
		{"h2 in parallel at once", alpn.H2, []string{"--http2", "-Z", "--parallel-immediate", "--parallel-max", "50"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			leavesNothing(t)
			s := origin.New(t, &origin.Config{Handler: statuses})
			args := append([]string{"-sS", "--no-progress-meter", "--cacert", caFile(t, s.CA()), "-w", `%{stderr}%{url_effective} %{http_code} %{http_version} %{local_port}\n`}, c.args...)
			for _, url := range statusURLs(s) {
				args = append(args, "-o", os.DevNull, url)
			}
			// Written to its standard error, for -w counts there too with -Z.
			told := curlTold(t, runStderr(t, curl, args...))
			assert.Equal(t, told, ledger(t, s, func(*seen) {}))
			conns := c.conns
			if conns == 0 {
				conns = len(portsOf(told))
			}
			netlog.RequireConnections(t, s.Log(), conns, c.proto, netlog.Used())
		})
	}
}

func runStderr(t *testing.T, path string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "no_proxy=*", "NO_PROXY=*")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", filepath.Base(path), out)
	return string(out)
}

func curlTold(t *testing.T, out string) (all []seen) {
	t.Helper()
	for line := range strings.Lines(out) {
		var one seen
		var version string
		_, err := fmt.Sscanf(line, "%s %d %s %s\n", &one.URL, &one.Status, &version, &one.Port)
		require.NoError(t, err, "line %q", line)
		one.Protocol = map[string]string{"1.1": alpn.HTTP11, "2": alpn.H2}[version]
		all = append(all, one)
	}
	slices.SortFunc(all, byURL)
	return all
}

func portsOf(all []seen) map[string]int {
	ports := make(map[string]int)
	for _, one := range all {
		ports[one.Port]++
	}
	return ports
}

// nghttpLine is a line of nghttp's statistics: id, responseEnd, requestStart,
// process, code, size, request path.
var nghttpLine = regexp.MustCompile(`(?m)^ *\d+ +\S+ +\S+ +\S+ +(\d+) +\S+ +(/\S*)$`)

func TestNghttpAgreesWithTheLedger(t *testing.T) {
	nghttp := tool(t, "nghttp", "nghttp2-client")
	s := origin.New(t, &origin.Config{Handler: statuses})
	out := run(t, nghttp, append([]string{"-ns", "--no-verify-peer"}, statusURLs(s)...)...)
	var told []seen
	for _, m := range nghttpLine.FindAllStringSubmatch(out, -1) {
		told = append(told, seen{URL: s.URL + m[2], Status: must(strconv.Atoi(m[1])), Protocol: alpn.H2})
	}
	slices.SortFunc(told, byURL)
	require.Len(t, told, 24, out)
	assert.Equal(t, told, ledger(t, s, func(one *seen) { one.Port = "" }))
	netlog.RequireConnections(t, s.Log(), 1, alpn.H2)
}

func TestNghttpLoadsThePublishedPage(t *testing.T) {
	nghttp := tool(t, "nghttp", "nghttp2-client")
	s := origin.New(t, nil)
	out := run(t, nghttp, append([]string{"-ns", "--no-verify-peer", s.URL + "/"}, s.Assets()...)...)
	assert.Len(t, nghttpLine.FindAllString(out, -1), 171)
	netlog.RequireConnections(t, s.Log(), 1, alpn.H2)
	assert.Len(t, s.Log().Requests(netlog.Status(200)), 171)
}

var (
	h2loadStatus  = regexp.MustCompile(`status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx`)
	h2loadTraffic = regexp.MustCompile(`traffic: .*, \S+ \((\d+)\) data`)
)

func TestH2loadAgreesWithTheLedger(t *testing.T) {
	h2load := tool(t, "h2load", "nghttp2-client")
	leavesNothing(t)
	for _, c := range []struct {
		proto string
		args  []string
	}{{alpn.H2, nil}, {alpn.HTTP11, []string{"--h1"}}} {
		s := origin.New(t, &origin.Config{Handler: statuses})
		out := run(t, h2load, slices.Concat(c.args, []string{"-n", "48", "-c", "4", "-m", "6"}, statusURLs(s)[:4])...)
		require.Regexp(t, h2loadStatus, out)
		require.Regexp(t, h2loadTraffic, out)

		netlog.RequireConnections(t, s.Log(), 4, c.proto, netlog.Used())
		for _, conn := range s.Log().Connections(netlog.Used()) {
			assert.Equal(t, 12, conn.Requests, "requests of connection %d", conn.ID)
			assert.LessOrEqual(t, conn.MaxStreams, 6, "streams of connection %d", conn.ID)
		}
		count, data := [6]int{}, int64(0)
		for _, q := range s.Log().Requests() {
			count[q.Status/100]++
			data += q.BodyBytesDown
		}
		classes := h2loadStatus.FindStringSubmatch(out)
		assert.Equal(t, classes[1:], []string{fmt.Sprint(count[2]), fmt.Sprint(count[3]), fmt.Sprint(count[4]), fmt.Sprint(count[5])}, "%s: status codes", c.proto)
		assert.Equal(t, h2loadTraffic.FindStringSubmatch(out)[1], fmt.Sprint(data), "%s: body bytes", c.proto)
	}
}
