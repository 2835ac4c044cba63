package mitm_test

import (
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
)

// h2spec asks a server some hundred and fifty questions about HTTP/2. What origin
// and the proxy's client leg get wrong must be what net/http gets wrong in the
// same run, of which they are made.
func TestH2spec(t *testing.T) {
	if raceDetector {
		t.Skip("it has nothing to say about races")
	}
	t.Parallel() // it waits more than it works
	program := tool(t, "h2spec", "go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible")
	authority := ca.New(t, nil)
	page := handler(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, strings.Repeat("h2spec wants some bytes. ", 40))
	})
	plain := strings.TrimPrefix(served(t, authority, alpn.H2, page), "https://")
	site := origin.New(t, &origin.Config{CA: authority, Handler: page, ALPN: alpn.Only(alpn.H2)})
	proxy := mitm.New(t, &mitm.Config{CA: authority, RootCAs: authority.Pool(), Downstream: mitm.Leg{ALPN: alpn.Only(alpn.H2)}})
	targets := map[string]string{"net/http": plain, "origin": site.Addr, "mitm": inside(t, proxy, site.Addr)}

	failed := make(map[string][]string)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, addr := range targets {
		wg.Go(func() {
			found := h2spec(t, program, addr)
			mu.Lock()
			defer mu.Unlock()
			failed[name] = found
		})
	}
	wg.Wait()
	t.Logf("net/http itself fails %d: %q", len(failed["net/http"]), failed["net/http"])
	for _, name := range []string{"origin", "mitm"} {
		for _, one := range failed[name] {
			assert.Contains(t, failed["net/http"], one, "%s fails it, and net/http does not", name)
		}
	}
}

// tool is the path of a program. Without it the test is skipped, or fails where
// WIRETEST_REQUIRE_TOOLS is set.
func tool(t *testing.T, name, install string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("WIRETEST_REQUIRE_TOOLS") != "":
		t.Fatalf("%s is not installed (%s), and WIRETEST_REQUIRE_TOOLS is set", name, install)
	default:
		t.Skipf("%s is not installed: %s", name, install)
	}
	return ""
}

// inside is an address where each connection is one to target by CONNECT through
// proxy.
func inside(t *testing.T, proxy *mitm.Proxy, target string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { splice(t, conn, proxy, target) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		proxy.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func splice(t *testing.T, conn net.Conn, proxy *mitm.Proxy, target string) {
	defer conn.Close()
	through, err := proxy.DialContext(t.Context(), "tcp", target)
	if err != nil {
		return
	}
	defer through.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		io.Copy(through, conn)
		through.(interface{ CloseWrite() error }).CloseWrite()
	})
	io.Copy(conn, through)
	conn.(interface{ CloseWrite() error }).CloseWrite()
	conn.Close() // h2spec may go on listening
	wg.Wait()
}

// h2spec returns the cases that fail.
func h2spec(t *testing.T, program, addr string) (failed []string) {
	host, port, _ := net.SplitHostPort(addr)
	report := filepath.Join(t.TempDir(), "report.xml")
	out, err := exec.CommandContext(t.Context(), program, "-h", host, "-p", port, "-t", "-k", "-j", report).CombinedOutput()
	var suites struct {
		Suites []struct {
			Cases []struct {
				Package string    `xml:"package,attr"`
				Class   string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	written, _ := os.ReadFile(report)
	if bad := xml.Unmarshal(written, &suites); bad != nil {
		t.Errorf("h2spec %s: %v, %v\n%s", addr, err, bad, out)
		return nil
	}
	cases := 0
	for _, suite := range suites.Suites {
		for _, c := range suite.Cases {
			cases++
			if c.Failure != nil || c.Error != nil {
				failed = append(failed, c.Package+": "+c.Class)
			}
		}
	}
	if cases < 100 {
		t.Errorf("h2spec %s asked only %d questions:\n%s", addr, cases, out)
	}
	slices.Sort(failed)
	return failed
}
