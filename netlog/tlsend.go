package netlog

import "slices"

// tail is the last of what was read from a connection under TLS.
type tail []byte

// Of the record layer (RFC 8446, section 5).
const (
	recordHeaderLen  = 5
	recordTypeAlert  = 21
	recordTypeData   = 23
	encryptedAlert   = 2 + 1 + 16 // the alert, its type and the tag, as TLS 1.3 sends it
	largestAlert     = 64         // with the ciphers of TLS 1.2
	longestTail      = recordHeaderLen + largestAlert
	recordMajorMinor = 3 // of all versions
)

func (t *tail) add(p []byte) {
	if len(p) >= longestTail {
		*t = append((*t)[:0], p[len(p)-longestTail:]...)
		return
	}
	*t = append(*t, p...)
	if extra := len(*t) - longestTail; extra > 0 {
		*t = slices.Delete(*t, 0, extra)
	}
}

// endsTLS reports whether the last record is an alert, after which the peer says
// nothing more: close_notify, or a fatal one (RFC 8446, section 6). TLS 1.3 hides
// which records are alerts, but no other record is as short: the smallest HTTP/2
// frame has nine bytes, and HTTP/1.1 at rest has none.
func (t tail) endsTLS() bool {
	for size := 2; size <= len(t)-recordHeaderLen; size++ {
		header := t[len(t)-size-recordHeaderLen:]
		alert := header[0] == recordTypeAlert || header[0] == recordTypeData && size == encryptedAlert
		if alert && header[1] == recordMajorMinor && int(header[3])<<8|int(header[4]) == size {
			return true
		}
	}
	return false
}
