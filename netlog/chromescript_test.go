package netlog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/wiretest/netlog"
)

// script writes a NetLog by hand, an event in each line:
//
//	12 SOCKET#7 B SOCKET_ALIVE {@6}
//
// is at 12 ms, of source 7, a beginning (E is an end, - neither); @6 stands for a
// source_dependency on 6.
func script(lines string) string {
	types, sources, events := map[string]int{}, map[string]int{"NONE": 0}, []string{}
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			events = append(events, scriptEvent(line, types, sources))
		}
	}
	table, _ := json.Marshal(map[string]any{
		"logEventTypes": types, "logSourceType": sources, "timeTickOffset": 1767225600000,
		"logEventPhase": map[string]int{"PHASE_NONE": 0, "PHASE_BEGIN": 1, "PHASE_END": 2},
		"netError":      map[string]int{"ERR_ABORTED": -3, "ERR_CONNECTION_RESET": -101, "ERR_CERT_AUTHORITY_INVALID": -202, "ERR_QUIC_HANDSHAKE_FAILED": -358},
		"clientInfo":    map[string]string{"name": "Script", "version": "1"},
	})
	return "{\"constants\":" + string(table) + ",\n\"events\": [\n" + strings.Join(events, ",\n") + "]}\n"
}

var (
	scriptLine = regexp.MustCompile(`^(\d+) (\w+)#(-?\d+) ([-BE]) (\S+)\s*(\{.*\})?$`)
	dependency = regexp.MustCompile(`@(-?\d+)`)
)

func scriptEvent(line string, types, sources map[string]int) string {
	m := scriptLine.FindStringSubmatch(line)
	if m == nil {
		panic("not an event: " + line)
	}
	number := func(table map[string]int, name string) int {
		if _, ok := table[name]; !ok {
			table[name] = len(table) + 1
		}
		return table[name]
	}
	params := ""
	if m[6] != "" {
		params = `"params":` + dependency.ReplaceAllString(m[6], `"source_dependency":{"id":$1,"type":0}`) + ","
	}
	return fmt.Sprintf(`{%s"phase":%d,"source":{"id":%s,"start_time":"1","type":%d},"time":"%s","type":%d}`,
		params, strings.Index("-BE", m[4]), m[3], number(sources, m[2]), m[1], number(types, m[5]))
}

func readScript(t *testing.T, lines string) *netlog.Log {
	t.Helper()
	return mustRead(t, script(lines), nil)
}

func mustRead(t *testing.T, text string, opt *netlog.ReadOptions) *netlog.Log {
	t.Helper()
	log, err := netlog.ReadWith(strings.NewReader(text), opt)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func readLog(t *testing.T, name string) *netlog.Log {
	t.Helper()
	log, err := netlog.ReadFile("testdata/" + name + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// realLogs are those of testdata that can be read.
func realLogs() []string { return slices.Sorted(maps.Keys(answers())) }
