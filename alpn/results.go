package alpn

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Results are what Probe found, or package probeh3's Probe.
type Results struct {
	Addr       string
	ServerName string   // that was asked for; SNI carries it unless it is an address
	Answers    []Answer // by version of TLS, the newest first, then in the order of the offers
	Spoken     []Spoken // HTTP, each protocol once per version of TLS
}

// Selected is what the server selects from an offer, in this order; none is no
// ALPN. It is of the newest version of TLS with which the offer was not
// refused. "" is no ALPN, a refusal, or an offer that was not made: see Answer.
func (r Results) Selected(offered ...string) string {
	a, _ := r.Answer(offered...)
	return a.Selected
}

// Answer is the one to an offer that Selected goes by, and whether the offer was
// made. Where all versions refused, it is the newest one's refusal.
func (r Results) Answer(offered ...string) (Answer, bool) {
	all := r.answers(offered)
	if len(all) == 0 {
		return Answer{Offered: offered}, false
	}
	if i := slices.IndexFunc(all, func(a Answer) bool { return a.Err == nil }); i >= 0 {
		return all[i], true
	}
	return all[0], true
}

func (r Results) answers(offered []string) (all []Answer) {
	for _, a := range r.Answers {
		if slices.Equal(a.Offered, offered) {
			all = append(all, a)
		}
	}
	return all
}

// Protocols are what Selected says of each offer that was not refused. The keys
// are the offers, joined by commas: "h2,http/1.1"; "" is no ALPN.
func (r Results) Protocols() map[string]string {
	all := map[string]string{}
	for _, a := range r.Answers {
		if found, _ := r.Answer(a.Offered...); found.Err == nil {
			all[strings.Join(a.Offered, ",")] = found.Selected
		}
	}
	return all
}

// Issuer is who certified the server to the newest version of TLS that got that
// far; "" is nobody.
func (r Results) Issuer() string {
	for _, a := range r.Answers {
		if a.Issuer != "" {
			return a.Issuer
		}
	}
	return ""
}

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

func mapped[T any](values []T, name func(T) string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = name(v)
	}
	return all
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

func itoa(code uint8) string { return strconv.Itoa(int(code)) }
