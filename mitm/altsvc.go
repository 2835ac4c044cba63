package mitm

import (
	"net/http"
	"slices"

	"example.com/wiretest/netlog"
)

// AltSvcNote is the type of the netlog.Notes that tell what StripAltSvc took
// away: Params "of", which is a host and a path, and "values".
const AltSvcNote = "mitm.alt-svc stripped"

// stripAltSvc is for the header of an answer, 1xx too, that is about to be passed
// on.
func (x *exchange) stripAltSvc(h http.Header) {
	values, has := h["Alt-Svc"]
	if !has || !x.proxy.stripAltSvc {
		return
	}
	delete(h, "Alt-Svc")
	where := x.in.Host + x.in.URL.RequestURI()
	x.proxy.log.Note(netlog.Note{Type: AltSvcNote, Params: map[string]any{"of": where, "values": slices.Clone(values)}})
}
