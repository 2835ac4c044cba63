package wire

import (
	"sync/atomic"

	"example.com/wiretest/netlog"
)

// sending is a request whose head has yet to be sent. Its callback runs once,
// before RoundTrip returns, or never.
type sending struct {
	before  *netlog.RequestRecord // the tap's last record until then
	started func(*netlog.RequestRecord)
	over    atomic.Bool
	told    chan struct{} // closed after the callback, or when there will be none

	begun atomic.Bool   // on h2: the head is being written
	wrote chan struct{} // closed when it was, if it was begun
}

func newSending(started func(*netlog.RequestRecord)) *sending {
	return &sending{started: started, told: make(chan struct{}), wrote: make(chan struct{})}
}

// sent tells that the head was sent; rec is the tap's last record. There is
// none of this request if it was a CONNECT on http/1.1, or if the tap does not
// understand the connection anymore; then nobody is told.
func (s *sending) sent(rec *netlog.RequestRecord) {
	if !s.over.CompareAndSwap(false, true) {
		return
	}
	if s.started != nil && rec != s.before {
		s.started(rec)
	}
	close(s.told)
}

// giveUp makes sure that no callback comes anymore, and that none still runs. A
// head that is being written is waited for: the peer will have had the request,
// so the caller is to have its record.
func (s *sending) giveUp() {
	if s.begun.Load() {
		<-s.wrote
	}
	if s.over.CompareAndSwap(false, true) {
		close(s.told)
	}
	<-s.told
}
