package netlog

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// tellHead is of the Log as a whole: what a browser knew from before.
func (e *emitter) tellHead() []told {
	t, c := new(teller), e.log
	t.tell(c.free(chromefile.SourceNone), c.epoch, keptLog, phaseNone, whole(c.head))
	for _, host := range sortedKeys(c.head.Speaks) {
		for _, r := range c.head.Speaks[host] {
			server := map[string]any{"server": "https://" + host, "supports_spdy": true}
			t.tell(&source{id: r.Source, kind: chromefile.SourceServerProperties}, c.epoch, r.Event, phaseNone, params(nil).value("servers", []any{server}))
		}
	}
	for _, host := range sortedKeys(c.head.QUIC) {
		for _, r := range c.head.QUIC[host] {
			on := &source{id: r.Source, kind: kindOfQUIC(r.Event)}
			t.tell(on, c.epoch, r.Event, phaseNone, params(nil).str("host", host).str("description", r.Says))
		}
	}
	return t.events
}

func kindOfQUIC(event string) string {
	switch {
	case strings.HasPrefix(event, "QUIC_"):
		return chromefile.SourceQUICPoolJob
	case event == chromefile.AltSvcFound:
		return chromefile.SourceJobController
	}
	return chromefile.SourceServerProperties
}

// tellConnection is a SOCKET or a QUIC_SESSION, and the HTTP2_SESSION on it.
func (c *copies) tellConnection(k *connectionKept) []told {
	_, on, session := c.carrier(k.ID)
	t := new(teller)
	if k.Network == "udp" {
		c.tellQUIC(t, k, on)
	} else {
		c.tellSocket(t, k, on)
	}
	if session != nil {
		c.tellSession(t, k, on, session)
	}
	if !k.Closed.IsZero() {
		t.tellClosed(k, on, session)
	}
	return t.events
}

func (c *copies) tellSocket(t *teller, k *connectionKept, on *source) {
	kind := chromefile.SourceTransportJob
	if k.TLSVersion != 0 {
		kind = chromefile.SourceTLSJob
	}
	job := c.free(kind)
	t.tell(job, k.Opened, chromefile.ConnectJob, phaseBegin, params(nil).str("group_id", groupOf(k)))
	t.tell(on, k.Opened, chromefile.SocketAlive, phaseBegin, params(nil).on(job).str("leg", string(k.Leg)).str("host", k.Host))
	t.tell(on, k.Opened, keptConnection, phaseNone, whole(k))
	t.tell(on, k.Opened, chromefile.TCPConnect, phaseBegin, params(nil).value("address_list", []string{k.Remote}))
	t.tell(on, k.Opened, chromefile.TCPConnect, phaseEnd, params(nil).str("local_address", k.Local).str("remote_address", k.Remote))
	if k.Proxy != "" && (k.TLSVersion != 0 || k.Tunnel) {
		t.tell(on, k.Opened, chromefile.SendTunnelHeaders, phaseNone, params(nil).str("line", "CONNECT "+k.Host+" HTTP/1.1\r\n"))
		t.tell(on, k.Opened, chromefile.ReadTunnelHeaders, phaseNone, params(nil).value("headers", []string{"HTTP/1.1 200"}))
	}
	if !k.Handshaken.IsZero() {
		c.tellTLS(t, k, on)
	}
	t.tell(job, k.Handshaken, chromefile.ConnectJobSetSocket, phaseNone, params(nil).on(on))
	t.tell(job, k.Handshaken, chromefile.ConnectJob, phaseEnd, nil)
}

func groupOf(k *connectionKept) string {
	if k.Host == "" || k.Host == Redacted {
		return ""
	}
	if k.TLSVersion != 0 {
		return "https://" + k.Host
	}
	return "http://" + k.Host
}

func (c *copies) tellTLS(t *teller, k *connectionKept, on *source) {
	t.tell(on, k.Opened, chromefile.SSLConnect, phaseBegin, nil)
	c.tellCertificate(t, k, on)
	end := params(nil)
	if k.TLSVersion != 0 {
		end = end.str("version", tls.VersionName(k.TLSVersion))
	}
	end = end.flag("is_resumed", k.Resumed)
	switch k.ALPN {
	case NoALPN:
		end = end.value("next_proto", "unknown") // Chromium's word for none
	default:
		end = end.str("next_proto", k.ALPN)
	}
	end = end.str("server_name", k.ServerName).str("issuer", k.Issuer)
	if len(k.Offered) > 0 {
		end = end.value("offered", k.Offered)
	}
	t.tell(on, k.Handshaken, chromefile.SSLConnect, phaseEnd, end)
}

// tellCertificate is without the certificate, which a Log does not keep.
func (c *copies) tellCertificate(t *teller, k *connectionKept, on *source) {
	if k.Issuer == "" || k.Issuer == Redacted {
		return
	}
	t.tell(on, k.Handshaken, chromefile.SSLCertificates, phaseNone, params(nil).str("issuer", k.Issuer))
	if k.Check == 0 {
		return
	}
	check := &source{id: k.Check, kind: chromefile.SourceVerifierJob}
	t.tell(on, k.Handshaken, chromefile.VerifierBoundToJob, phaseNone, params(nil).on(check))
	same := func(other *connectionKept) bool { return other.Check == k.Check }
	if k.Root == rootUnknown || c.connections[slices.IndexFunc(c.connections, same)] != k {
		return
	}
	t.tell(check, k.Handshaken, chromefile.VerifierJob, phaseBegin, nil)
	t.tell(check, k.Handshaken, chromefile.VerifierJob, phaseEnd, params(nil).flag("is_issued_by_known_root", k.Root == rootShipped))
}

func (c *copies) tellQUIC(t *teller, k *connectionKept, on *source) {
	p := params(nil).str("leg", string(k.Leg))
	if host, port, err := net.SplitHostPort(k.Host); err == nil {
		n, _ := strconv.ParseInt(port, 10, 32)
		p = p.str("host", host).num("port", n)
	}
	t.tell(on, k.Opened, chromefile.QUICSession, phaseBegin, p.str("self_address", k.Local).str("peer_address", k.Remote))
	t.tell(on, k.Opened, keptConnection, phaseNone, whole(k))
	if k.Handshaken.IsZero() {
		return
	}
	c.tellCertificate(t, k, on)
	t.tell(on, k.Handshaken, chromefile.QUICVersion, phaseNone, params(nil).str("version", "RFCv1"))
	t.tell(on, k.Handshaken, chromefile.QUICHandshakeDone, phaseNone, nil)
}

func (c *copies) tellSession(t *teller, k *connectionKept, on, session *source) {
	begins := later(k.Handshaken, k.Opened)
	if begins.IsZero() {
		begins = k.FirstUsed
	}
	p := params(nil).str("host", k.Host)
	if k.Proxy != "" {
		p = p.str("proxy", "[http://"+k.Proxy+"]")
	}
	t.tell(session, begins, chromefile.H2Session, phaseBegin, p)
	t.tell(session, begins, chromefile.H2Initialized, phaseNone, params(nil).str("protocol", "h2").on(on))
	if k.StreamLimit != 0 {
		p := params(nil).str("id", "3 (SETTINGS_MAX_CONCURRENT_STREAMS)").num("value", int64(k.StreamLimit))
		t.tell(session, begins, chromefile.H2RecvSetting, phaseNone, p)
	}
}

func (t *teller) tellClosed(k *connectionKept, on, session *source) {
	if k.Network == "udp" {
		t.tell(on, k.Closed, chromefile.QUICClosed, phaseNone, params(nil).str("details", k.CloseReason))
		t.tell(on, k.Closed, chromefile.QUICSession, phaseEnd, nil)
		return
	}
	if session != nil {
		if k.GoAway != "" {
			t.tell(session, k.Closed, chromefile.H2RecvGoAway, phaseNone, params(nil).str("description", k.GoAway))
		}
		t.tell(session, k.Closed, chromefile.H2Close, phaseNone, params(nil).str("description", k.CloseReason))
		t.tell(session, k.Closed, chromefile.H2Session, phaseEnd, nil)
	}
	up, down := chromefile.SocketBytesSent, chromefile.SocketBytesReceived
	if !k.Handshaken.IsZero() {
		up, down = chromefile.SSLBytesSent, chromefile.SSLBytesReceived
	}
	if k.BytesUp > 0 {
		t.tell(on, k.Closed, up, phaseNone, params(nil).num("byte_count", k.BytesUp))
	}
	if k.BytesDown > 0 {
		t.tell(on, k.Closed, down, phaseNone, params(nil).num("byte_count", k.BytesDown))
	}
	t.tell(on, k.Closed, chromefile.PoolClosingSocket, phaseNone, params(nil).str("reason", k.CloseReason))
	t.tell(on, k.Closed, chromefile.SocketAlive, phaseEnd, nil)
}

// tellNote has a source of its own.
func (c *copies) tellNote(n Note) []told {
	t := new(teller)
	p := params(nil).value("time", n.Time).value("type", n.Type)
	if len(n.Params) > 0 {
		inner := make(map[string]json.RawMessage, len(n.Params))
		for name, v := range n.Params {
			inner[name] = jsonOf(v) // one that is no JSON does not spoil the others
		}
		p = p.value("params", inner)
	}
	t.tell(c.free(chromefile.SourceNone), n.Time, keptNote, phaseNone, p)
	return t.events
}

// tellStall keeps the record; what Chrome says of it is told with the request,
// or here if there is none.
func (c *copies) tellStall(s *stallKept) []told {
	t := new(teller)
	on := &source{id: s.Source, kind: s.sourceKind()}
	if s.Source == 0 {
		_, _, session := c.carrier(s.Carrier)
		if on = session; session == nil {
			on = c.free(s.sourceKind())
		}
	}
	t.tell(on, s.Start, keptStall, phaseNone, whole(s))
	if s.Request >= 1 && s.Request <= int64(len(c.requests)) && on.kind != chromefile.SourcePoolManager {
		return t.events
	}
	switch on.kind {
	case chromefile.SourceStreamJob:
		t.tell(on, s.Start, chromefile.SocketPool, phaseBegin, nil)
		t.tell(on, s.Start, s.eventName(), phaseNone, nil)
		t.tell(on, s.Start.Add(s.Duration), chromefile.SocketPool, phaseEnd, nil)
	default:
		t.tell(on, s.Start, s.eventName(), phaseNone, s.says())
	}
	return t.events
}

func (s *stallKept) eventName() string {
	name, _, _ := strings.Cut(s.Kind, " ")
	return cmp.Or(s.Event, name, chromefile.Cancelled)
}

func (s *stallKept) sourceKind() string {
	switch name := s.eventName(); {
	case strings.HasPrefix(name, "HTTP_STREAM_POOL_"):
		return chromefile.SourcePoolManager
	case strings.HasPrefix(name, chromefile.H2Session):
		return chromefile.SourceH2Session
	}
	return chromefile.SourceStreamJob
}

func (s *stallKept) says() params {
	switch s.Kind {
	case StalledPoolGroup:
		return params(nil).num("can_attempt", 4)
	case StalledPool:
		return params(nil).num("can_attempt", 5)
	}
	return params(nil).str("url", s.URL)
}

// firstOfTimes is the first that is known.
func firstOfTimes(all ...time.Time) time.Time {
	for _, t := range all {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}
