package origin_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/origin"
)

// nodeScript asks for /0, /1 … over one session of HTTP/2, one after the other,
// and says what came of each and what else the session has seen.
const nodeScript = `
const [url, ca, count, gap] = process.argv.slice(1);
const http2 = require("http2");
const told = { requests: [], goaway: [], pings: 0, limits: [], windows: [], failed: "" };
const session = http2.connect(url, { ca: require("fs").readFileSync(ca) });
const end = () => { console.log(JSON.stringify(told)); process.exit(0); };
session.on("goaway", (code, last, debug) => told.goaway.push({ code, last, debug: debug ? debug.toString() : "" }));
session.on("ping", () => told.pings++);
session.on("remoteSettings", s => { told.limits.push(s.maxConcurrentStreams); told.windows.push(s.initialWindowSize); });
session.on("error", e => { told.failed = e.code || e.message; });
const ask = i => {
  if (i == count || session.closed || session.destroyed) { session.close(end); setTimeout(end, 500); return; }
  const r = { stream: 0, status: 0, bytes: 0, rst: 0, hints: [], trailers: null, error: "" };
  told.requests.push(r);
  const stream = session.request({ ":path": "/" + i });
  stream.setTimeout(1500, () => stream.close(http2.constants.NGHTTP2_CANCEL));
  stream.on("headers", h => r.hints.push(h.link));
  stream.on("response", h => { r.status = h[":status"]; });
  stream.on("data", d => { r.bytes += d.length; });
  stream.on("trailers", t => { r.trailers = Object.assign({}, t); });
  stream.on("error", e => { r.error = e.code || e.message; });
  stream.on("ready", () => { r.stream = stream.id; });
  stream.on("close", () => { r.rst = stream.rstCode; setTimeout(() => ask(i + 1), +gap); });
};
ask(0);
`

// nodeTold is what Node saw.
type nodeTold struct {
	Requests []struct {
		Stream, Status, Bytes int
		RST                   int
		Hints                 []string
		Trailers              map[string]string
		Error                 string
	}
	GoAway []struct {
		Code  int
		Last  int64
		Debug string
	}
	Pings   int
	Limits  []int
	Windows []int
	Failed  string
}

func nodeAsks(t *testing.T, s *origin.Server, count, gap string) (told nodeTold) {
	t.Helper()
	out := run(t, tool(t, "node", "nodejs"), "-e", nodeScript, s.URL, caFile(t, s), count, gap)
	require.NoError(t, json.Unmarshal([]byte(out), &told), out)
	return told
}
