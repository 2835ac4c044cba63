package origin

import (
	"encoding/json"
	"io"
	"net/http"

	"example.com/wiretest/netlog/wire"
)

// Echoed is what Echo answers, in JSON.
type Echoed struct {
	Method, URL, Host string
	Protocol          string      // "HTTP/1.0", "HTTP/1.1", "HTTP/2.0" or "HTTP/3.0"
	Connection        int64       // ID in the Log; 0 where no origin serves
	Stream            int64       // of HTTP/2 and HTTP/3
	ServerName        string      // SNI
	Header            http.Header // names as net/http spells them
	HeaderBytes       int64       // of the request's head on the wire; 0 where no origin serves
	Body              []byte

	// Line and Fields are the head as it came on the wire, in its order: on
	// HTTP/1.1 the request line, and the names as the client spells them; on HTTP/2
	// the pseudo-header fields are among Fields, and there is no Line. Both are
	// empty where no origin serves, and over HTTP/3.
	Line   string
	Fields []wire.Field
}

// Echo answers with what arrived: Echoed, in JSON.
func Echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	e := Echoed{Method: r.Method, URL: r.RequestURI, Host: r.Host, Protocol: r.Proto, Header: r.Header, Body: body}
	if r.TLS != nil {
		e.ServerName = r.TLS.ServerName
	}
	if rec := wire.RequestOf(r); rec != nil {
		q := rec.Request()
		e.Stream, e.HeaderBytes = q.Stream, q.HeaderBytesUp
	}
	if s := wire.StreamOf(r); s != nil {
		e.Line, e.Fields = s.RequestHead()
	}
	if rec := wire.ConnectionOf(r); rec != nil {
		e.Connection = rec.Connection().ID
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(e)
}
