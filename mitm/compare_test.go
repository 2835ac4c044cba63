package mitm_test

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
)

// What a request and a megabyte cost beside httputil.ReverseProxy, which records
// nothing, and beside no proxy at all: TLS on every leg, the same origin and the
// same kind of client for all, the ledger on. The three take turns, so that
// whatever else the machine does slows them alike; what counts are the ratios.
func BenchmarkCompare(b *testing.B) {
	for _, load := range []load{
		{"requests", 1 << 10, 200, "requests/s", 1},
		{"bytes", 16 << 20, 2, "MB/s", 16 << 20 / 1e6},
	} {
		for _, down := range []string{alpn.HTTP11, alpn.H2} {
			for _, up := range []string{alpn.HTTP11, alpn.H2} {
				b.Run(load.name+"/"+pairName(down, up), func(b *testing.B) { compare(b, load, down, up) })
			}
		}
	}
}

type load struct {
	name  string
	size  int // of a body
	batch int // requests in a turn
	unit  string
	each  float64 // of unit in a request
}

func compare(b *testing.B, l load, down, up string) {
	authority := ca.New(b, nil)
	site := served(b, authority, up, sized())
	ways := []*way{
		{"direct", transportTo(authority, down), served(b, authority, down, sized()), nil},
		{"ReverseProxy", transportTo(authority, down), served(b, authority, down, reverseProxy(b, authority, site, up)), nil},
		{"mitm", through(b, authority, down, up, mitm.Config{}), site, nil},
	}
	for _, w := range ways {
		defer w.tr.CloseIdleConnections()
		w.turn(b, l)
		w.took = nil
	}
	for b.Loop() {
		for _, w := range ways {
			w.turn(b, l)
		}
	}
	direct, reverse, own := ways[0].rate(l), ways[1].rate(l), ways[2].rate(l)
	b.ReportMetric(0, "ns/op") // of all three together: it says nothing
	b.ReportMetric(own, l.unit)
	b.ReportMetric(own/reverse, "×ReverseProxy")
	b.ReportMetric(own/direct, "×direct")
}

// What ten rules of which the last decides, and hooks that do nothing, add to a
// request and to a megabyte.
func BenchmarkRules(b *testing.B) {
	for _, load := range []load{
		{"requests", 1 << 10, 200, "requests/s", 1},
		{"bytes", 16 << 20, 2, "MB/s", 16 << 20 / 1e6},
	} {
		for _, proto := range []string{alpn.HTTP11, alpn.H2} {
			b.Run(load.name+"/"+pairName(proto, proto), func(b *testing.B) { compareRules(b, load, proto) })
		}
	}
}

func compareRules(b *testing.B, l load, proto string) {
	authority := ca.New(b, nil)
	site := served(b, authority, proto, sized())
	var rules []mitm.Rule
	for i := range 9 {
		rules = append(rules, mitm.Rule{Host: "*.host" + strconv.Itoa(i) + ".test"})
	}
	ruled := mitm.Config{
		Rules: append(rules, mitm.Rule{Host: "*"}),
		Hooks: mitm.Hooks{
			Request:  func(*http.Request) (*http.Response, error) { return nil, nil },
			Response: func(*http.Response) error { return nil },
		},
	}
	ways := []*way{
		{"without", through(b, authority, proto, proto, mitm.Config{}), site, nil},
		{"with", through(b, authority, proto, proto, ruled), site, nil},
	}
	for _, w := range ways {
		defer w.tr.CloseIdleConnections()
		w.turn(b, l)
		w.took = nil
	}
	for b.Loop() {
		for _, w := range ways {
			w.turn(b, l)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ways[1].rate(l), l.unit)
	b.ReportMetric(ways[1].rate(l)/ways[0].rate(l), "×without")
}

// The first byte from a host that neither client nor proxy have seen before: a
// connection of each leg, and a certificate to be made.
func BenchmarkFirstByte(b *testing.B) {
	for _, proto := range []string{alpn.HTTP11, alpn.H2} {
		b.Run(pairName(proto, proto), func(b *testing.B) {
			authority := ca.New(b, nil)
			site := served(b, authority, proto, sized())
			proxy := mitm.New(b, &mitm.Config{
				RootCAs: authority.Pool(), CA: ca.New(b, nil),
				Downstream: mitm.Leg{ALPN: alpn.Only(proto)}, Upstream: mitm.Leg{ALPN: alpn.Only(proto)},
			})
			var direct, proxied []time.Duration
			for i := 0; b.Loop(); i++ {
				name := strconv.Itoa(i) + ".test"
				direct = append(direct, firstByte(b, transportTo(authority, proto), site, name))
				tr := proxy.Transport(nil)
				proxied = append(proxied, firstByte(b, tr, site, name))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(direct).Seconds()*1e3, "direct-ms")
			b.ReportMetric(median(proxied).Seconds()*1e3, "mitm-ms")
		})
	}
}

func firstByte(b *testing.B, tr *http.Transport, site, name string) time.Duration {
	tr.TLSClientConfig.ServerName = name
	defer tr.CloseIdleConnections()
	start := time.Now()
	(&way{name: name, tr: tr, url: site}).fetch(b, 1)
	return time.Since(start)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// way is one of those that are compared.
type way struct {
	name string
	tr   *http.Transport
	url  string
	took []time.Duration // of each turn
}

// turn sends a batch of requests, eight at once.
func (w *way) turn(b *testing.B, l load) {
	start := time.Now()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range (l.batch + i) / 8 {
				w.fetch(b, l.size)
			}
		})
	}
	wg.Wait()
	w.took = append(w.took, time.Since(start))
}

// rate is that of the median turn, which others on the machine disturb least.
func (w *way) rate(l load) float64 { return float64(l.batch) * l.each / median(w.took).Seconds() }

func (w *way) fetch(b *testing.B, size int) {
	client := &http.Client{Transport: w.tr}
	resp, err := client.Get(w.url + "/?" + strconv.Itoa(size))
	if err != nil {
		b.Error(w.name, err)
		return
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != int64(size) {
		b.Errorf("%s: %d of %d bytes: %v", w.name, n, size, err)
	}
}

func through(b *testing.B, authority *ca.Authority, down, up string, cfg mitm.Config) *http.Transport {
	cfg.RootCAs, cfg.CA = authority.Pool(), authority
	cfg.Downstream.ALPN, cfg.Upstream.ALPN = alpn.Only(down), alpn.Only(up)
	proxy := mitm.New(b, &cfg)
	tr := proxy.Transport(nil)
	tr.MaxIdleConnsPerHost = 1000
	return tr
}

// sized answers as many bytes as the query says.
func sized() http.Handler {
	chunk := make([]byte, 32<<10)
	return handler(func(w http.ResponseWriter, r *http.Request) {
		left, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("Content-Length", strconv.Itoa(left))
		w.Header().Set("Content-Type", "application/octet-stream")
		for left > 0 {
			n, err := w.Write(chunk[:min(left, len(chunk))])
			if err != nil {
				return
			}
			left -= n
		}
	})
}

// served is the URL of a plain net/http server of one protocol over TLS.
func served(b testing.TB, authority *ca.Authority, proto string, h http.Handler) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h, TLSConfig: authority.ServerTLS(), Protocols: only(proto), ErrorLog: log.New(io.Discard, "", 0)}
	go srv.ServeTLS(l, "", "")
	b.Cleanup(func() { srv.Close() })
	return "https://" + l.Addr().String()
}

func only(proto string) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(proto == alpn.HTTP11)
	p.SetHTTP2(proto == alpn.H2)
	return p
}

func transportTo(authority *ca.Authority, proto string) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: authority.Pool()},
		Protocols:           only(proto),
		MaxIdleConnsPerHost: 1000, // the default of 2 costs a factor of seven
	}
}

func reverseProxy(b *testing.B, authority *ca.Authority, site, proto string) http.Handler {
	target, err := url.Parse(site)
	if err != nil {
		b.Fatal(err)
	}
	tr := transportTo(authority, proto)
	b.Cleanup(tr.CloseIdleConnections)
	return &httputil.ReverseProxy{
		Transport: tr,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorLog:  log.New(io.Discard, "", 0),
	}
}
