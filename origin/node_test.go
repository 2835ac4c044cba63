package origin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
	"example.com/wiretest/origin"
)

// nodeScript asks each origin for /0, /1 and /2 over one session of HTTP/2, one
// after the other, and says what came of each and what else the session has seen. Of
// one whose URL ends with #hangs it soon gives /1 up; behind /1 of one with #closes it
// waits until the session has ended.
const nodeScript = `
const [ca, ...urls] = process.argv.slice(1);
const http2 = require("http2"), trusted = require("fs").readFileSync(ca);
const visit = url => new Promise(over => {
  const told = { requests: [], goaway: [], pings: 0, limits: [], failed: "", ended: false };
  const session = http2.connect(url, { ca: trusted });
  let done = false;
  session.on("goaway", (code, last, debug) => told.goaway.push({ code, last, debug: debug ? debug.toString() : "" }));
  session.on("ping", () => told.pings++);
  session.on("remoteSettings", s => told.limits.push(s.maxConcurrentStreams));
  session.on("close", () => { told.ended = !done; });
  session.on("error", e => { told.failed = e.code || e.message; });
  const ask = i => {
    const ended = session.closed || session.destroyed;
    if (i == 3 || ended) {
      done = !ended;
      const finish = () => setTimeout(() => over(told), 50); // behind what listens too
      if (session.destroyed) finish(); else session.once("close", finish);
      session.close();
      setTimeout(() => over(told), 5000);
      return;
    }
    const r = { status: 0, bytes: 0, rst: 0, hints: [], trailers: {} };
    told.requests.push(r);
    const stream = session.request({ ":path": "/" + i });
    stream.setTimeout(url.endsWith("#hangs") && i == 1 ? 500 : 30000, () => stream.close(http2.constants.NGHTTP2_CANCEL));
    stream.on("headers", h => r.hints.push(h.link));
    stream.on("response", h => { r.status = h[":status"]; });
    stream.on("data", d => { r.bytes += d.length; });
    stream.on("trailers", t => { for (const name in t) r.trailers[name] = t[name]; });
    stream.on("error", () => {});
    stream.on("close", () => {
      r.rst = stream.rstCode;
      if (url.endsWith("#closes") && i == 1 && !session.destroyed) session.once("close", () => ask(i + 1));
      else setTimeout(() => ask(i + 1), 250);
    });
  };
  ask(0);
});
Promise.all(urls.map(visit)).then(all => { console.log(JSON.stringify(all)); process.exit(0); });
`

// nodeTold is what Node saw.
type nodeTold struct {
	Requests []struct {
		Status, Bytes, RST int
		Hints              []string
		Trailers           map[string]string
	}
	GoAway []struct {
		Code  int
		Last  int64
		Debug string
	}
	Pings  int
	Limits []int
	Failed string
	Ended  bool // by the server
}

func nodeAsks(t *testing.T, authority *ca.Authority, urls ...string) (told []nodeTold) {
	t.Helper()
	out := run(t, tool(t, "node", "nodejs"), append([]string{"-e", nodeScript, caFile(t, authority)}, urls...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &told), out)
	return told
}

// What Node makes of each fault of the second of three requests over HTTP/2: code
// by code what the ledger has. It sends nothing again by itself.
func TestNodeAgreesWithTheLedgerOfFaults(t *testing.T) {
	tool(t, "node", "nodejs")
	leavesNothing(t)
	authority := must(ca.Generate(nil))
	type made struct {
		do      origin.Action
		came    []string // of each request
		session string   // what else the session saw
	}
	faults := map[string]made{
		"GoAway":      {origin.GoAway, []string{"200", "refused"}, "GOAWAY 0 last 1"},
		"GoAwayWith":  {origin.GoAwayWith(http2.ErrCodeEnhanceYourCalm, "too_many_pings"), []string{"200", "refused"}, "GOAWAY 11 last 1 too_many_pings"},
		"GoAwayAt":    {origin.GoAwayAt(1<<31-1, http2.ErrCodeNo, "soon"), []string{"200", "200"}, "GOAWAY 0 last 2147483647 soon"},
		"LastOne":     {origin.LastOne, []string{"200", "200"}, "GOAWAY 0 last 3"},
		"Refuse":      {origin.Refuse, []string{"200", "RST 7", "200"}, ""},
		"Reset":       {origin.Reset, []string{"200", "RST 2", "200"}, ""},
		"ResetWith":   {origin.ResetWith(http2.ErrCodeEnhanceYourCalm), []string{"200", "RST 11", "200"}, ""},
		"ResetAfter":  {origin.ResetAfter(3, http2.ErrCodeCancel), []string{"200", "200 RST 8 behind 3", "200"}, ""},
		"CloseAfter":  {origin.CloseAfter(3), []string{"200", "200 closed behind 3"}, ""},
		"CloseBehind": {origin.CloseBehind, []string{"200", "200"}, ""},
		"Hang":        {origin.Hang, []string{"200", "left", "200"}, ""},
		"Pings":       {origin.Pings(1000), []string{"200", "200", "200"}, "1000 PING"},
		"Settings":    {origin.Settings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}), []string{"200", "200", "200"}, "SETTINGS 256 1"},
	}
	var origins []*origin.Server
	var urls []string
	names := slices.Sorted(maps.Keys(faults))
	for _, name := range names {
		s := origin.New(t, &origin.Config{
			CA: authority, Handler: hello, ALPN: alpn.Only(alpn.H2), Faults: []origin.Fault{{Request: 2, Do: faults[name].do}},
		})
		origins = append(origins, s)
		urls = append(urls, s.URL+map[string]string{"Hang": "#hangs", "CloseAfter": "#closes", "CloseBehind": "#closes"}[name])
	}
	for i, told := range nodeAsks(t, authority, urls...) {
		name, c, s := names[i], faults[names[i]], origins[i]
		s.Close()
		assert.Equal(t, c.came, told.came(), "%s: what Node says", name)
		assert.Equal(t, c.session, told.session(), "%s: what its session saw", name)
		assert.Equal(t, told.came(), cameByLedger(s.Log()), "%s: the ledger", name)
		netlog.RequireConnections(t, s.Log(), 1, alpn.H2)
		for _, g := range told.GoAway {
			assert.Contains(t, s.Log().Connections()[0].GoAway, fmt.Sprintf("GOAWAY %v last stream %d, sent", http2.ErrCode(g.Code), g.Last), name)
		}
	}
}

// came is what became of each request.
func (told nodeTold) came() (all []string) {
	for _, r := range told.Requests {
		switch {
		case r.Status == 0 && r.RST == int(http2.ErrCodeCancel):
			all = append(all, "left") // of its own, having waited
		case r.Status == 0 && len(told.GoAway) > 0:
			all = append(all, "refused") // the code is GOAWAY's or REFUSED_STREAM
		case r.Status == 0:
			all = append(all, fmt.Sprintf("RST %d", r.RST))
		case r.RST != 0 && told.Ended:
			all = append(all, fmt.Sprintf("%d closed behind %d", r.Status, r.Bytes))
		case r.RST != 0:
			all = append(all, fmt.Sprintf("%d RST %d behind %d", r.Status, r.RST, r.Bytes))
		default:
			all = append(all, fmt.Sprint(r.Status))
		}
	}
	return all
}

func (told nodeTold) session() string {
	switch {
	case len(told.GoAway) > 0:
		g := told.GoAway[0]
		text := fmt.Sprintf("GOAWAY %d last %d", g.Code, g.Last)
		if g.Debug != "" {
			text += " " + g.Debug
		}
		return text
	case told.Pings > 0:
		return fmt.Sprintf("%d PING", told.Pings)
	case len(told.Limits) > 1:
		return fmt.Sprintf("SETTINGS %d %d", told.Limits[0], told.Limits[1])
	}
	return told.Failed
}

var resetByServer = regexp.MustCompile(`^RST_STREAM (\S+) sent by server$`)

// cameByLedger is the same as the origin has it.
func cameByLedger(log *netlog.Log) (all []string) {
	for _, q := range log.Requests() {
		code := resetByServer.FindStringSubmatch(q.Err)
		switch {
		case q.Err == "RST_STREAM CANCEL sent by client":
			all = append(all, "left")
		case strings.HasPrefix(q.Err, "refused by GOAWAY"):
			all = append(all, "refused")
		case code != nil && q.Status == 0:
			all = append(all, fmt.Sprintf("RST %d", codes()[code[1]]))
		case code != nil:
			all = append(all, fmt.Sprintf("%d RST %d behind %d", q.Status, codes()[code[1]], q.BodyBytesDown))
		case q.Err != "":
			all = append(all, fmt.Sprintf("%d closed behind %d", q.Status, q.BodyBytesDown))
		default:
			all = append(all, fmt.Sprint(q.Status))
		}
	}
	return all
}

func codes() map[string]http2.ErrCode {
	all := make(map[string]http2.ErrCode)
	for code := range http2.ErrCodeHTTP11Required + 1 {
		all[code.String()] = code
	}
	return all
}

// Answers and connections that are odd without being faults, three requests of
// each: hints before and trailers behind (caddy#5616: clients broke on the second
// 103), bodies that are not what they say, and settings that are not net/http's.
func TestNodeAgreesWithTheLedgerOfAnswers(t *testing.T) {
	tool(t, "node", "nodejs")
	leavesNothing(t)
	authority := must(ca.Generate(nil))
	hinted := origin.EarlyHints(0, origin.Trailers(http.Header{"checksum": {"7"}}, hello), "</a.css>", "</b.css>", "</c.js>")
	cases := []struct {
		name string
		cfg  origin.Config
		came []string
	}{
		{"hints and trailers", origin.Config{Handler: hinted}, []string{"200", "200", "200"}},
		{"drip", origin.Config{Handler: origin.Body{Size: 1000, Chunk: 100, Every: time.Millisecond}}, []string{"200", "200", "200"}},
		{"short", origin.Config{Handler: origin.Body{Size: 10, Length: 20}}, []string{"200 RST 1 behind 10", "200 RST 1 behind 10", "200 RST 1 behind 10"}},
		{"late settings", origin.Config{Handler: hello, Prepare: origin.LateSettings(100 * time.Millisecond)}, []string{"200", "200", "200"}},
		{"three streams", origin.Config{Handler: hello, MaxConcurrentStreams: 3}, []string{"200", "200", "200"}},
		{"wrong host", origin.Config{Handler: origin.OnlyHosts(hello, "shop.test")}, []string{"421", "421", "421"}},
		{"calm", origin.Config{Handler: origin.Calm(1, hello)}, []string{"200", "refused"}},
	}
	var origins []*origin.Server
	var urls []string
	for i := range cases {
		cfg := cases[i].cfg
		cfg.CA, cfg.ALPN = authority, alpn.Only(alpn.H2)
		s := origin.New(t, &cfg)
		origins, urls = append(origins, s), append(urls, s.URL)
	}
	for i, told := range nodeAsks(t, authority, urls...) {
		name, s := cases[i].name, origins[i]
		s.Close()
		assert.Equal(t, cases[i].came, told.came(), "%s: what Node says", name)
		ledger := told.came()
		if name == "short" { // of which the client is the judge: the server has said all that it had to say
			ledger = []string{"200", "200", "200"}
		}
		assert.Equal(t, ledger, cameByLedger(s.Log()), "%s: the ledger", name)
		for j, q := range s.Log().Requests() {
			assert.EqualValues(t, q.BodyBytesDown, told.Requests[j].Bytes, "%s: bytes of the body", name)
		}
		assert.Equal(t, s.Log().Connections()[0].StreamLimit, told.Limits[0], "%s: streams that are allowed", name)
		if name == "hints and trailers" {
			assert.Equal(t, []string{"</a.css>", "</b.css>", "</c.js>"}, told.Requests[2].Hints)
			assert.Equal(t, map[string]string{"checksum": "7"}, told.Requests[2].Trailers)
		}
	}
}
