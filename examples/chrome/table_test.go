package chrome

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/wiretest/netlog"
)

// table is the visits side by side, each in one line. Page done is by the page's
// own clock; all else is from the NetLog.
func table(visits ...*visit) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mode\tpublished\tpage done\tconnections\trequests on each\tstalled\twait, median\twait, worst\tfirst byte, median\tprotocol\tissuer")
	for _, v := range visits {
		fmt.Fprintln(w, strings.Join(v.row(), "\t"))
	}
	w.Flush()
	return text.String()
}

func (v *visit) row() []string {
	waits, firstBytes := v.subresources()
	used := v.browser.Connections(netlog.Used())
	return []string{
		v.name,
		v.published,
		ms(v.report.Done),
		fmt.Sprint(len(used)),
		perConnection(used),
		fmt.Sprint(len(v.browser.Stalls())),
		ms(median(waits)),
		ms(slices.Max(waits)),
		ms(median(firstBytes)),
		used[0].Protocol,
		used[0].Issuer,
	}
}

// subresources is how long each request but the document's waited before it was
// sent, and how long it then took to the first byte of its answer.
func (v *visit) subresources() (waits, firstBytes []time.Duration) {
	for _, q := range page(v.browser.Requests())[1:] {
		waits = append(waits, q.Wait)
		firstBytes = append(firstBytes, q.TimeToFirstByte())
	}
	return waits, firstBytes
}

// perConnection is the range of requests that a connection carried: "26–31".
func perConnection(used netlog.Connections) string {
	var counts []int
	for _, c := range used {
		counts = append(counts, c.Requests)
	}
	low, high := slices.Min(counts), slices.Max(counts)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

func median(all []time.Duration) time.Duration {
	stalls := make(netlog.Stalls, len(all))
	for i, d := range all {
		stalls[i].Duration = d
	}
	return stalls.Median()
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
