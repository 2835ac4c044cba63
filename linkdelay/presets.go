package linkdelay

import "time"

const (
	kbit = 1_000
	mbit = 1_000_000
)

// Hotspot4G is a phone that shares its mobile connection: 170 ms round trip and
// 9 Mbit/s each way, the profile "4G" of WebPageTest (connectivity.ini), with a
// queue of half a second, as mobile networks lose little and queue much (Jiang
// and others: Tackling Bufferbloat in 3G/4G Networks, IMC 2012, measured that
// and more).
func Hotspot4G() Link {
	p := Path{Delay: 85 * time.Millisecond, Rate: 9 * mbit, QueueTime: 500 * time.Millisecond}
	return Link{Up: p, Down: p}
}

// Satellite is a terminal at the edge of what a geostationary satellite sees:
// 558 ms round trip (RFC 2488, section 2: 279 ms for one hop), and 25 Mbit/s
// down and 3 Mbit/s up, broadband as the FCC defined it in 2015 (FCC 15-10),
// which is what such terminals are sold with.
func Satellite() Link {
	return asymmetric(558*time.Millisecond, 25*mbit, 3*mbit)
}

// DSL is 50 ms round trip, 1.5 Mbit/s down and 384 kbit/s up: the profile "DSL"
// of WebPageTest (connectivity.ini).
func DSL() Link {
	return asymmetric(50*time.Millisecond, 1500*kbit, 384*kbit)
}

// SameCity is a fibre to the home and a server close by: 4 ms round trip, 20
// Mbit/s down and 5 Mbit/s up, the profile "FIOS" of WebPageTest
// (connectivity.ini).
func SameCity() Link {
	return asymmetric(4*time.Millisecond, 20*mbit, 5*mbit)
}

// Transatlantic is London to New York between two data centres: 90 ms round
// trip, which is what Verizon's service level agreement for its IP network
// promises as the monthly average, and no limit of rate.
func Transatlantic() Link { return RTT(90 * time.Millisecond) }

func asymmetric(rtt time.Duration, down, up int64) Link {
	link := RTT(rtt)
	link.Down.Rate, link.Up.Rate = down, up
	return link
}
