package netlog

import (
	"strings"
	"time"

	"example.com/wiretest/netlog/internal/chromefile"
)

// chromeRequest is one source that asks: a URL_REQUEST or Cronet's
// BIDIRECTIONAL_STREAM. It becomes as many requests as it sends.
type chromeRequest struct {
	id          int64
	url, method string
	begun       time.Time // of what comes next to be sent
	own         bool      // the browser's
	at          *attempt  // the last
	all         []*attempt
}

// attempt is one request on its way.
type attempt struct {
	from        *chromeRequest
	url, method string
	proto       string // by the event that sends it
	status      int
	failed      int64  // net error
	reset       string // by the server, with its code
	stream      int64
	alive       bool // it has not ended

	controller, job, session, quic, manager int64 // towards what carries it

	start, bound, sent, firstByte, bodyEnd, end time.Time

	raw, filtered int64 // bytes of the body: as sent, and after decoding
	reading       bool  // some of the body is waited for
	replaced      bool  // by another try
	root          rootKind
	carrier       *conduit
	stalled       *chromeStall // the last
}

// request is what e happened to; nil if that is no request.
func (c *chrome) request(e *event) *chromeRequest {
	switch e.Source.Type {
	case chromefile.SourceURLRequest, chromefile.SourceBidirectional:
	default:
		return nil
	}
	r := c.requests[e.Source.ID]
	if r == nil {
		r = &chromeRequest{id: e.Source.ID}
		c.requests[r.id] = r
	}
	return r
}

// current is the attempt that goes on; where the log does not have its beginning
// it begins at t.
func (r *chromeRequest) current(t time.Time, c *chrome) *attempt {
	if r.at == nil || !r.at.alive {
		c.begin(r, t)
	}
	return r.at
}

func (c *chrome) begin(r *chromeRequest, t time.Time) {
	start := t
	if !r.begun.IsZero() {
		start = r.begun
	}
	r.begun = time.Time{}
	r.at = &attempt{from: r, url: r.url, method: r.method, start: start, alive: true}
	r.all = append(r.all, r.at)
	c.attempts = append(c.attempts, r.at)
}

// onRequests follows what is sent and answered.
func (c *chrome) onRequests() {
	of := func(name string, do func(r *chromeRequest, e *event)) {
		c.on(name, func(e *event) {
			if r := c.request(e); r != nil {
				do(r, e)
			}
		})
	}
	of(chromefile.RequestAlive, c.requestAlive)
	of(chromefile.StartJob, c.startJob)
	of(chromefile.StreamRequest, c.streamRequest)
	of(chromefile.SendHeadersH1, func(r *chromeRequest, e *event) { c.send(r, e, "http/1.1") })
	of(chromefile.SendHeadersH2, func(r *chromeRequest, e *event) { c.send(r, e, "h2") })
	of(chromefile.SendHeadersQUIC, func(r *chromeRequest, e *event) { c.send(r, e, "h3") })
	of(chromefile.ReadResponseHeaders, c.readHeaders)
	of(chromefile.ReadBody, c.readBody)
	of(chromefile.JobBytesRead, func(r *chromeRequest, e *event) { r.body(e, func(a *attempt) *int64 { return &a.raw }) })
	of(chromefile.JobFilteredBytesRead, func(r *chromeRequest, e *event) { r.body(e, func(a *attempt) *int64 { return &a.filtered }) })
	of(chromefile.LocalNetworkAccess, c.knownRoot)

	bound := func(name string, set func(a *attempt, to int64)) {
		of(name, func(r *chromeRequest, e *event) {
			if to, ok := e.Params.Dependency(); ok {
				set(r.current(e.Time, c), to)
			}
		})
	}
	bound(chromefile.BoundToJob, func(a *attempt, to int64) { a.job = to })
	bound(chromefile.BoundToQUICSession, func(a *attempt, to int64) { a.quic = to })

	c.on(chromefile.ControllerBound, c.controllerBound)
	c.on(chromefile.ManagerJobBound, c.managerBound)
	c.on(chromefile.JobBoundToRequest, c.jobBound)
}

func (c *chrome) requestAlive(r *chromeRequest, e *event) {
	if e.Phase == chromefile.End {
		c.over(r, e, true)
		return
	}
	r.begun = e.Time
	if url := urlOf(e.Params); url != "" {
		r.url = url
	}
}

// startJob begins each leg of a chain of redirects.
func (c *chrome) startJob(r *chromeRequest, e *event) {
	if e.Phase == chromefile.End {
		if code, ok := e.Params.Int("net_error"); ok && r.at != nil && r.at.alive {
			r.at.failed = code
		}
		return
	}
	if r.at != nil {
		c.over(r, e, true)
		r.begun = e.Time
	}
	if url := urlOf(e.Params); url != "" {
		r.url = url
	}
	r.method = e.Params.Str("method")
	c.whose(r, e.Params)
}

// whose decides if the request is the browser's own.
func (c *chrome) whose(r *chromeRequest, p chromefile.Params) {
	const none = "not an origin"
	kind, initiator := p.Str("request_type"), p.Str("initiator")
	switch {
	case initiator == "":
		return // not said
	case initiator != none, kind == "main frame", kind == "sub frame":
		r.own, c.pages = false, true
	case kind != "":
		r.own = true
	}
}

// streamRequest is the wait for something to carry the request. A second one is
// another try, as after a connection that was closed meanwhile.
func (c *chrome) streamRequest(r *chromeRequest, e *event) {
	if e.Phase == chromefile.End {
		a := r.current(e.Time, c)
		if a.bound = e.Time; a.sent.IsZero() {
			c.unsent = append(c.unsent, a)
		}
		return
	}
	if r.at != nil && r.at.alive {
		c.over(r, e, false)
	}
	c.begin(r, e.Time)
}

func (c *chrome) send(r *chromeRequest, e *event, proto string) {
	a := r.current(e.Time, c)
	if !a.sent.IsZero() { // once more on the same connection, as after a 401
		before := *a
		c.over(r, e, false)
		c.begin(r, e.Time)
		a = r.at
		a.controller, a.job, a.session, a.quic, a.manager = before.controller, before.job, before.session, before.quic, before.manager
	}
	a.sent, a.proto = e.Time, proto
	a.stream, _ = e.Params.Int("quic_stream_id")
	if a.url == "" || a.method == "" {
		a.describe(e.Params)
	}
	c.leavesQueue(a, a.sent)
	for _, id := range []int64{a.job, r.id, a.manager} {
		if id != 0 {
			c.sent[id] = a
		}
	}
}

// describe takes from the head what else the beginning of the request says.
func (a *attempt) describe(p chromefile.Params) {
	scheme, host, path, method := "https", "", "", ""
	for _, line := range p.Strings("headers") {
		if name, value, ok := strings.Cut(strings.TrimPrefix(line, ":"), ": "); ok {
			switch strings.ToLower(name) {
			case "method":
				method = value
			case "scheme":
				scheme = value
			case "authority", "host":
				host = value
			case "path":
				path = value
			}
		}
	}
	if line := strings.Fields(p.Str("line")); len(line) >= 2 {
		method, path = line[0], line[1]
	}
	if a.method == "" {
		a.method = method
	}
	if a.url == "" && host != "" {
		a.url = scheme + "://" + host + path
	}
}

func (c *chrome) readHeaders(r *chromeRequest, e *event) {
	a := r.current(e.Time, c)
	headers := e.Params.Strings("headers")
	version, status := statusOf(headers)
	if status/100 == 1 && status != 101 {
		return // informational (RFC 9110, section 15.2)
	}
	a.status, a.firstByte = status, e.Time
	if version == "HTTP/1.0" && a.proto == "http/1.1" {
		a.proto = "http/1.0"
	}
	for _, line := range headers {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "alt-svc") {
			c.alts.advertised(a, strings.TrimSpace(value), e)
		}
	}
}

// statusOf reads "HTTP/1.1 200 OK".
func statusOf(headers []string) (version string, status int) {
	if len(headers) == 0 {
		return "", 0
	}
	fields := strings.Fields(headers[0])
	if len(fields) < 2 || len(fields[1]) != 3 {
		return "", 0
	}
	for _, ch := range fields[1] {
		if ch < '0' || ch > '9' {
			return "", 0
		}
		status = 10*status + int(ch-'0')
	}
	return fields[0], status
}

func (c *chrome) readBody(r *chromeRequest, e *event) {
	a := r.at
	if a == nil || !a.alive {
		return
	}
	if a.reading = e.Phase == chromefile.Begin; a.reading {
		return
	}
	a.bodyEnd = e.Time
	if code, ok := e.Params.Int("net_error"); ok {
		a.failed = code
	}
}

// aborted is net::ERR_ABORTED.
const aborted = -3

// cancelled is when nobody wants the request any more: its answer is still to come,
// in whole or in part, or all is done.
func (r *chromeRequest) cancelled() {
	a := r.at
	if a == nil || !a.alive {
		return
	}
	if unanswered := !a.sent.IsZero() && a.firstByte.IsZero(); unanswered || a.reading {
		a.failed = aborted
	}
}

func (r *chromeRequest) body(e *event, count func(*attempt) *int64) {
	if n, ok := e.Params.Int("byte_count"); ok && r.at != nil && r.at.alive && n > 0 {
		*count(r.at) += n
	}
}

// over ends the attempt; ended is whether the source itself ended or went on to
// something else, and not to another try.
func (c *chrome) over(r *chromeRequest, e *event, ended bool) {
	a := r.at
	if a == nil || !a.alive {
		return
	}
	c.leavesQueue(a, e.Time)
	a.alive, a.replaced = false, !ended
	if code, ok := e.Params.Int("net_error"); ok {
		a.failed = code
	}
	a.end = e.Time
	if ended && a.failed == 0 && !a.bodyEnd.IsZero() {
		a.end = a.bodyEnd // its source lives on for a while
	}
	if a.replaced && a.sent.IsZero() {
		r.begun = a.start // the wait goes on
	}
}

// controllerBound is said by both sides.
func (c *chrome) controllerBound(e *event) {
	to, ok := e.Params.Dependency()
	if !ok {
		return
	}
	if r := c.request(e); r != nil {
		r.current(e.Time, c).controller = to
		c.node(to).request = r.id
		return
	}
	c.node(e.Source.ID).request = to
}

// managerBound is said by the request and by its job in the HttpStreamPool.
func (c *chrome) managerBound(e *event) {
	to, ok := e.Params.Dependency()
	if !ok {
		return
	}
	if r := c.request(e); r != nil {
		r.current(e.Time, c).manager = to
		return
	}
	n := c.node(e.Source.ID)
	n.manager = to
	c.enqueue(to, e.Source.ID)
}

// jobBound is said by the job and by its controller.
func (c *chrome) jobBound(e *event) {
	to, ok := e.Params.Dependency()
	if !ok {
		return
	}
	c.node(e.Source.ID).request = to
	if e.Source.Type != chromefile.SourceStreamJob {
		return
	}
	if r := c.requests[to]; r != nil && r.at != nil && r.at.alive && r.at.job == 0 {
		r.at.job = e.Source.ID
	}
}
