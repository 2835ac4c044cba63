package origin_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// curlTransfer is what curl says of one transfer.
type curlTransfer struct{ Exit, Status, Connects, Bytes int }

// curlAsks has one curl ask for each path, one after the other; one that begins with
// http is another origin's. It soon gives up what ends with #hangs.
func curlAsks(t *testing.T, s *origin.Server, args []string, paths ...string) (all []curlTransfer, said string) {
	t.Helper()
	each := append([]string{
		"-sS", "--noproxy", "*", "--cacert", caFile(t, s.CA()), "-o", os.DevNull,
		"-w", "%{stderr}= %{exitcode} %{http_code} %{num_connects} %{size_download}\n",
	}, args...)
	args = nil
	for i, path := range paths {
		if i > 0 {
			args = append(args, "--next")
		}
		patience := "60"
		if strings.HasSuffix(path, hangs) {
			patience = "2"
		}
		if !strings.HasPrefix(path, "http") {
			path = s.URL + path
		}
		args = slices.Concat(args, each, []string{"-m", patience, path})
	}
	said, _ = curlOut(t, tool(t, "curl", "curl"), args...)
	for line := range strings.Lines(said) {
		var one curlTransfer
		if _, err := fmt.Sscanf(line, "= %d %d %d %d", &one.Exit, &one.Status, &one.Connects, &one.Bytes); err == nil {
			all = append(all, one)
		}
	}
	require.Len(t, all, len(paths), said)
	return all, said
}

// ofLedger is the sum of what the ledger has, to be compared with sumOf.
func ofLedger(log *netlog.Log) (connections, well, bytes int) {
	for _, q := range log.Requests() {
		if q.Err == "" {
			well++
		}
		bytes += int(q.BodyBytesDown)
	}
	return len(log.Connections(netlog.Used())), well, bytes
}

func sumOf(all []curlTransfer) (connections, well, bytes int) {
	for _, one := range all {
		if connections += one.Connects; one.Exit == 0 {
			well++
		}
		bytes += one.Bytes
	}
	return connections, well, bytes
}

// hangs is the fragment, which nobody sends, of what curl has to give up.
const hangs = "#hangs"

// hanging are the exit codes where curl has given up; nothing else takes it long.
var hanging = []int{28}

// patiently marks the path that hangs, if that is how it ends.
func patiently(path string, exits []int) string {
	if slices.Equal(exits, hanging) {
		return path + hangs
	}
	return path
}

// What curl says of each fault of the second of three requests, by its exit code
// (which differs between versions of curl), and whether the sum of its
// connections, successes and bytes is the ledger's. What was refused it sends
// again by itself.
func TestCurlAgreesWithTheLedgerOfFaults(t *testing.T) {
	tool(t, "curl", "curl")
	leavesNothing(t)
	well := []int{0}
	for name, c := range map[string]struct {
		do     origin.Action
		h2, h1 []int
	}{
		"GoAway":      {origin.GoAway, []int{16, 0, 56}, well},
		"GoAwayWith":  {origin.GoAwayWith(http2.ErrCodeEnhanceYourCalm, "too_many_pings"), []int{16, 0, 56}, well},
		"GoAwayAt":    {origin.GoAwayAt(1<<31-1, http2.ErrCodeNo, "soon"), well, well},
		"LastOne":     {origin.LastOne, well, well},
		"Refuse":      {origin.Refuse, well, well},
		"Reset":       {origin.Reset, []int{92}, well},
		"ResetWith":   {origin.ResetWith(http2.ErrCodeEnhanceYourCalm), []int{92}, well},
		"Hang":        {origin.Hang, hanging, hanging},
		"Pings":       {origin.Pings(100), well, well},
		"Settings":    {origin.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 16 << 10}), well, well},
		"ResetAfter":  {origin.ResetAfter(3, http2.ErrCodeCancel), []int{92}, []int{56, 18}},
		"CloseAfter":  {origin.CloseAfter(3), []int{18, 92, 56}, []int{18}},
		"AbortAfter":  {origin.AbortAfter(3), []int{56, 18, 92}, []int{56, 18}},
		"NoContinue":  {origin.NoContinue, well, well},
		"CloseBehind": {origin.CloseBehind, well, well},
	} {
		for proto, exits := range map[string][]int{alpn.H2: c.h2, alpn.HTTP11: c.h1} {
			t.Run(name+" "+proto, func(t *testing.T) {
				t.Parallel() // some hang
				s := origin.New(t, &origin.Config{Handler: hello, ALPN: alpn.Only(proto), Faults: []origin.Fault{{Request: 2, Do: c.do}}})
				told, said := curlAsks(t, s, nil, "/0", patiently("/1", exits), "/2")
				s.Close()
				assert.Zero(t, told[0].Exit, said)
				assert.Contains(t, exits, told[1].Exit, said)
				connects, succeeded, bytes := sumOf(told)
				used, answered, sent := ofLedger(s.Log())
				assert.Equal(t, []int{connects, succeeded}, []int{used, answered}, "connections and successes by curl and by the ledger; %s", said)
				if name != "AbortAfter" && name != "ResetAfter" { // by which bytes may be lost
					assert.Equal(t, bytes, sent, "bytes by curl and by the ledger")
				}
			})
		}
	}
}

// A curl whose connection gets no further than TLS, if as far as that.
func TestCurlMakesOfConnectionFaults(t *testing.T) {
	leavesNothing(t)
	for name, c := range map[string]struct {
		do    func(context.Context, net.Conn)
		exits []int
	}{
		"NeverRead":       {origin.NeverRead, hanging},
		"NeverShakeHands": {origin.NeverShakeHands, hanging},
		"HangUp":          {origin.HangUp, []int{35}},
		"HangUpHard":      {origin.HangUpHard, []int{35, 56}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some hang
			s := origin.New(t, &origin.Config{Handler: hello, ConnectionFaults: []origin.ConnectionFault{{Connection: 1, Do: c.do}}})
			told, said := curlAsks(t, s, nil, patiently("/0", c.exits), "/1")
			s.Close()
			assert.Contains(t, c.exits, told[0].Exit, said)
			assert.Zero(t, told[1].Exit, "the next connection: %s", said)
			assert.Equal(t, "closed by a fault", s.Log().Connections()[0].CloseReason)
			netlog.RequireConnections(t, s.Log(), 1, alpn.H2, netlog.Used())
		})
	}
}

// A curl that asks again when the origin has closed, or reset, what had rested for too
// long: a connection for each. Where it is not closed, one for all. Over HTTP/2 some
// versions take a connection that was closed without GOAWAY for one that can be used,
// and fail.
func TestCurlAndIdleConnections(t *testing.T) {
	const long = time.Second // a busy machine needs a while between a handshake and a request
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		for name, c := range map[string]struct {
			cfg   origin.Config
			conns int
		}{
			"kept":   {origin.Config{}, 1},
			"closed": {origin.Config{IdleTimeout: long}, 3},
			"reset":  {origin.Config{IdleTimeout: long, IdleReset: true}, 3},
		} {
			t.Run(name+" "+proto, func(t *testing.T) {
				t.Parallel() // they rest
				cfg := c.cfg
				cfg.Handler, cfg.ALPN = hello, alpn.Only(proto)
				s := origin.New(t, &cfg)
				rest := origin.New(t, &origin.Config{Plain: true, Handler: answersWhen(func() bool { return cfg.IdleTimeout == 0 || openOf(s.Log()) == 0 })}).URL
				told, said := curlAsks(t, s, nil, "/0", rest, "/1", rest, "/2")
				connects, succeeded, _ := sumOf([]curlTransfer{told[0], told[2], told[4]})
				used, answered, _ := ofLedger(s.Log())
				assert.Equal(t, []int{used, answered}, []int{connects, succeeded}, "connections and successes; %s", said)
				if proto == alpn.HTTP11 || c.conns == 1 {
					assert.Equal(t, []int{c.conns, 3}, []int{connects, succeeded}, said)
				}
			})
		}
	}
}

// answersWhen answers as soon as that is so.
func answersWhen(so func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for !so() && r.Context().Err() == nil {
			<-time.After(time.Millisecond)
		}
	})
}

// openOf is how many connections are open.
func openOf(log *netlog.Log) int {
	now := time.Now()
	return len(log.Connections(netlog.Between(now, now)))
}

// Keep-alive is off where every request is its connection's last.
func TestCurlWithoutKeepAlive(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		s := origin.New(t, &origin.Config{Handler: hello, ALPN: alpn.Only(proto), Faults: []origin.Fault{{Do: origin.LastOne}}})
		told, said := curlAsks(t, s, nil, "/0", "/1", "/2")
		connects, succeeded, _ := sumOf(told)
		assert.Equal(t, []int{3, 3}, []int{connects, succeeded}, "%s: %s", proto, said)
		netlog.RequireConnections(t, s.Log(), 3, proto, netlog.Used())
	}
}

// Redirects over two origins, each of which has its part in its own ledger; the
// hints before them, which once broke clients (caddy#5616), are many.
func TestCurlFollowsRedirectsBehindHints(t *testing.T) {
	for _, proto := range []string{alpn.H2, alpn.HTTP11} {
		authority := must(ca.Generate(nil))
		far := origin.New(t, &origin.Config{CA: authority, Handler: hello, ALPN: alpn.Only(proto)})
		hinted := origin.EarlyHints(0, http.RedirectHandler(far.URL+"/there", http.StatusFound), "</a>", "</b>", "</c>", "</d>")
		near := origin.New(t, &origin.Config{CA: authority, Handler: hinted, ALPN: alpn.Only(proto)})
		told, said := curlAsks(t, near, []string{"-L"}, "/here")
		assert.Equal(t, curlTransfer{Status: 200, Connects: 2, Bytes: 5}, told[0], said)
		assert.Len(t, near.Log().Requests(netlog.Status(302)), 1)
		assert.Equal(t, far.URL+"/there", far.Log().Requests()[0].URL)
	}
}

// A client certificate that is required: without one curl is refused, and by TLS
// 1.3 learns of it when it believes that the handshake is over.
func TestCurlNeedsAClientCertificate(t *testing.T) {
	tool(t, "curl", "curl")
	authority := must(ca.Generate(nil))
	cert, key, err := authority.Issue("alice@example.com").WriteFiles(t.TempDir())
	require.NoError(t, err)
	for _, version := range []string{"--tls-max=1.2", "--tlsv1.3"} {
		s := origin.New(t, &origin.Config{
			CA: authority, Handler: whoami,
			TLS: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()},
		})
		version := strings.Split(version, "=")
		told, said := curlAsks(t, s, version, "/")
		assert.Contains(t, []int{35, 55, 56, 92, 16, 52}, told[0].Exit, "%s: %s", version, said)
		told, said = curlAsks(t, s, append([]string{"--cert", cert, "--key", key}, version...), "/")
		assert.Equal(t, curlTransfer{Status: 200, Connects: 1, Bytes: len("alice@example.com")}, told[0], "%s: %s", version, said)
		s.Close()
		netlog.RequireConnections(t, s.Log(), 1, alpn.H2, netlog.Used())
		assert.Contains(t, s.Log().Connections()[0].CloseReason, "client didn't provide a certificate")
	}
}

var reused = regexp.MustCompile(`(?m)^(New|Reused), `)

// OpenSSL resumes as the ledger says: with a ticket, until the keys were rotated.
func TestOpenSSLResumes(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	s := origin.New(t, &origin.Config{Handler: hello, TLS: &tls.Config{MaxVersion: tls.VersionTLS12}}) // whose ticket comes within the handshake
	session := filepath.Join(t.TempDir(), "session.pem")
	visit := func(how string) string {
		cmd := exec.CommandContext(t.Context(), openssl, "s_client", "-connect", s.Addr, how, session)
		cmd.Stdin = strings.NewReader("Q\n")
		out, _ := cmd.CombinedOutput()
		found := reused.FindSubmatch(out)
		require.NotNil(t, found, "%s", out)
		return string(found[1])
	}
	told := []string{visit("-sess_out"), visit("-sess_in")}
	s.RotateTickets()
	told = append(told, visit("-sess_in"))
	assert.Equal(t, []string{"New", "Reused", "New"}, told)
	s.Close()
	for i, c := range s.Log().Connections() {
		assert.Equal(t, told[i] == "Reused", c.Resumed, "connection %d", c.ID)
	}
}

// h2load, whose answers of 429 are the ledger's, and the limiter's.
func TestH2loadIsLimited(t *testing.T) {
	h2load := tool(t, "h2load", "nghttp2-client")
	limit := origin.Limit{Concurrent: 2, Refuse: true}.Handler(origin.Work(20e6, hello))
	s := origin.New(t, &origin.Config{Handler: limit})
	out := run(t, h2load, "-n", "40", "-c", "2", "-m", "5", s.URL)
	classes := h2loadStatus.FindStringSubmatch(out)
	counts := limit.Counts()
	assert.Equal(t, []string{fmt.Sprint(counts.Admitted), "0", fmt.Sprint(counts.Refused), "0"}, classes[1:], out)
	assert.Len(t, s.Log().Requests(netlog.Status(429)), counts.Refused)
	assert.LessOrEqual(t, counts.Peak, 2)
}

var (
	h2loadRequests = regexp.MustCompile(`requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored`)
	updated        = regexp.MustCompile(`recv WINDOW_UPDATE frame`)
)

// h2load, of whose requests every fifth is reset.
func TestH2loadCountsResets(t *testing.T) {
	h2load := tool(t, "h2load", "nghttp2-client")
	var faults []origin.Fault
	for n := 5; n <= 40; n += 5 {
		faults = append(faults, origin.Fault{Request: n, Do: origin.ResetWith(http2.ErrCodeEnhanceYourCalm)})
	}
	s := origin.New(t, &origin.Config{Handler: hello, Faults: faults})
	out := run(t, h2load, "-n", "40", "-c", "2", "-m", "4", s.URL)
	s.Close()
	_, well, bytes := ofLedger(s.Log())
	require.Regexp(t, h2loadRequests, out)
	assert.Equal(t, []string{"40", "40", "40", fmt.Sprint(well), "8", "8"}, h2loadRequests.FindStringSubmatch(out)[1:], out)
	assert.Equal(t, h2loadTraffic.FindStringSubmatch(out)[1], fmt.Sprint(bytes))
	netlog.RequireConnections(t, s.Log(), 2, alpn.H2, netlog.Used())
}

// nghttp uploads through windows of 1,024 bytes, with as many frames that widen
// them as the origin has sent. It waits for 100, and so for the settings, before
// which it might send too much.
func TestNghttpUploadsThroughTinyWindows(t *testing.T) {
	nghttp := tool(t, "nghttp", "nghttp2-client")
	body := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(body, make([]byte, 100_000), 0o600))
	controls := make(chan *wire.Control, 1)
	s := origin.New(t, &origin.Config{
		StreamWindow: 1024, ConnWindow: 1 << 16, Prepare: func(c *wire.Control) { controls <- c },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); io.WriteString(w, "hello") }),
	})
	out := run(t, nghttp, "-nv", "--no-verify-peer", "--expect-continue", "-d", body, s.URL)
	assert.Contains(t, out, "SETTINGS_INITIAL_WINDOW_SIZE(0x04):1024")
	s.Close()
	sent := (<-controls).Frames().Down[http2.FrameWindowUpdate]
	assert.Greater(t, sent, 90)
	assert.Len(t, updated.FindAllString(out, -1), sent, "frames that nghttp received")
	assert.EqualValues(t, 100_000, s.Log().Requests()[0].BodyBytesUp)
}

// Node's fetch sees the hosts' 421 and the body's Content-Length as the ledger.
func TestNodeSeesAnswers(t *testing.T) {
	node := tool(t, "node", "nodejs")
	s := origin.New(t, &origin.Config{Handler: origin.Body{Size: 1000, Chunk: 100}})
	script := `const h=require("http2").connect(process.argv[1],{ca:require("fs").readFileSync(process.argv[2])});` +
		`const r=h.request({":path":"/"});let n=0;r.on("response",x=>console.log(x[":status"],x["content-length"]));` +
		`r.on("data",d=>n+=d.length);r.on("end",()=>{console.log(n);h.close()})`
	out := run(t, node, "-e", script, s.URL, caFile(t, s.CA()))
	assert.Equal(t, "200 1000\n1000\n", out)
	netlog.RequireConnections(t, s.Log(), 1, alpn.H2)
}

// curlOut is what curl writes, and its exit code.
func curlOut(t *testing.T, curl string, args ...string) (string, int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}
