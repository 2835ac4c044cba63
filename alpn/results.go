package alpn

import (
	"slices"
	"strings"
)

// Results are what Probe found, or package probeh3's Probe.
type Results struct {
	Addr       string   // that was probed
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
