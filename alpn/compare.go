package alpn

import (
	"fmt"
	"slices"
	"strings"
)

// Compare is a table of what a server selects, asked directly and by another
// way, such as through a proxy, and below it what the differences mean. That is
// how to tell from a test, or a program, that a proxy decrypts, and what it does
// to the protocol.
func Compare(direct, proxied Results) string {
	rows := [][]string{{"offered", "TLS", "direct", "proxied"}}
	for _, over := range direct.carriers() {
		for _, offer := range direct.offers() {
			rows = append(rows, []string{
				offerName(offer), strings.TrimPrefix(over.String(), "TLS "),
				direct.cell(offer, over), proxied.cell(offer, over),
			})
		}
	}
	rows = append(rows, []string{"issuer", "", orUnknown(direct.Issuer()), orUnknown(proxied.Issuer())})
	return aligned(rows) + strings.Join(differences(direct, proxied), "\n")
}

// differences are what a reader should conclude, a line each.
func differences(direct, proxied Results) (lines []string) {
	lines = append(lines, interception(direct.Issuer(), proxied.Issuer()))
	a, b := direct.Selected(H2, HTTP11), proxied.Selected(H2, HTTP11)
	switch {
	case a == b:
		lines = append(lines, fmt.Sprintf("protocol: a client that offers h2 and http/1.1 gets %s either way", orNone(a)))
	case a == H2:
		lines = append(lines, fmt.Sprintf("protocol: h2 is lost on the way: a client that offers it gets %s, and needs a connection for each request in flight", orNone(b)))
	default:
		lines = append(lines, fmt.Sprintf("protocol: %s directly, %s proxied: what is in between chooses by itself", orNone(a), orNone(b)))
	}
	if !slices.Equal(sortedKeys(direct.Protocols()), sortedKeys(proxied.Protocols())) {
		lines = append(lines, "refusals: not the same offers are refused")
	}
	return lines
}

func interception(direct, proxied string) string {
	switch {
	case direct == "" || proxied == "":
		return "interception: unknown, for want of a certificate"
	case direct != proxied:
		return fmt.Sprintf("interception: TLS is ended on the way, by whoever holds %q", proxied)
	}
	return "interception: none, the issuer is the same"
}

func sortedKeys(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
