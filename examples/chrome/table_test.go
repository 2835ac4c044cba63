package chrome

import (
	"slices"

	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/netlog"
)

// table is the visits side by side, each in one line. Page done is by the page's
// own clock; all else is from the NetLog.
func table(visits ...*visit) string {
	var rows [][]any
	for _, v := range visits {
		rows = append(rows, v.row())
	}
	return shown.Table("mode\tpublished\tpage done\tconnections\trequests on each\tstalled\twait, median\twait, worst\tfirst byte, median\tprotocol\tissuer", rows...)
}

// row tells of times of the subresources: of all requests but the document's.
func (v *visit) row() []any {
	waits, firstBytes := shown.Waits(page(v.browser.Requests())[1:])
	used := v.browser.Connections(netlog.Used())
	return []any{
		v.name,
		v.published,
		shown.MS(v.report.Done),
		len(used),
		shown.PerConnection(used),
		len(v.browser.Stalls()),
		shown.MS(shown.Median(waits)),
		shown.MS(slices.Max(waits)),
		shown.MS(shown.Median(firstBytes)),
		used[0].Protocol,
		used[0].Issuer,
	}
}
