package alpn

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// String is a table of what is selected, an offer a line and a version of TLS a
// column, and below it what the server says of itself.
func (r Results) String() string {
	rows := [][]string{append([]string{"offered"}, mapped(r.carriers(), carrier.String)...)}
	for _, offer := range r.offers() {
		row := []string{offerName(offer)}
		for _, over := range r.carriers() {
			row = append(row, r.cell(offer, over))
		}
		rows = append(rows, row)
	}
	return r.title() + "\n" + aligned(rows) + strings.Join(r.facts(), "\n")
}

func (r Results) title() string {
	if r.ServerName == "" || strings.HasPrefix(r.Addr, r.ServerName+":") {
		return r.Addr
	}
	return r.Addr + " as " + r.ServerName
}

func (r Results) cell(offer []string, over carrier) string {
	for _, a := range r.answers(offer) {
		if a.over() == over {
			return a.String()
		}
	}
	return "–"
}

func (r Results) carriers() (all []carrier) {
	for _, a := range r.Answers {
		if !slices.Contains(all, a.over()) {
			all = append(all, a.over())
		}
	}
	return all
}

func (r Results) offers() (all [][]string) {
	for _, a := range r.Answers {
		if !slices.ContainsFunc(all, func(o []string) bool { return slices.Equal(o, a.Offered) }) {
			all = append(all, a.Offered)
		}
	}
	return all
}

func offerName(offer []string) string { return orNone(strings.Join(offer, ", ")) }

// facts are the lines below the table.
func (r Results) facts() (lines []string) {
	lines = append(lines, "issuer: "+orUnknown(r.Issuer()))
	for _, over := range r.carriers() {
		if a, ok := r.first(over); ok {
			lines = append(lines, fmt.Sprintf("%v: %s, %s", over, keyExchange(a), resumes(a)))
		}
	}
	for _, s := range r.Spoken {
		lines = append(lines, s.String())
	}
	return append(lines, r.failures()...)
}

func orUnknown(issuer string) string {
	if issuer == "" {
		return "unknown"
	}
	return issuer
}

func keyExchange(a Answer) string {
	if a.Group == 0 {
		return tls.CipherSuiteName(a.CipherSuite)
	}
	return fmt.Sprintf("%s, %v", tls.CipherSuiteName(a.CipherSuite), a.Group)
}

func resumes(a Answer) string {
	switch {
	case a.EarlyData:
		return "sessions resume, with 0-RTT"
	case a.Resumes:
		return "sessions resume"
	}
	return "sessions do not resume"
}

// first is the first answer over something that is no refusal.
func (r Results) first(over carrier) (Answer, bool) {
	for _, a := range r.Answers {
		if a.over() == over && a.Err == nil {
			return a, true
		}
	}
	return Answer{}, false
}

// failures are the errors that are not said by their cells, each once.
func (r Results) failures() (lines []string) {
	for _, a := range r.Answers {
		if a.Err == nil || a.Alert != 0 {
			continue
		}
		line := a.String() + ": " + a.Err.Error()
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// aligned pads all columns but the last.
func aligned(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				b.WriteString(cell + "\n")
				break
			}
			b.WriteString(cell + strings.Repeat(" ", width(rows, i)-len([]rune(cell))+2))
		}
	}
	return b.String()
}

func width(rows [][]string, column int) (most int) {
	for _, row := range rows {
		most = max(most, len([]rune(row[column])))
	}
	return most
}

func mapped[T any](values []T, name func(T) string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = name(v)
	}
	return all
}
