package mitm_test

import (
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http/httpguts"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// FuzzFields sends fields by hand, in requests and answers and over all four
// pairs, and wants the list of values of each name as it was sent: what a direct
// run would give. Only what belongs to one connection may be missing.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		"X-A: 1\nX-B: 2\nx-a: 3\nX-A: ",
		"Accept: a, b\nAccept: c;q=0.1\nAccept-Encoding: gzip, br\nUser-Agent: ",
		"Connection: X-Hop, close\nX-Hop: 1\nKeep-Alive: 1\nTe: trailers, x\nUpgrade: h2c\nProxy-Connection: a",
		"Set-Cookie: a=1; Path=/\nSet-Cookie: b=2\nVary: *\nDate: whenever\nServer: \nVia: 1.1 other\nX-Forwarded-For: 1",
		"Content-Type: \nContent-Type: a\nX-Latin: \xe9\xff\nX-Comma: ,\nX-Quote: \"a, b\"\n!#$%&'*+-.^_`|~: token",
	} {
		f.Add(seed)
	}
	current := &turning{TB: f}
	stages := fieldStages(f, current)
	f.Fuzz(func(t *testing.T, text string) {
		current.now.Store(t)
		fields := fuzzedFields(text)
		for name, s := range stages {
			s.compare(t, name, fields)
		}
	})
}

// fieldStage is a pair with an origin that sends back in its answer the fields
// that it got, and tells which they were.
type fieldStage struct {
	*rawStage
	client *rawClient
	got    chan http.Header
	answer chan []string
}

// turning is the test that runs just now: what is made once for all of them
// reports to it.
type turning struct {
	testing.TB
	now atomic.Pointer[testing.T]
}

func (c *turning) Helper()                         {}
func (c *turning) Errorf(form string, args ...any) { c.now.Load().Errorf(form, args...) }
func (c *turning) FailNow()                        { c.now.Load().FailNow() }

func fieldStages(f *testing.F, current testing.TB) map[string]*fieldStage {
	stages := make(map[string]*fieldStage)
	for _, down := range []string{alpn.HTTP11, alpn.H2} {
		for _, up := range []string{alpn.HTTP11, alpn.H2} {
			s := &fieldStage{got: make(chan http.Header, 1), answer: make(chan []string, 1)}
			network := linkdelay.NewLoopback(current, linkdelay.Link{})
			s.rawStage = newRawStage(current, network, mitm.Config{}, down, up, func(o *side) {
				e := o.next()
				s.got <- e.fields
				o.wantEnd()
				o.head("200", 0, <-s.answer...)
			})
			s.client = s.rawStage.client()
			stages[pairName(down, up)] = s
		}
	}
	return stages
}

// fuzzedFields are lines that may be sent.
func fuzzedFields(text string) (fields []string) {
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		value = strings.Trim(value, " \t")
		if http.CanonicalHeaderKey(name) == "User-Agent" && value == "" {
			continue // which net/http does not send
		}
		if httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value) && len(line) < 1000 && !framing(name) {
			fields = append(fields, name+": "+value)
		}
	}
	return fields[:min(len(fields), 50)]
}

// framing are names that say something of the message to which they are not to be
// added at random.
func framing(name string) bool {
	return slices.Contains([]string{"Content-Length", "Transfer-Encoding", "Host", "Trailer", "Expect", "Cookie", "Upgrade"}, http.CanonicalHeaderKey(name))
}

func (s *fieldStage) compare(t *testing.T, pair string, fields []string) {
	t.Helper()
	sent := fields
	if s.down == alpn.H2 || lists(fields, "close") { // the client's connection is for the next too
		sent = withoutHop(fields)
	}
	c := s.client.call()
	c.head("GET /", nothing, sent...)
	got := <-s.got
	got.Del("Host")
	same(t, pair+": request", kept(sent, true), got)
	if s.up == alpn.H2 {
		fields = withoutHop(fields)
	}
	s.answer <- fields
	got = c.wantHead("200")
	c.wantEnd()
	got.Del("Content-Length")
	same(t, pair+": answer", kept(fields, false), got)
}

// lists reports whether Connection has a token.
func lists(fields []string, token string) bool {
	for _, field := range fields {
		name, value := splitField(field)
		if http.CanonicalHeaderKey(name) != "Connection" {
			continue
		}
		for one := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(textproto.TrimString(one), token) {
				return true
			}
		}
	}
	return false
}

// hop are fields of one connection.
func hop(name string) bool {
	return slices.Contains([]string{"Connection", "Keep-Alive", "Proxy-Connection", "Te"}, http.CanonicalHeaderKey(name))
}

// withoutHop leaves out what HTTP/2 does not have.
func withoutHop(fields []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(field string) bool {
		name, _ := splitField(field)
		return hop(name)
	})
}

// kept are the fields that go on.
func kept(fields []string, request bool) http.Header {
	h := make(http.Header)
	trailers := false
	for _, field := range fields {
		name, value := splitField(field)
		switch {
		case http.CanonicalHeaderKey(name) == "Te":
			for one := range strings.SplitSeq(value, ",") {
				one, _, _ = strings.Cut(one, ";")
				trailers = trailers || strings.EqualFold(textproto.TrimString(one), "trailers")
			}
		case !hop(name) && !lists(fields, name):
			h.Add(name, value)
		}
	}
	if request && trailers {
		h.Set("Te", "trailers")
	}
	return h
}

func same(t *testing.T, what string, want, got http.Header) {
	t.Helper()
	for name := range want {
		if !slices.Equal(want[name], got[name]) {
			t.Errorf("%s: %s: got %q, want %q", what, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, sent := want[name]; !sent {
			t.Errorf("%s: %s: got %q, which nobody sent", what, name, got[name])
		}
	}
	if t.Failed() {
		t.Log(fmt.Sprint(want))
	}
}
