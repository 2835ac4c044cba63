package hotspot

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
	"example.com/wiretest/origin/pageload"
)

const (
	rtt = 100 * time.Millisecond

	smallSize = 200
	largeSize = 16 << 10 // a dozen datagrams
)

// answers flushes the headers and then takes a millisecond, so that they come by
// a datagram of their own: how goroutines run would decide that otherwise.
func answers() http.Handler {
	mux := http.NewServeMux()
	for path, size := range map[string]int{"/small": smallSize, "/large": largeSize} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
			io.WriteString(w, strings.Repeat("x", size))
		})
	}
	mux.Handle("/events", origin.Events(0, 10*time.Second))
	return mux
}

// scene is an origin, a phone, and the link between them.
type scene struct {
	t       *testing.T
	network *linkdelay.Network
	site    *origin.Server
	browser pageload.Config
}

// on sets the scene in virtual time, with a browser that has been on the site
// before, by TCP: it knows of HTTP/3, and has no connection open.
func on(t *testing.T, link linkdelay.Link, body func(*scene)) {
	t.Helper()
	h3.Bubble(t, nil, func(t *testing.T) {
		s := arrive(t, linkdelay.NewNetwork(t, link), &origin.HTTP3{})
		s.visit("/small")
		body(s)
	})
}

func arrive(t *testing.T, network *linkdelay.Network, http3 *origin.HTTP3) *scene {
	t.Helper()
	site := origin.New(t, &origin.Config{Net: network.Host("site.test"), Handler: answers(), HTTP3: http3})
	phone := network.Host("phone.test")
	tr := site.HTTP3Transport(phone)
	tr.QUICConfig = new(quic.Config) // no keep-alive: what is idle ends after 30 s
	return &scene{t, network, site, pageload.Config{
		Transport: site.Transport(phone), HTTP3: h3.Browser(tr), Alternatives: new(pageload.Alternatives),
	}}
}

// wire is the hotspot's: up leads to the site.
func (s *scene) wire() *linkdelay.Wire { return s.network.Wire("phone.test", "site.test") }

func (s *scene) setLink(link linkdelay.Link) { s.network.SetLink("phone.test", "site.test", link) }

// told is what became of one request.
type told struct {
	protocol           string
	firstByte, content time.Duration
	took               time.Duration // with all attempts
	end                string        // "whole", or why it was not
	quic, tcp          int           // connections
	broken             bool          // the browser has given HTTP/3 up for a while
}

func (s *scene) visit(path string) told {
	s.t.Helper()
	cfg := s.browser
	cfg.URLs = []string{s.site.URL + path}
	begin := time.Now()
	page, err := pageload.Load(s.t.Context(), &cfg)
	requests := page.Log.Requests()
	require.NotEmpty(s.t, requests, "%v", err)
	q := requests[len(requests)-1]
	is := told{protocol: q.Protocol, firstByte: q.TimeToFirstByte(), content: q.Download(), took: time.Since(begin), end: "whole"}
	if q.Err != "" {
		is.end = q.Err
	}
	for _, c := range page.Log.Connections() {
		if c.Network == "udp" {
			is.quic++
		} else {
			is.tcp++
		}
	}
	for _, known := range cfg.Alternatives.Services() {
		is.broken = is.broken || known.Broken
	}
	return is
}

// byTCP is the same without HTTP/3.
func (s *scene) byTCP(path string) told {
	s.t.Helper()
	without := *s
	without.browser.HTTP3 = nil
	return without.visit(path)
}

func (is told) String() string {
	return fmt.Sprintf("%s: %v + %v (%v in all), %s, %d QUIC, %d TCP, broken %v", is.protocol, is.firstByte, is.content, is.took, is.end, is.quic, is.tcp, is.broken)
}

// lossy loses what is sent down in datagrams above 1,200 bytes, once the
// handshake is over: those have long headers.
func lossy(link linkdelay.Link, share float64) linkdelay.Link {
	link.Down.LossOver = linkdelay.SizeLoss{Size: 1200, Loss: share, ShortHeader: true}
	return link
}
