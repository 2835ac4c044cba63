package pageload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAltSvcFields(t *testing.T) {
	day := 24 * time.Hour
	for field, want := range map[string]struct {
		offers []offer
		clear  bool
	}{
		`h3=":443"; ma=2592000`:                 {offers: []offer{{"h3", "a.test:443", 30 * day}}},
		`h3=":443"`:                             {offers: []offer{{"h3", "a.test:443", day}}},
		`h3="b.test:8443";ma=60;persist=1`:      {offers: []offer{{"h3", "b.test:8443", time.Minute}}},
		`h3-29=":1", h3=":2" ; MA="5" , x=":3"`: {offers: []offer{{"h3-29", "a.test:1", day}, {"h3", "a.test:2", 5 * time.Second}, {"x", "a.test:3", day}}},
		`w%3Dx%3Ay="[::1]:443"`:                 {offers: []offer{{"w=x:y", "[::1]:443", day}}},
		`h3="\:443"`:                            {offers: []offer{{"h3", "a.test:443", day}}},
		`h3=":443"; ma=0`:                       {offers: []offer{{"h3", "a.test:443", 0}}},
		`clear`:                                 {clear: true},
		`h3=":443", clear`:                      {clear: true},
		`h3=443, h3, =":1", h3=":0", h3=":x"`:   {},
		`h3=":99999", h3="`:                     {},
		``:                                      {},
		"\"\\ ":                                 {}, // trimmed, it ends within an escape
		"h3=\":443\", x=\"\\\u00a0":             {offers: []offer{{"h3", "a.test:443", day}}},
		`x="a,b;c=\"d", h3=":443"; ma=abc`:      {offers: []offer{{"h3", "a.test:443", day}}},
	} {
		offers, clear := parseAltSvc([]string{field}, "a.test:443")
		assert.Equal(t, want.offers, offers, field)
		assert.Equal(t, want.clear, clear, field)
	}
}

func FuzzAltSvc(f *testing.F) {
	f.Add(`h3=":443"; ma=1, w%3D="\"`)
	f.Fuzz(func(t *testing.T, field string) { parseAltSvc([]string{field}, "a.test:443") })
}

func TestOutagesGrowToTwoDays(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 5 * time.Minute, 2: 10 * time.Minute, 5: 80 * time.Minute, 10: 2560 * time.Minute, 11: 48 * time.Hour, 1000: 48 * time.Hour} {
		assert.Equal(t, want, outageAfter(failures), "%d failures", failures)
	}
}
