package pageload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"example.com/wiretest/netlog"
)

// DefaultPerHost is how many HTTP/1.1 connections browsers open to one host.
const DefaultPerHost = 6

// Config says what to load, and over what. Of its fields only URL or URLs has to be
// set.
type Config struct {
	// URL is the page: its HTML is loaded first, then all at once what it
	// names. Either URL or URLs is set; they are absolute, of http or https.
	URL string
	// URLs is one cold batch: all at once, with no HTML first.
	URLs []string
	// Transport says how to connect; nil is a plain http.Transport that offers h2 and
	// http/1.1. Of its fields Proxy, ProxyConnectHeader, DialContext, TLSClientConfig,
	// ForceAttemptHTTP2, Protocols and DisableKeepAlives are used; its connection
	// pool is not, because a browser's is another. A DialTLSContext is an error.
	Transport *http.Transport
	// HTTP3 opens an HTTP/3 connection for an origin, host ("name:port", which
	// its certificate is to be for), at an alternative ("name:port") that Alt-Svc
	// named; rec is its record, which is closed when it fails. h3.Browser of
	// package netlog/h3 is one. nil follows no Alt-Svc.
	HTTP3 func(ctx context.Context, host, alternative string, rec *netlog.ConnectionRecord) (HTTP3Conn, error)
	// Alternatives is what is remembered of Alt-Svc, and added to. nil is nothing:
	// the load forgets what it has learned.
	Alternatives *Alternatives
	// HeadStart is for how long a request waits for the handshake of HTTP/3 before
	// it goes by TCP beside it. 0 is until the handshake has succeeded or failed,
	// which makes a load exact; Chrome waits for 300 ms, or for one and a half
	// round trips where it knows them.
	HeadStart time.Duration
	// PerHost is the limit of HTTP/1.1 connections to one host; 0 is
	// DefaultPerHost.
	PerHost int
	// Header is sent with every request; nil is none.
	Header http.Header
	// Log is where the load is recorded; nil is a Log of its own.
	Log *netlog.Log
}

// plan is a Config that was found sound, with its defaults filled in.
type plan struct {
	page      *url.URL   // nil for a batch
	batch     []*url.URL // nil for a page
	transport *http.Transport
	perHost   int
	header    http.Header
	log       *netlog.Log

	http3        func(ctx context.Context, host, alternative string, rec *netlog.ConnectionRecord) (HTTP3Conn, error)
	alternatives *Alternatives
	headStart    time.Duration
}

func (cfg *Config) plan() (*plan, error) {
	if cfg == nil {
		return nil, errors.New("pageload: Config is nil: want URL or URLs")
	}
	if cfg.PerHost < 0 {
		return nil, fmt.Errorf("pageload: Config.PerHost: %d is negative", cfg.PerHost)
	}
	if cfg.HeadStart < 0 {
		return nil, fmt.Errorf("pageload: Config.HeadStart: %v is negative", cfg.HeadStart)
	}
	p := &plan{
		transport: cfg.Transport,
		perHost:   cmp.Or(cfg.PerHost, DefaultPerHost),
		header:    cfg.Header.Clone(),
		log:       cmp.Or(cfg.Log, new(netlog.Log)),

		http3:        cfg.HTTP3,
		alternatives: cmp.Or(cfg.Alternatives, new(Alternatives)),
		headStart:    cfg.HeadStart,
	}
	if p.header == nil {
		p.header = make(http.Header)
	}
	if p.transport == nil {
		p.transport = &http.Transport{ForceAttemptHTTP2: true}
	}
	if p.transport.DialTLSContext != nil {
		return nil, errors.New("pageload: Config.Transport.DialTLSContext is set: a load does its own TLS to see what was negotiated")
	}
	// net/http fills a Transport's fields in at its first use, which may come beside
	// this load; Clone has it done with that before the fields are read.
	p.transport = p.transport.Clone()
	return p, p.parse(cfg)
}

func (p *plan) parse(cfg *Config) (err error) {
	switch {
	case cfg.URL == "" && len(cfg.URLs) == 0:
		return errors.New("pageload: Config: neither URL nor URLs is set: want a page or a batch")
	case cfg.URL != "" && len(cfg.URLs) > 0:
		return errors.New("pageload: Config.URL and Config.URLs are both set: want a page or a batch")
	}
	if cfg.URL != "" {
		p.page, err = parseURL("URL", cfg.URL)
		return err
	}
	for i, raw := range cfg.URLs {
		u, err := parseURL(fmt.Sprintf("URLs[%d]", i), raw)
		if err != nil {
			return err
		}
		p.batch = append(p.batch, u)
	}
	return nil
}

func parseURL(field, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("pageload: Config.%s: %w", field, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("pageload: Config.%s: %q: want an absolute http or https URL", field, raw)
	}
	return u, nil
}
