package origin_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

// What curl says of each fault, by its exit code, and what the ledger has of it.
// A refused request it sends again by itself.
func TestCurlMakesOfFaults(t *testing.T) {
	curl := tool(t, "curl", "curl")
	leavesNothing(t)
	for name, c := range map[string]struct {
		do    origin.Action
		proto string
		exits []int // as versions of curl differ
		err   string
	}{
		"reset":         {origin.ResetWith(http2.ErrCodeEnhanceYourCalm), alpn.H2, []int{92}, "RST_STREAM ENHANCE_YOUR_CALM sent by server"},
		"reset h1":      {origin.Reset, alpn.HTTP11, []int{56, 52, 35}, "connection closed before the answer ended: reset by server"},
		"cut":           {origin.ResetAfter(3, http2.ErrCodeInternal), alpn.H2, []int{92}, "RST_STREAM INTERNAL_ERROR sent by server"},
		"cut h1":        {origin.CloseAfter(3), alpn.HTTP11, []int{18, 56}, "connection closed before the answer ended: closed by server"},
		"hang":          {origin.Hang, alpn.H2, []int{28}, "RST_STREAM CANCEL sent by client"},
		"last":          {origin.LastOne, alpn.H2, []int{0}, ""},
		"settings":      {origin.Settings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 16 << 10}), alpn.H2, []int{0}, ""},
		"closed behind": {origin.CloseBehind, alpn.HTTP11, []int{0}, ""},
	} {
		s := origin.New(t, &origin.Config{Handler: hello, ALPN: alpn.Only(c.proto), Faults: []origin.Fault{{Request: 1, Do: c.do}}})
		out, err := exec.CommandContext(t.Context(), curl, "-sS", "-m", "2", "--noproxy", "*", "--cacert", caFile(t, s), s.URL).CombinedOutput()
		code := 0
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		}
		assert.Contains(t, c.exits, code, "%s: %s", name, out)
		s.Close()
		all := s.Log().Requests()
		if assert.Len(t, all, 1, name) && c.err != "RST_STREAM CANCEL sent by client" {
			assert.Equal(t, c.err, all[0].Err, name)
		}
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

// Node's fetch sees the hosts' 421 and the body's Content-Length as the ledger.
func TestNodeSeesAnswers(t *testing.T) {
	node := tool(t, "node", "nodejs")
	s := origin.New(t, &origin.Config{Handler: origin.Body{Size: 1000, Chunk: 100}})
	script := `const h=require("http2").connect(process.argv[1],{ca:require("fs").readFileSync(process.argv[2])});` +
		`const r=h.request({":path":"/"});let n=0;r.on("response",x=>console.log(x[":status"],x["content-length"]));` +
		`r.on("data",d=>n+=d.length);r.on("end",()=>{console.log(n);h.close()})`
	out := run(t, node, "-e", script, s.URL, caFile(t, s))
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
