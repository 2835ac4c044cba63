package origin_test

import (
	"bytes"
	"slices"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
)

// settle waits for what is under way, and wants nothing to be open.
func (s *stage) settle(after string) {
	synctest.Wait()
	for _, c := range s.site.Log().Connections() {
		assert.NotZero(s.t, c.Closed, "connection %d is open in the ledger after Close %s", c.ID, after)
	}
	for _, q := range s.site.Log().Requests() {
		assert.NotZero(s.t, q.End, "%s %s is open in the ledger after Close %s", q.Method, q.URL, after)
	}
}

func (s *stage) check() {
	for _, a := range s.answers {
		s.checkAnswer(&a)
	}
	for _, log := range []*netlog.Log{s.site.Log(), s.told} {
		s.checkTimes(log)
		s.checkCounts(log)
		s.checkWritten(log)
	}
	s.checkConnections()
}

// checkAnswer wants an answer to be what was served, and to be in the ledger.
func (s *stage) checkAnswer(a *answer) {
	what := a.method + " " + a.url
	assert.Empty(s.t, a.wrong(), what)
	attempts, as, well := 0, 0, 0
	for _, q := range s.site.Log().Requests() {
		if q.URL != s.site.URL+a.url {
			continue
		}
		attempts++
		assert.Equal(s.t, a.method, q.Method, what)
		if q.Status == a.status {
			as++
		}
		if q.Status == a.status && q.Err == "" && q.BodyBytesDown == int64(len(a.body)) {
			well++
		}
	}
	if a.pool != "HTTP/3" {
		assert.LessOrEqual(s.t, attempts, a.attempts, "%s: in the ledger, and of the client", what)
	}
	if a.status != 0 {
		assert.NotZero(s.t, as, "%s: answered by %d, but not in the ledger", what, a.status)
	}
	if a.whole {
		assert.NotZero(s.t, well, "%s: %d bytes whole, but not in the ledger", what, len(a.body))
	}
}

// checkTimes wants what happens first to be recorded as earlier. net/http may hand
// out a connection that is over, which then is used behind its end.
func (s *stage) checkTimes(log *netlog.Log) {
	for _, c := range log.Connections() {
		assert.NotZero(s.t, c.Closed, "connection %d", c.ID)
		times := []time.Time{c.Opened, c.Handshaken, c.FirstUsed, c.Closed}
		if log == s.told {
			times = times[:3]
		}
		times = slices.DeleteFunc(times, time.Time.IsZero)
		assert.True(s.t, slices.IsSortedFunc(times, time.Time.Compare), "connection %d: times %v", c.ID, times)
	}
	for _, q := range log.Requests() {
		assert.NotZero(s.t, q.End, "%s %s", q.Method, q.URL)
		assert.False(s.t, q.End.Before(q.Start) || q.End.Before(q.FirstByte), "%s %s: ends before it begins", q.Method, q.URL)
	}
}

// checkCounts wants the counts of connections to be those of their requests.
func (s *stage) checkCounts(log *netlog.Log) {
	carried := make(map[int64]int)
	for _, q := range log.Requests() {
		if q.Connection != nil {
			carried[q.Connection.ID]++
		}
	}
	for _, c := range log.Connections() {
		assert.LessOrEqual(s.t, carried[c.ID], c.Requests, "requests of connection %d", c.ID)
		assert.LessOrEqual(s.t, c.MaxStreams, c.Requests, "streams of connection %d", c.ID)
	}
}

// checkConnections wants nobody to have received what the other side has not sent.
func (s *stage) checkConnections() {
	clients := make(map[string]netlog.Connection)
	for _, c := range s.told.Connections() {
		if c.Network == "tcp" {
			clients[c.Local] = c
		}
	}
	for _, far := range s.site.Log().Connections() {
		near, ok := clients[far.Remote]
		if !ok || far.Network != "tcp" {
			continue
		}
		assert.LessOrEqual(s.t, far.Requests, near.Requests, "requests received and sent on connection %d", far.ID)
		if near.BytesDown >= 0 && near.BytesUp >= 0 {
			assert.LessOrEqual(s.t, near.BytesDown, far.BytesDown, "bytes down received and sent on connection %d", far.ID)
			assert.LessOrEqual(s.t, far.BytesUp, near.BytesUp, "bytes up received and sent on connection %d", far.ID)
		}
	}
}

// checkWritten wants a log to be the same when it was written and read.
func (s *stage) checkWritten(log *netlog.Log) {
	var file bytes.Buffer
	_, err := log.WriteTo(&file)
	require.NoError(s.t, err)
	again, err := netlog.Read(&file)
	require.NoError(s.t, err)
	assert.Equal(s.t, log.Connections().String(), again.Connections().String())
	assert.Equal(s.t, log.Requests().String(), again.Requests().String())
	assert.Equal(s.t, log.Findings(), again.Findings())
}
