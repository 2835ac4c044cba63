package netlog

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// params is a JSON object without its closing bracket; nil is none.
type params []byte

// key is one of those named here, which Go quotes as JSON does.
func (p params) key(name string) params {
	if len(p) == 0 {
		p = append(p, '{')
	} else {
		p = append(p, ',')
	}
	return append(strconv.AppendQuote(p, name), ':')
}

// str leaves out what is not known.
func (p params) str(key, value string) params {
	if value == "" || value == Unknown || value == Redacted {
		return p
	}
	return p.value(key, value)
}

func (p params) num(key string, n int64) params { return strconv.AppendInt(p.key(key), n, 10) }

func (p params) flag(key string, v bool) params { return strconv.AppendBool(p.key(key), v) }

func (p params) value(key string, v any) params { return append(p.key(key), jsonOf(v)...) }

// jsonOf is v, or why that is no JSON: a Note may hold anything.
func jsonOf(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		text, _ = json.Marshal(err.Error())
	}
	return text
}

// whole is one record.
func whole(record any) params {
	text, err := json.Marshal(record)
	if err != nil {
		return params(nil).str("error", err.Error())
	}
	return text[:len(text)-1]
}

// on refers to another source.
func (p params) on(s *source) params {
	if s == nil {
		return p
	}
	p = append(p.key("source_dependency"), `{"id":`...)
	p = strconv.AppendInt(p, s.id, 10)
	return append(strconv.AppendInt(append(p, `,"type":`...), sourceNumber(s.kind), 10), '}')
}

// event writes one.
func (e *emitter) event(t *told) {
	b := e.scratch[:0]
	if e.any {
		b = append(b, ",\n"...)
	}
	e.any = true
	b = append(b, '{')
	if len(t.params) > 0 {
		b = append(append(append(b, `"params":`...), t.params...), "},"...)
	}
	b = append(append(b, `"phase":`...), byte('0'+t.phase))
	b = strconv.AppendInt(append(b, `,"source":{"id":`...), t.on.id, 10)
	b = strconv.AppendInt(append(b, `,"start_time":"`...), e.milliseconds(t.on.start), 10)
	b = strconv.AppendInt(append(b, `","type":`...), sourceNumber(t.on.kind), 10)
	b = strconv.AppendInt(append(b, `},"time":"`...), e.milliseconds(t.at), 10)
	b = strconv.AppendInt(append(b, `","type":`...), int64(e.types[t.name]), 10)
	b = append(b, '}')
	e.w.Write(b) // the error is Flush's
	e.scratch = b
}

func (e *emitter) milliseconds(t time.Time) int64 {
	return max(t.Sub(e.zero()).Milliseconds(), 0)
}

// zero is what times count from: a whole millisecond.
func (e *emitter) zero() time.Time { return time.UnixMilli(e.offset()).UTC() }

func (e *emitter) offset() int64 {
	if e.log.epoch.IsZero() {
		return 0
	}
	return e.log.epoch.UnixMilli()
}

// head is the table of constants. A viewer wants each of its dictionaries.
func (e *emitter) head() {
	e.types = make(map[string]int)
	for _, name := range e.log.eventNames() {
		e.types[name] = len(e.types) + 1
	}
	name, version := nameAndVersion(e.log.client)
	constants := map[string]any{
		"activeFieldTrialGroups": []string{},
		"addressFamily":          map[string]int{"ADDRESS_FAMILY_UNSPECIFIED": 0, "ADDRESS_FAMILY_IPV4": 1, "ADDRESS_FAMILY_IPV6": 2},
		"certStatusFlag":         map[string]int{"KNOWN_INTERCEPTION_DETECTED": 1 << 21, "KNOWN_INTERCEPTION_BLOCKED": 1 << 26},
		"clientInfo":             map[string]any{"name": name, "version": version, "os_type": "", "cl": "", "version_mod": "", "official": "", "command_line": ""},
		"loadFlag":               map[string]int{"NORMAL": 0},
		"loadState":              map[string]int{"IDLE": 0},
		"logCaptureMode":         "Default",
		"logEventPhase":          map[string]int{"PHASE_NONE": phaseNone, "PHASE_BEGIN": phaseBegin, "PHASE_END": phaseEnd},
		"logEventTypes":          e.types,
		"logFormatVersion":       1,
		"logSourceType":          sourceTypes(),
		"netError":               netErrors(),
		"quicError":              map[string]int{"QUIC_NO_ERROR": 0},
		"quicRstStreamError":     map[string]int{"QUIC_STREAM_NO_ERROR": 0},
		"timeTickOffset":         e.offset(),
	}
	text, _ := json.Marshal(constants) // of strings and numbers
	e.text(`{"constants":`)
	e.w.Write(text)
	e.text(",\n\"events\": [\n")
}

// eventNames are those that can be written: Chrome's, this package's, and those
// that a Log was read with.
func (c *copies) eventNames() []string {
	names := make(map[string]bool)
	for _, name := range writtenEvents() {
		names[name] = true
	}
	for i := range c.stalls {
		names[c.stalls[i].eventName()] = true
	}
	for _, refs := range []map[string][]refForm{c.head.Speaks, c.head.QUIC} {
		for _, some := range refs {
			for _, r := range some {
				names[r.Event] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func writtenEvents() []string {
	return []string{
		keptLog, keptConnection, keptRequest, keptStall, keptNote,
		chromefile.RequestAlive, chromefile.StartJob, chromefile.StreamRequest, chromefile.ControllerBound, chromefile.JobController,
		chromefile.ProxyResolved, chromefile.StartedJob, chromefile.StreamJob, chromefile.SocketPool, chromefile.PoolBoundToSocket,
		chromefile.JobBoundToRequest, chromefile.BoundToJob, chromefile.FoundExistingSession, chromefile.ImportedFromSocket,
		chromefile.BoundToQUICSession, chromefile.StreamRequestProto, chromefile.SendRequest, chromefile.ReadHeaders, chromefile.SendHeadersH1,
		chromefile.SendHeadersH2, chromefile.SendHeadersQUIC, chromefile.ReadResponseHeaders, chromefile.ReadBody,
		chromefile.JobFilteredBytesRead, chromefile.SocketAlive, chromefile.SocketInUse, chromefile.TCPConnect, chromefile.SSLConnect, chromefile.ConnectJob,
		chromefile.ConnectJobSetSocket, chromefile.SSLCertificates, chromefile.VerifierBoundToJob, chromefile.VerifierJob,
		chromefile.SendTunnelHeaders, chromefile.ReadTunnelHeaders, chromefile.SocketBytesSent, chromefile.SocketBytesReceived,
		chromefile.SSLBytesSent, chromefile.SSLBytesReceived, chromefile.PoolClosingSocket, chromefile.QUICSession,
		chromefile.QUICVersion, chromefile.QUICHandshakeDone, chromefile.QUICClosed, chromefile.H2Session, chromefile.H2Initialized,
		chromefile.H2RecvSetting, chromefile.H2SendHeaders, chromefile.H2RecvGoAway, chromefile.H2Close, chromefile.H2Stalled,
	}
}

// sourceKinds are numbered by their order.
var sourceKinds = [...]string{
	chromefile.SourceNone, chromefile.SourceURLRequest, chromefile.SourceJobController, chromefile.SourceStreamJob, chromefile.SourceSocket, chromefile.SourceH2Session, chromefile.SourceQUICSession, chromefile.SourceVerifierJob,
	chromefile.SourceServerProperties, chromefile.SourceQUICPoolJob, chromefile.SourcePoolManager, chromefile.SourceTransportJob, chromefile.SourceTLSJob,
}

func sourceNumber(kind string) int64 { return int64(slices.Index(sourceKinds[:], kind)) }

func sourceTypes() map[string]int64 {
	table := make(map[string]int64)
	for _, kind := range sourceKinds {
		table[kind] = sourceNumber(kind)
	}
	return table
}

// nameAndVersion takes "Chromium 156.0.1" apart.
func nameAndVersion(client string) (name, version string) {
	if i := strings.LastIndexByte(client, ' '); i >= 0 {
		return client[:i], client[i+1:]
	}
	return client, ""
}

// netErrors are those that texts of a Log name, by Chromium's numbers.
func netErrors() map[string]int {
	return map[string]int{
		"ERR_IO_PENDING": -1, "ERR_FAILED": -2, "ERR_ABORTED": -3, "ERR_TIMED_OUT": -7, "ERR_CONNECTION_CLOSED": -100,
		"ERR_CONNECTION_RESET": -101, "ERR_CONNECTION_REFUSED": -102, "ERR_CONNECTION_ABORTED": -103, "ERR_CONNECTION_FAILED": -104,
		"ERR_NAME_NOT_RESOLVED": -105, "ERR_SSL_PROTOCOL_ERROR": -107, "ERR_TUNNEL_CONNECTION_FAILED": -111, "ERR_CONNECTION_TIMED_OUT": -118,
		"ERR_PROXY_CONNECTION_FAILED": -130, "ERR_CERT_COMMON_NAME_INVALID": -200, "ERR_CERT_AUTHORITY_INVALID": -202,
		"ERR_EMPTY_RESPONSE": -324, "ERR_HTTP2_PROTOCOL_ERROR": -337, "ERR_QUIC_PROTOCOL_ERROR": -356, "ERR_QUIC_HANDSHAKE_FAILED": -358,
	}
}
