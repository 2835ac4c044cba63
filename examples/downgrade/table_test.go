package downgrade

import (
	"slices"
	"strings"

	"example.com/wiretest/examples/internal/shown"
)

// table is the visits side by side, each in one line.
func table(visits ...*visit) string {
	var rows [][]any
	for _, v := range visits {
		rows = append(rows, v.row())
	}
	return shown.Table("mode\tpage done\tconnections\trequests on each\twait, median\twait, worst\tfirst byte, median\tprotocol\tissuer", rows...)
}

// row tells of times of the subresources: of all requests but the document's.
func (v *visit) row() []any {
	waits, firstBytes := shown.Waits(v.Log.Requests()[1:])
	return []any{
		v.name,
		shown.MS(v.Duration),
		len(v.used()),
		shown.PerConnection(v.used()),
		shown.MS(shown.Median(waits)),
		shown.MS(slices.Max(waits)),
		shown.MS(shown.Median(firstBytes)),
		v.protocols(),
		v.used()[0].Issuer,
	}
}

func (v *visit) protocols() string {
	var names []string
	for _, c := range v.used() {
		names = append(names, c.Protocol)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
