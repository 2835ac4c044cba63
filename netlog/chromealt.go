package netlog

import (
	"net"
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// altServices are what the log shows of alternatives.
type altServices struct {
	met    []*altMet // in order
	byKey  map[[3]string]*altMet
	failed []quicFailure
}

type altMet struct {
	AltService
	refs []witness // that it is broken
}

// quicFailure is a QUIC connection that a job could not make.
type quicFailure struct {
	job  int64
	code int64
	ref  eventRef
}

func (c *chrome) onAltServices() {
	c.on(chromefile.AltSvcFound, c.altSvcFound)
	c.on(chromefile.ServerPrefs, c.serverProperties)
	c.on(chromefile.ServerLoaded, c.serverProperties)
}

func (s *altServices) meet(host, alternative, protocol string, at time.Time) *altMet {
	if protocol == "quic" { // Chromium's word for it
		protocol = "h3"
	}
	key := [3]string{host, alternative, protocol}
	if one := s.byKey[key]; one != nil {
		return one
	}
	one := &altMet{AltService: AltService{Host: host, Alternative: alternative, Protocol: protocol, Found: at}}
	if s.byKey == nil {
		s.byKey = make(map[[3]string]*altMet)
	}
	s.byKey[key] = one
	s.met = append(s.met, one)
	return one
}

// advertised reads an Alt-Svc header (RFC 7838, section 3): h3=":443"; ma=86400.
func (s *altServices) advertised(a *attempt, value string, e *event) {
	host := authorityOf(a.url)
	for one := range strings.SplitSeq(value, ",") {
		entry, _, _ := strings.Cut(one, ";")
		protocol, authority, ok := strings.Cut(strings.TrimSpace(entry), "=")
		if authority = strings.Trim(authority, `"`); ok && host != "" {
			s.meet(host, alternativeOf(host, authority), protocol, e.Time)
		}
	}
}

// alternativeOf fills in the host that ":443" leaves out.
func alternativeOf(host, authority string) string {
	if port, ok := strings.CutPrefix(authority, ":"); ok {
		return net.JoinHostPort(parseAuthority(host).name, port)
	}
	return authority
}

// altSvcFound reads {"alt_svc":"quic a.test:443, expires …","is_broken":false}.
func (c *chrome) altSvcFound(e *event) {
	entry, _, _ := strings.Cut(e.Params.Str("alt_svc"), ",")
	protocol, authority, ok := strings.Cut(entry, " ")
	host := c.peek(e.Source.ID).host
	if !ok || host == "" {
		return
	}
	one := c.alts.meet(host, authority, protocol, e.Time)
	if e.Params.Bool("is_broken") {
		one.broken(e)
	}
}

func (m *altMet) broken(e *event) {
	m.Broken = true
	m.refs = append(m.refs, witness{refer(e), "the browser calls " + m.Alternative + " broken"})
}

// serverProperties is what the browser knows of hosts, as it loads or keeps it.
func (c *chrome) serverProperties(e *event) {
	e.Params.Each("servers", func(v chromefile.Value) bool {
		server := v.Object()
		host := authorityOf(server.Str("server"))
		if server.Bool("supports_spdy") && host != "" {
			c.speaks[host] = append(c.speaks[host], refer(e))
		}
		server.Each("alternative_service", func(v chromefile.Value) bool {
			if authority := altAuthority(v.Object(), host); authority != "" && host != "" {
				c.alts.meet(host, authority, v.Object().Str("protocol_str"), e.Time)
			}
			return true
		})
		return true
	})
	e.Params.Each("broken_alternative_services", func(v chromefile.Value) bool {
		broken := v.Object()
		authority := altAuthority(broken, "")
		for _, one := range c.alts.met {
			if one.Alternative == authority {
				one.broken(e)
			}
		}
		return true
	})
}

func altAuthority(p chromefile.Params, host string) string {
	host = parseAuthority(host).name
	if own := p.Str("host"); own != "" {
		host = own
	}
	if port, ok := p.Int("port"); ok && host != "" {
		return alternativeOf(host, ":"+itoa(port))
	}
	return ""
}
