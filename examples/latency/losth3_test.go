package latency

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/examples/internal/shown"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

// TestOneLostPacket loses the first packet of the first of thirty answers, sent
// a millisecond apart. Over HTTP/2 all of them wait, for they are one stream to
// TCP. Over HTTP/3 that one does whose packet it was. Both senders know of the loss by
// three packets behind it (RFC 8985, section 6.2; RFC 9002, section 6.1.1), a round
// trip after the third: over HTTP/2, which cuts answers in two here and there, that
// was sent 2 ms later, over HTTP/3 3 ms.
func TestOneLostPacket(t *testing.T) {
	var rows [][]any
	for _, m := range modes()[2:] {
		var clean, lossy *visit
		h3.Bubble(t, nil, func(t *testing.T) { clean = m.thirty(t, withoutWindow()) })
		h3.Bubble(t, nil, func(t *testing.T) { lossy = m.thirty(t, m.losingOne()) })
		held, late := heldBack(clean, lossy)
		rows = append(rows, []any{m.name, 30, held, shown.MS(late), shown.MS(clean.Duration), shown.MS(lossy.Duration)})
		waits := 30
		if m.proto == alpn.H3 {
			waits = 1
		}
		assert.Equal(t, waits, held, m.name)
	}
	text := shown.Table("mode\tanswers\theld back\tby\tnothing lost\tone packet lost", rows...)
	t.Logf("one lost packet, 30 answers of 1,000 bytes, a millisecond apart, 100 ms away, virtual time\n%s", text)
	shown.InReadme(t, *update, "latency, one lost packet", text, alpn.H3)
}

// thirty loads them in one batch. Apart they are since what one packet carries
// of answers written at the same instant is up to how goroutines are run.
func (m mode) thirty(t *testing.T, link linkdelay.Link) *visit {
	t.Helper()
	body := make([]byte, 1000)
	network := linkdelay.NewNetwork(t, linkdelay.RTT(rtt))
	site := m.site(t, network, &origin.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(path.Base(r.URL.Path)) // none is 0: what led to HTTP/3
		time.Sleep(time.Duration(n) * time.Millisecond)
		w.Write(body)
	})})
	cfg := m.browser(t, network, site)
	for i := range 30 {
		cfg.URLs = append(cfg.URLs, fmt.Sprintf("%s/%d", site.URL, 1+i))
	}
	network.SetLink("pc.test", m.host(), link)
	page, err := pageload.Load(t.Context(), cfg)
	require.NoError(t, err)
	return &visit{m, page}
}

// losingOne loses the packet with the first answer, which comes a millisecond
// after the request: by TCP and TLS that takes two round trips and a half. By
// QUIC it is the first datagram of its size behind the handshake.
func (m mode) losingOne() linkdelay.Link {
	link, lost := withoutWindow(), false
	link.Down.Drop = func(p linkdelay.Packet) bool {
		at := m.proto == alpn.H3 || p.Sent.Truncate(time.Millisecond) == firstAnswers+time.Millisecond
		loses := at && !lost && !p.LongHeader && p.Size > 1000
		lost = lost || loses
		return loses
	}
	return link
}
