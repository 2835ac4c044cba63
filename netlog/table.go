package netlog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// column is one column of a table of T. It is left out when all of its cells
// are empty.
type column[T any] struct {
	head  string
	cell  func(*T) string
	right bool // flush right, for numbers
	width int  // longer cells lose their middle; 0 is no limit
}

// render is the table of at most limit rows, a line each; 0 is all.
func render[T any](rows []T, columns []column[T], limit int) string {
	left := 0
	if limit > 0 && len(rows) > limit {
		left = len(rows) - limit
		rows = rows[:limit]
	}
	lines := make([]strings.Builder, len(rows)+1)
	for _, c := range columns {
		appendColumn(lines, rows, c)
	}
	var out strings.Builder
	for i := range lines {
		out.WriteString(strings.TrimRight(lines[i].String(), " "))
		out.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(&out, "… and %d more\n", left)
	}
	return out.String()
}

func appendColumn[T any](lines []strings.Builder, rows []T, c column[T]) {
	cells, width := make([]string, 0, len(lines)), 0
	cells = append(cells, c.head)
	for i := range rows {
		cell := shorten(c.cell(&rows[i]), c.width)
		width = max(width, utf8.RuneCountInString(cell))
		cells = append(cells, cell)
	}
	if width == 0 {
		return
	}
	width = max(width, utf8.RuneCountInString(c.head))
	for i, cell := range cells {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
		if c.right {
			lines[i].WriteString(pad + cell + "  ")
		} else {
			lines[i].WriteString(cell + pad + "  ")
		}
	}
}

// shorten cuts out the middle: both ends of a URL or a name tell it from
// others.
func shorten(s string, width int) string {
	s = strings.Join(strings.Fields(s), " ") // a cell is one line
	runes := []rune(s)
	if width == 0 || len(runes) <= width {
		return s
	}
	tail := (width - 1) / 2
	return string(runes[:width-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// epochOf is what times of a table count from: epoch, or the earliest of them
// all where they are from no Log.
func epochOf[T any](epoch *time.Time, all []T, start func(*T) time.Time) *time.Time {
	if epoch != nil {
		return epoch
	}
	var first earliest
	for i := range all {
		first.see(start(&all[i]))
	}
	return (*time.Time)(&first)
}

// since is t as time after the first event.
func since(epoch *time.Time, t time.Time) string {
	if t.IsZero() || epoch == nil || epoch.IsZero() {
		return ""
	}
	return "+" + span(t.Sub(*epoch))
}

// span is d without digits that nobody reads.
func span(d time.Duration) string {
	switch size := d.Abs(); {
	case size >= time.Second:
		return d.Round(time.Millisecond).String()
	case size >= time.Microsecond:
		return d.Round(time.Microsecond).String()
	}
	return d.String()
}

// count is "1 connection", "2 connections".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
