package downgrade

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/wiretest/netlog"
)

// table is the visits side by side, each in one line.
func table(visits ...*visit) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mode\tpage done\tconnections\trequests on each\twait, median\twait, worst\tfirst byte, median\tprotocol\tissuer")
	for _, v := range visits {
		fmt.Fprintln(w, strings.Join(v.row(), "\t"))
	}
	w.Flush()
	return text.String()
}

func (v *visit) row() []string {
	waits, firstBytes := v.subresources()
	return []string{
		v.name,
		ms(v.Duration),
		fmt.Sprint(len(v.used())),
		v.perConnection(),
		ms(median(waits)),
		ms(slices.Max(waits)),
		ms(median(firstBytes)),
		v.protocols(),
		v.used()[0].Issuer,
	}
}

// subresources is how long each request but the document's waited before it was
// sent, and how long it then took to the first byte of its answer.
func (v *visit) subresources() (waits, firstBytes []time.Duration) {
	for _, q := range v.Log.Requests()[1:] {
		waits = append(waits, q.Wait)
		firstBytes = append(firstBytes, q.TimeToFirstByte())
	}
	return waits, firstBytes
}

// perConnection is the range of requests that a connection carried: "26–31".
func (v *visit) perConnection() string {
	var counts []int
	for _, c := range v.used() {
		counts = append(counts, c.Requests)
	}
	low, high := slices.Min(counts), slices.Max(counts)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

func (v *visit) protocols() string {
	var names []string
	for _, c := range v.used() {
		names = append(names, c.Protocol)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func median(all []time.Duration) time.Duration {
	stalls := make(netlog.Stalls, len(all))
	for i, d := range all {
		stalls[i].Duration = d
	}
	return stalls.Median()
}

// ms rounds away the nanoseconds that lie between the issue of one request and
// the next.
func ms(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
