// Package shown is what the examples share in showing what they found: tables,
// the README that must hold them as they come out, and what a failing assertion
// says.
package shown

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/wiretest/netlog"
)

// Table aligns rows of cells below their columns, whose names are separated by
// tabs.
func Table(columns string, rows ...[]any) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, columns)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = fmt.Sprint(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	return text.String()
}

// PerConnection is the range of requests that a connection carried: "26–31".
func PerConnection(used netlog.Connections) string {
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

// Waits is how long each request waited before it was sent, and how long it then
// took to the first byte of its answer.
func Waits(requests netlog.Requests) (waits, firstBytes []time.Duration) {
	for _, q := range requests {
		waits = append(waits, q.Wait)
		firstBytes = append(firstBytes, q.TimeToFirstByte())
	}
	return waits, firstBytes
}

// Median is the middle one, or the mean of the middle two.
func Median(all []time.Duration) time.Duration {
	stalls := make(netlog.Stalls, len(all))
	for i, d := range all {
		stalls[i].Duration = d
	}
	return stalls.Median()
}

// MS rounds away the nanoseconds that lie between the issue of one request and
// the next.
func MS(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}
