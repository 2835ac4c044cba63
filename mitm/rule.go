package mitm

import (
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/wiretest/ca"
	"example.com/wiretest/netlog"
)

// Rule is what is different for some hosts. Of Config.Rules the first whose Host
// matches decides, alone; which one it was is the Rule of a Connection in the Log,
// on both legs. Host is compared as an entry of Config.Passthrough is, and where a
// request comes with neither a tunnel nor TLS, with the host of its absolute URL or,
// in mode Transparent, with its Host.
//
// What Downstream says holds for clients that come by a tunnel: a client without
// one can ask for several hosts on one connection, and Config.Downstream rules.
type Rule struct {
	// Host is as in Config.Passthrough, or "*" for all hosts.
	Host string

	// Downstream and Upstream replace what Config has of the same name, field by
	// field; a zero field leaves Config's. So TLS is where a host has versions of
	// its own, or the client certificate that it wants. ALPN that is set turns off
	// Mirror.
	Downstream, Upstream Leg

	// OriginFirst shakes hands with the origin before the client is answered, as
	// Mirror does too, and then the certificate that the client is shown has the
	// names of the origin's beside the one that was asked for. Where the origin fails,
	// the client is accepted all the same, and its first request is answered 502.
	OriginFirst bool

	// Leaf edits what the client is shown, before it is signed: ca.Expired and its
	// like. It comes after the Leaf of Config.CA, and nil edits nothing more.
	Leaf func(*x509.Certificate)

	// CertificateFault is what is wrong with the certificate that the client is
	// shown, one of ca.Faults. It takes the place of the Fault of Config.CA, which
	// "" leaves as it is.
	CertificateFault ca.Fault

	// Passthrough is Config.Passthrough, and then nothing else may be set.
	Passthrough bool
}

// validateRules finds what is mistaken in a rule, and names it.
func (c *Config) validateRules() error {
	seen := make(map[pattern]int)
	for i := range c.Rules {
		rule := &c.Rules[i]
		pat, err := parseRuleHost(rule.Host)
		if err == nil {
			err = rule.validate(c)
		}
		if first, again := seen[pat]; err == nil && again {
			err = fmt.Errorf("it never decides: Config.Rules[%d] has the same Host", first)
		}
		if err != nil {
			return fmt.Errorf("Config.Rules[%d] for %q: %w", i, rule.Host, err)
		}
		seen[pat] = i
	}
	return nil
}

// parseRuleHost is parsePattern and "*", whose pattern is the zero one.
func parseRuleHost(host string) (pattern, error) {
	if host == "*" {
		return pattern{}, nil
	}
	pat, err := parsePattern(host)
	if err != nil {
		return pattern{}, fmt.Errorf("Host: %w", err)
	}
	return pat, nil
}

func (r *Rule) validate(c *Config) error {
	if err := r.Downstream.validateDownstream(); err != nil {
		return fmt.Errorf("downstream leg: %w", err)
	}
	if err := r.Upstream.validateUpstream(); err != nil {
		return fmt.Errorf("upstream leg: %w", err)
	}
	if err := r.validateHTTP3(c); err != nil {
		return err
	}
	tls := r.Upstream.TLS
	fault := r.CertificateFault
	switch {
	case r.Passthrough && !r.onlyPasses():
		return errors.New("Passthrough: nothing else can be set with it, for nothing is looked at")
	case c.RootCAs != nil && tls != nil && tls.RootCAs != nil:
		return errors.New("upstream leg: TLS.RootCAs and Config.RootCAs are both set: only one can count")
	case fault != "" && !slices.Contains(ca.Faults(), fault):
		return fmt.Errorf("CertificateFault: %q: there is no such fault, but %q", fault, ca.Faults())
	case r.shows() && r.Downstream.TLS != nil && (len(r.Downstream.TLS.Certificates) > 0 || r.Downstream.TLS.GetCertificate != nil):
		return errors.New("downstream leg: TLS has certificates of its own, which Leaf, CertificateFault and OriginFirst would have no say in")
	}
	return nil
}

// shows reports whether the rule is about the certificate that clients are shown.
func (r *Rule) shows() bool { return r.Leaf != nil || r.CertificateFault != "" || r.OriginFirst }

func (r *Rule) onlyPasses() bool { return !r.shows() && r.Downstream.isZero() && r.Upstream.isZero() }

// over is the leg with what l leaves open taken from base.
func (l Leg) over(base Leg) Leg {
	if !l.ALPN.IsZero() {
		base.ALPN, base.Mirror = l.ALPN, false
	}
	if l.Mirror {
		base.Mirror = true
	}
	if l.TLS != nil {
		base.TLS = l.TLS
	}
	for _, n := range []struct{ to, from *int }{
		{&base.MaxConcurrentStreams, &l.MaxConcurrentStreams},
		{&base.StreamWindow, &l.StreamWindow},
		{&base.ConnWindow, &l.ConnWindow},
		{&base.MaxConns, &l.MaxConns},
	} {
		if *n.from != 0 {
			*n.to = *n.from
		}
	}
	if l.Speak != "" {
		base.Speak = l.Speak
	}
	base.PerClient = base.PerClient || l.PerClient
	if l.HTTP3 != nil {
		base.HTTP3 = l.HTTP3
	}
	if l.Faults != nil {
		base.Faults = l.Faults
	}
	if l.ConnectionFaults != nil {
		base.ConnectionFaults = l.ConnectionFaults
	}
	return base
}

func (l *Leg) isZero() bool {
	return l.ALPN.IsZero() && !l.Mirror && l.TLS == nil && l.MaxConcurrentStreams == 0 && l.StreamWindow == 0 &&
		l.ConnWindow == 0 && l.Speak == "" && l.HTTP3 == nil && l.MaxConns == 0 && !l.PerClient && l.Faults == nil && l.ConnectionFaults == nil
}

// SetMaxConcurrentStreams changes Leg.MaxConcurrentStreams, on the leg Downstream or
// Upstream, to n, which is from 1 to math.MaxInt32: of the rule whose Host is host,
// as it is written there, or of what Config has for all others where host is "". It
// is an error if one of the three is nothing of that kind.
//
// Downstream, open connections are told by a further SETTINGS, of no more than they
// began with; net/http keeps to that. Upstream, requests that are under way stay.
func (p *Proxy) SetMaxConcurrentStreams(leg netlog.Leg, host string, n int) error {
	rule, err := p.ruleNamed(host)
	switch {
	case err != nil:
	case n < 1 || n > math.MaxInt32:
		err = fmt.Errorf("%d: must be from 1 to %d", n, math.MaxInt32)
	case leg == Downstream:
		rule.server.SetMaxConcurrentStreams(n)
		return nil
	case leg == Upstream:
		rule.limitOrigins(n)
		return nil
	default:
		err = fmt.Errorf("leg %q: want Downstream or Upstream", leg)
	}
	return fmt.Errorf("mitm: SetMaxConcurrentStreams for %q: %w", host, err)
}

func (p *Proxy) ruleNamed(host string) (*policy, error) {
	if host == "" {
		return p.policy, nil
	}
	for _, rule := range p.rules {
		if rule.name == host {
			return rule, nil
		}
	}
	return nil, errors.New("no Rule has this Host")
}
