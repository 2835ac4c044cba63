package netlog

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// WriteComparison writes a Markdown table with a line for each Log, or for each
// leg of one: when the page was done, connections that were used and how many
// requests each carried, how many requests a limit made wait, the time until a
// request was sent and from then to its answer's first byte, the protocol and the
// issuer of the certificates. Below it are the findings. The first request, which
// brings the page, is left out of the times. Its error is that of writing to w.
func WriteComparison(w io.Writer, logs ...Named) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "| | page done | requests | connections | requests on each | stalled | wait, median | wait, worst | first byte, median | protocol | issuer |")
	fmt.Fprintln(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|")
	for _, one := range logs {
		for _, p := range one.panels() {
			fmt.Fprintf(out, "| %s |\n", strings.Join(p.cells(), " | "))
		}
	}
	writeFindings(out, logs)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("netlog: comparison: %w", err)
	}
	return nil
}

func (p *panel) cells() []string {
	waits, answers := p.times()
	cells := []string{
		p.name,
		brief(p.done),
		fmt.Sprint(len(p.requests)),
		fmt.Sprint(len(p.connections)),
		p.onEach(),
		fmt.Sprint(waiters(p.stalls)),
		briefOrNone(waits, waits.Median()),
		briefOrNone(waits, waits.Max()),
		briefOrNone(answers, answers.Median()),
		each(p.connections, func(c *Connection) string { return c.Protocol }),
		each(p.connections, func(c *Connection) string { return c.Issuer }),
	}
	for i := range cells {
		cells[i] = inCell(cells[i])
	}
	return cells
}

// times are of all requests but the first.
func (p *panel) times() (waits, answers Stalls) {
	for i := range p.requests {
		q := &p.requests[i]
		if i == 0 && len(p.requests) > 1 || q.Sent.IsZero() {
			continue
		}
		waits = append(waits, Stall{Duration: q.Wait})
		if !q.FirstByte.IsZero() {
			answers = append(answers, Stall{Duration: q.TimeToFirstByte()})
		}
	}
	return waits, answers
}

func briefOrNone(of Stalls, d time.Duration) string {
	if len(of) == 0 {
		return ""
	}
	return brief(d)
}

// onEach is the range of requests that a connection carried: "26–31". Those that
// are known one by one are counted, as a filter may leave some out.
func (p *panel) onEach() string {
	known := make(map[int64]int)
	for i := range p.requests {
		if c := p.requests[i].Connection; c != nil {
			known[c.ID]++
		}
	}
	var counts []int
	for i := range p.connections {
		n := p.connections[i].Requests
		if len(known) > 0 {
			n = known[p.connections[i].ID]
		}
		if n < 0 {
			return Unknown
		}
		counts = append(counts, n)
	}
	if len(counts) == 0 {
		return ""
	}
	low, high := slices.Min(counts), slices.Max(counts)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

func each(all Connections, what func(*Connection) string) string {
	var words []string
	for i := range all {
		if word := what(&all[i]); word != "" {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// inCell keeps text within its cell.
func inCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
}

func writeFindings(out io.Writer, logs []Named) {
	for _, one := range logs {
		for i, f := range one.Log.Findings() {
			if i == 0 {
				fmt.Fprintf(out, "\n%s:\n\n", inCell(cmp.Or(one.Name, "findings")))
			}
			fmt.Fprintf(out, "- %s: %s\n", inCell(f.Host), inCell(f.Text))
			for _, e := range f.Evidence {
				fmt.Fprintf(out, "  - %s\n", inCell(e.String()))
			}
		}
	}
}
