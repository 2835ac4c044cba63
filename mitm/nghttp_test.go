package mitm_test

import (
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/wire"
	"example.com/wiretest/origin"
)

// What nghttp says of the frames of each stream is what the ledger says of it:
// ids, bytes, statuses and codes.
func TestLedgerIsWhatNghttpSaw(t *testing.T) {
	program := tool(t, "nghttp", "Debian package nghttp2-client")
	authority := ca.New(t, nil)
	site := origin.New(t, &origin.Config{CA: authority, ALPN: alpn.Only(alpn.H2), Handler: handler(func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.URL.Query().Get("reset"))
		if err == nil {
			wire.StreamOf(r).ResetAs(http2.ErrCode(code))
			panic(http.ErrAbortHandler)
		}
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		io.WriteString(w, strings.Repeat("x", n))
	})})
	proxy := mitm.New(t, &mitm.Config{CA: authority, RootCAs: authority.Pool()})
	base := "https://" + inside(t, proxy, site.Addr)
	args := []string{"-nv", "--no-verify-peer"}
	for _, query := range []string{"n=0", "n=1", "n=70000", "reset=11", "n=5", "reset=8"} {
		args = append(args, base+"/?"+query)
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	saw := nghttpStreams(t, string(out))
	downs := proxy.Log().Requests(mitm.Downstream)
	require.Len(t, downs, 6)
	require.Len(t, saw, 6, "%s", out)
	for _, q := range downs {
		s := saw[q.Stream]
		assert.Equal(t, []any{s.path, s.status, s.bytes}, []any{pathOf(q.URL), q.Status, q.BodyBytesDown}, "stream %d", q.Stream)
		if s.reset != "" {
			assert.Equal(t, "RST_STREAM "+s.reset+" sent by server", q.Err, "stream %d", q.Stream)
		} else {
			assert.Empty(t, q.Err, "stream %d", q.Stream)
		}
	}
	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
}

func pathOf(url string) string { return url[strings.Index(url, "/?"):] }

// nghttpStream is what nghttp tells of a stream.
type nghttpStream struct {
	path   string
	status int
	bytes  int64
	reset  string
}

// nghttpStreams reads what nghttp -v writes: a line for each frame, and lines
// with its content below it.
func nghttpStreams(t *testing.T, out string) map[int64]*nghttpStream {
	t.Helper()
	frame := regexp.MustCompile(`(send|recv) (HEADERS|DATA|RST_STREAM) frame <length=(\d+), flags=\w+, stream_id=(\d+)>`)
	status := regexp.MustCompile(`recv \(stream_id=(\d+)\) :status: (\d+)`)
	streams := make(map[int64]*nghttpStream)
	var now *nghttpStream
	for line := range strings.SplitSeq(out, "\n") {
		if m := status.FindStringSubmatch(line); m != nil {
			streams[number(m[1])].status = int(number(m[2]))
		}
		if m := frame.FindStringSubmatch(line); m != nil {
			id := number(m[4])
			if streams[id] == nil {
				streams[id] = new(nghttpStream)
			}
			now = streams[id]
			if m[1]+m[2] == "recvDATA" {
				now.bytes += number(m[3])
			}
		}
		field := strings.TrimSpace(line)
		if path, ok := strings.CutPrefix(field, ":path: "); ok {
			now.path = path
		}
		if code, ok := strings.CutPrefix(field, "(error_code="); ok && now != nil && !strings.HasPrefix(code, "NO_ERROR") {
			now.reset, _, _ = strings.Cut(code, "(")
		}
	}
	return streams
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
