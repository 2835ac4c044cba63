package netlog

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.com/wiretest/netlog/internal/chromefile"
)

// asking is a request and the sources that Chromium has for it.
type asking struct {
	*teller
	c                 *copies
	q                 *requestKept
	k                 *connectionKept // nil if nothing carried it
	socket, session   *source
	ask, control, job *source
	pool, streams     *stallKept // its stalls
}

// tellRequest is a URL_REQUEST, with its HTTP_STREAM_JOB_CONTROLLER and
// HTTP_STREAM_JOB.
func (c *copies) tellRequest(q *requestKept) []told {
	a := &asking{teller: new(teller), c: c, q: q}
	a.k, a.socket, a.session = c.carrier(q.Carrier)
	a.ask, a.control, a.job = c.free(chromefile.SourceURLRequest), c.free(chromefile.SourceJobController), nil
	for _, i := range c.byID[q.ID] {
		switch s := &c.stalls[i]; s.sourceKind() {
		case chromefile.SourceStreamJob:
			a.pool = s
		case chromefile.SourceH2Session:
			a.streams = s
		}
	}
	if a.pool != nil && a.pool.Source != 0 {
		a.job = &source{id: a.pool.Source, kind: chromefile.SourceStreamJob}
	} else {
		a.job = c.free(chromefile.SourceStreamJob)
	}
	a.begins()
	a.waits()
	a.waitsForStream()
	a.sends()
	a.receives()
	return a.events
}

func (a *asking) begins() {
	q := a.q
	a.tell(a.ask, q.Start, chromefile.RequestAlive, phaseBegin, params(nil).str("priority", "MEDIUM").str("url", q.URL).str("leg", string(q.Leg)))
	a.tell(a.ask, q.Start, keptRequest, phaseNone, whole(q))
	a.tell(a.ask, q.Start, chromefile.StartJob, phaseBegin, params(nil).str("url", q.URL).str("method", cmp.Or(q.Method, "GET")).num("load_flags", 0))
	a.tell(a.ask, q.Start, chromefile.StreamRequest, phaseBegin, nil)
	a.tell(a.control, q.Start, chromefile.JobController, phaseBegin, params(nil).str("url", q.URL).flag("is_preconnect", false))
	a.tell(a.ask, q.Start, chromefile.ControllerBound, phaseNone, params(nil).on(a.control))
	a.tell(a.control, q.Start, chromefile.ControllerBound, phaseNone, params(nil).on(a.ask))
	if a.k != nil && a.k.Proxy != "" {
		a.tell(a.control, q.Start, chromefile.ProxyResolved, phaseNone, params(nil).str("proxy_chain", "[http://"+a.k.Proxy+"]"))
	}
	a.tell(a.job, q.Start, chromefile.StreamJob, phaseBegin, params(nil).str("logical_destination", baseOf(q.URL)).on(a.control))
	a.tell(a.control, q.Start, chromefile.StartedJob, phaseNone, params(nil).on(a.job))
}

// baseOf is a URL without its path.
func baseOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// waits is until a connection takes the request.
func (a *asking) waits() {
	q := a.q
	took := firstOfTimes(q.Sent, q.End)
	if took.IsZero() {
		took = q.Start.Add(q.Wait)
	}
	if a.streams != nil { // the connection is there, and full
		took = a.streams.Start
	}
	a.tell(a.job, q.Start, chromefile.SocketPool, phaseBegin, nil)
	if a.pool != nil {
		a.tell(a.job, a.pool.Start, a.pool.eventName(), phaseNone, nil)
		end := a.pool.Start.Add(a.pool.Duration)
		if end.After(took) { // by the clock's grain
			end = took
		}
		a.tell(a.job, end, chromefile.SocketPool, phaseEnd, nil)
	} else {
		a.tell(a.job, took, chromefile.SocketPool, phaseEnd, nil)
	}
	a.bound()
	a.tell(a.job, took, chromefile.JobBoundToRequest, phaseNone, params(nil).on(a.ask))
	a.tell(a.ask, took, chromefile.BoundToJob, phaseNone, params(nil).on(a.job))
	a.tell(a.job, took, chromefile.StreamJob, phaseEnd, nil)
	a.tell(a.ask, took, chromefile.StreamRequest, phaseEnd, nil)
	a.tell(a.control, took, chromefile.JobController, phaseEnd, nil)
}

// waitsForStream is said by the session that was full.
func (a *asking) waitsForStream() {
	s := a.streams
	if s == nil {
		return
	}
	on := a.session
	if s.Source != 0 {
		on = &source{id: s.Source, kind: chromefile.SourceH2Session}
	}
	if on == nil {
		on = a.c.free(chromefile.SourceH2Session)
	}
	a.tell(on, s.Start, s.eventName(), phaseNone, params(nil).str("url", a.q.URL))
}

// bound says what the job found.
func (a *asking) bound() {
	switch {
	case a.k == nil:
	case a.k.Network == "udp":
		a.tell(a.ask, a.last, chromefile.BoundToQUICSession, phaseNone, params(nil).on(a.socket))
	case a.q.Protocol == "h2" && a.session != nil:
		name := chromefile.FoundExistingSession
		if !a.k.FirstUsed.Before(a.q.Start) && a.k.Opened.After(a.q.Start) {
			name = chromefile.ImportedFromSocket
		}
		a.tell(a.job, a.last, name, phaseNone, params(nil).on(a.session))
	default:
		a.tell(a.job, a.last, chromefile.PoolBoundToSocket, phaseNone, params(nil).on(a.socket))
	}
}

func (a *asking) sends() {
	q := a.q
	if q.Sent.IsZero() {
		return
	}
	a.tell(a.ask, q.Sent, chromefile.SendRequest, phaseBegin, nil)
	u, method := pathOf(q.URL), cmp.Or(q.Method, "GET")
	switch q.Protocol {
	case "h2":
		headers := pseudoHeaders(method, u)
		a.tell(a.ask, q.Sent, chromefile.SendHeadersH2, phaseNone, params(nil).value("headers", headers))
		if a.session != nil && q.Stream != 0 {
			p := params(nil).num("stream_id", q.Stream).value("headers", headers).on(a.job)
			a.tell(a.session, q.Sent, chromefile.H2SendHeaders, phaseNone, p)
		}
	case "h3":
		a.tell(a.ask, q.Sent, chromefile.SendHeadersQUIC, phaseNone, params(nil).value("headers", pseudoHeaders(method, u)).num("quic_stream_id", q.Stream))
	default:
		p := params(nil).str("line", method+" "+u.RequestURI()+" HTTP/1.1\r\n").value("headers", []string{"Host: " + u.Host})
		a.tell(a.ask, q.Sent, chromefile.SendHeadersH1, phaseNone, p)
	}
	a.tell(a.ask, q.Sent, chromefile.SendRequest, phaseEnd, nil)
}

// pseudoHeaders are those of a request (RFC 9113, section 8.3.1).
func pseudoHeaders(method string, u *url.URL) []string {
	return []string{":method: " + method, ":authority: " + u.Host, ":scheme: " + cmp.Or(u.Scheme, "https"), ":path: " + u.RequestURI()}
}

// pathOf is the URL; one that is none is all path.
func pathOf(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		return &url.URL{Path: s}
	}
	return u
}

func (a *asking) receives() {
	q := a.q
	if !q.FirstByte.IsZero() {
		a.tell(a.ask, q.Sent, chromefile.ReadHeaders, phaseBegin, nil)
		if q.Status != 0 {
			a.tell(a.ask, q.FirstByte, chromefile.ReadResponseHeaders, phaseNone, params(nil).value("headers", []string{a.statusLine()}))
		}
		a.tell(a.ask, q.FirstByte, chromefile.ReadHeaders, phaseEnd, nil)
	}
	if q.End.IsZero() {
		return
	}
	end := params(nil)
	if q.Err != "" {
		end = end.num("net_error", errorNumber(q.Err)).str("description", q.Err)
	}
	if !q.FirstByte.IsZero() && q.Err == "" {
		a.tell(a.ask, q.FirstByte, chromefile.ReadBody, phaseBegin, nil)
		if q.BodyBytesDown > 0 {
			a.tell(a.ask, q.End, chromefile.JobFilteredBytesRead, phaseNone, params(nil).num("byte_count", q.BodyBytesDown))
		}
		a.tell(a.ask, q.End, chromefile.ReadBody, phaseEnd, nil)
	}
	a.tell(a.ask, q.End, chromefile.StartJob, phaseEnd, nil)
	a.tell(a.ask, q.End, chromefile.RequestAlive, phaseEnd, end)
}

// statusLine is as Chromium writes it, whatever the protocol.
func (a *asking) statusLine() string {
	line := "HTTP/1.1 " + strconv.Itoa(a.q.Status)
	if a.q.Protocol == "http/1.0" {
		line = "HTTP/1.0 " + strconv.Itoa(a.q.Status)
	}
	if text := http.StatusText(a.q.Status); text != "" && a.q.Protocol != "h2" && a.q.Protocol != "h3" {
		line += " " + text
	}
	return line
}

// errorNumber is that of the name in the text, or of a failure that has none.
func errorNumber(text string) int64 {
	for name, n := range netErrors() {
		if strings.Contains(text, name) {
			return int64(n)
		}
	}
	return int64(netErrors()["ERR_FAILED"])
}
