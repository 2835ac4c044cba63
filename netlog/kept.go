package netlog

import (
	"encoding/json"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// Events of this package's own, beside Chrome's in what WriteTo writes. Chrome's
// know of milliseconds, of one side and of nothing like a pair; these keep each
// record as it is. A viewer shows them by their name, since the file's table has
// them.
const (
	keptPrefix     = "WIRETEST_"
	keptLog        = "WIRETEST_LOG"
	keptConnection = "WIRETEST_CONNECTION"
	keptRequest    = "WIRETEST_REQUEST"
	keptStall      = "WIRETEST_STALL"
	keptNote       = "WIRETEST_NOTE"
)

// headForm is what is known of the Log as a whole.
type headForm struct {
	Speaks     map[string][]refForm `json:"speaks_h2,omitempty"`
	QUIC       map[string][]refForm `json:"quic_broken,omitempty"`
	Alts       []AltService         `json:"alternative_services,omitempty"`
	Background int                  `json:"background,omitempty"`
	Issuers    []string             `json:"issuers,omitempty"`
}

type refForm struct {
	Event  string `json:"event"`
	Source int64  `json:"source"`
	Says   string `json:"says,omitempty"`
}

// connectionForm is a Connection, field by field.
type connectionForm struct {
	ID              int64     `json:"id"`
	Leg             Leg       `json:"leg,omitzero"`
	Network         string    `json:"network,omitzero"`
	Host            string    `json:"host,omitzero"`
	ServerName      string    `json:"server_name,omitzero"`
	Proxy           string    `json:"proxy,omitzero"`
	Rule            string    `json:"rule,omitzero"`
	Local           string    `json:"local,omitzero"`
	Remote          string    `json:"remote,omitzero"`
	TLSVersion      uint16    `json:"tls_version,omitzero"`
	Offered         []string  `json:"offered,omitzero"`
	ALPN            string    `json:"alpn,omitzero"`
	Protocol        string    `json:"protocol,omitzero"`
	Issuer          string    `json:"issuer,omitzero"`
	Resumed         bool      `json:"resumed,omitzero"`
	EarlyData       bool      `json:"early_data,omitzero"`
	Tunnel          bool      `json:"tunnel,omitzero"`
	Requests        int       `json:"requests"`
	MaxStreams      int       `json:"max_streams,omitzero"`
	StreamLimit     int       `json:"stream_limit,omitzero"`
	OpenReason      string    `json:"open_reason,omitzero"`
	CloseReason     string    `json:"close_reason,omitzero"`
	GoAway          string    `json:"goaway,omitzero"`
	Opened          time.Time `json:"opened,omitzero"`
	Handshaken      time.Time `json:"handshaken,omitzero"`
	FirstUsed       time.Time `json:"first_used,omitzero"`
	Closed          time.Time `json:"closed,omitzero"`
	BytesUp         int64     `json:"bytes_up,omitzero"`
	BytesDown       int64     `json:"bytes_down,omitzero"`
	HeaderBytesUp   int64     `json:"header_bytes_up,omitzero"`
	HeaderBytesDown int64     `json:"header_bytes_down,omitzero"`
	epoch           *time.Time
}

// requestForm is a Request, field by field.
type requestForm struct {
	ID              int64         `json:"id"`
	Connection      *Connection   `json:"-"`
	Stream          int64         `json:"stream,omitzero"`
	Pair            int64         `json:"pair,omitzero"`
	Leg             Leg           `json:"leg,omitzero"`
	Method          string        `json:"method,omitzero"`
	URL             string        `json:"url,omitzero"`
	Protocol        string        `json:"protocol,omitzero"`
	Status          int           `json:"status,omitzero"`
	Start           time.Time     `json:"start,omitzero"`
	Wait            time.Duration `json:"wait,omitzero"`
	Sent            time.Time     `json:"sent,omitzero"`
	FirstByte       time.Time     `json:"first_byte,omitzero"`
	End             time.Time     `json:"end,omitzero"`
	HeaderBytesUp   int64         `json:"header_bytes_up,omitzero"`
	HeaderBytesDown int64         `json:"header_bytes_down,omitzero"`
	BodyBytesUp     int64         `json:"body_bytes_up,omitzero"`
	BodyBytesDown   int64         `json:"body_bytes_down,omitzero"`
	Err             string        `json:"err,omitzero"`
	epoch           *time.Time
}

// stallForm is a Stall, field by field.
type stallForm struct {
	Kind     string        `json:"kind"`
	Leg      Leg           `json:"leg,omitzero"`
	Host     string        `json:"host,omitzero"`
	URL      string        `json:"url,omitzero"`
	Request  int64         `json:"request,omitzero"`
	Start    time.Time     `json:"start,omitzero"`
	Duration time.Duration `json:"duration,omitzero"`
	epoch    *time.Time
}

type connectionKept struct {
	connectionForm
	Statuses    []int    `json:"statuses,omitempty"`
	Source      int64    `json:"source,omitzero"` // and what follows: as carrierFacts
	Session     int64    `json:"session,omitzero"`
	SelfSigned  bool     `json:"self_signed,omitzero"`
	Root        rootKind `json:"root,omitzero"`
	Check       int64    `json:"check,omitzero"`
	Intercepted bool     `json:"known_interception,omitzero"`
}

type requestKept struct {
	requestForm
	Carrier int64 `json:"connection,omitzero"`
}

type stallKept struct {
	stallForm
	Index   int    `json:"index"` // in the Log
	Event   string `json:"event,omitzero"`
	Source  int64  `json:"source,omitzero"`
	Times   int    `json:"times,omitzero"`
	Carrier int64  `json:"full_connection,omitzero"`
}

type noteKept struct {
	Time   time.Time      `json:"time"`
	Type   string         `json:"type"`
	Params map[string]any `json:"params,omitempty"`
}

// kept collects these events as they are read.
type kept struct {
	head        headForm
	connections []*connectionKept
	requests    []*requestKept
	stalls      []*stallKept
	notes       []*noteKept
	damage      []Damage
}

func (c *chrome) onKept() {
	c.on(keptLog, func(e *event) { c.keeps(e, &c.keeper().head) })
	onKeptIn(c, keptConnection, func(k *kept) *[]*connectionKept { return &k.connections })
	onKeptIn(c, keptRequest, func(k *kept) *[]*requestKept { return &k.requests })
	onKeptIn(c, keptStall, func(k *kept) *[]*stallKept { return &k.stalls })
	onKeptIn(c, keptNote, func(k *kept) *[]*noteKept { return &k.notes })
}

func onKeptIn[T any](c *chrome, name string, list func(*kept) *[]*T) {
	c.on(name, func(e *event) {
		if one := new(T); c.keeps(e, one) {
			all := list(c.kept)
			*all = append(*all, one)
		}
	})
}

func (c *chrome) keeper() *kept {
	if c.kept == nil {
		c.kept = new(kept)
	}
	return c.kept
}

// keeps reads the record into form. A record that is none is told as damage.
func (c *chrome) keeps(e *event, form any) bool {
	k := c.keeper()
	err := json.Unmarshal(orEmpty(e.Params), form)
	const most = 100
	if err != nil && len(k.damage) < most {
		k.damage = append(k.damage, Damage{Offset: e.Offset, Events: c.seen - 1, What: e.Name + ": " + err.Error(), Missing: "the record"})
	}
	return err == nil
}

func orEmpty(p chromefile.Params) []byte {
	if len(p) == 0 {
		return []byte("{}")
	}
	return p
}
