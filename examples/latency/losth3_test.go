package latency

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// TestOneLostPacket loses one packet of thirty answers that each fill about one,
// and fit the first window all together. Over HTTP/2 all of them wait, for they
// are one stream to TCP. Over HTTP/3 those wait of which something was in the
// packet: one, or two where the end of one and the beginning of the next shared
// it.
func TestOneLostPacket(t *testing.T) {
	var rows [][]any
	for _, m := range modes()[2:] {
		var clean, lossy *visit
		h3.Bubble(t, nil, func(t *testing.T) { clean = m.thirty(t, withoutWindow()) })
		h3.Bubble(t, nil, func(t *testing.T) { lossy = m.thirty(t, m.losingOne()) })
		held, late := heldBack(clean, lossy)
		rows = append(rows, []any{m.name, 30, held, shown.MS(late), shown.MS(clean.Duration), shown.MS(lossy.Duration)})
		if m.name == modes()[2].name {
			assert.Equal(t, 30, held, m.name)
			continue
		}
		assert.Contains(t, []int{1, 2}, held, m.name)
	}
	text := shown.Table("mode\tanswers\theld back\tby\tnothing lost\tone packet lost", rows...)
	t.Logf("one lost packet, 30 answers of 1,000 bytes 100 ms away, virtual time\n%s", text)
	shown.InReadme(t, *update, "latency, one lost packet", text, alpn.H3)
}

// thirty loads them in one batch.
func (m mode) thirty(t *testing.T, link linkdelay.Link) *visit {
	t.Helper()
	body := make([]byte, 1000)
	network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
	site := m.site(t, network, &origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })})
	cfg := m.browser(t, network, site)
	for i := range 30 {
		cfg.URLs = append(cfg.URLs, fmt.Sprintf("%s/%d", site.URL, i))
	}
	network.SetLink("pc.test", m.host(), link)
	page, err := pageload.Load(t.Context(), cfg)
	require.NoError(t, err)
	return &visit{m, page}
}

// losingOne loses the first packet that answers are in: the first segment behind
// the handshake, or the first datagram of full size behind it.
func (m mode) losingOne() linkdelay.Link {
	if m.proto != alpn.H3 {
		return losing(firstAnswers)
	}
	link, lost := withoutWindow(), false
	link.Down.Drop = func(p linkdelay.Packet) bool {
		loses := !lost && !p.LongHeader && p.Size > 1000
		lost = lost || loses
		return loses
	}
	return link
}
