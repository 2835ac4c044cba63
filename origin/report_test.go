package origin_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/origin"
)

const posted = `{"done":398.25,"failed":["https://a/x"],"entries":[
	{"name":"https://a/","nextHopProtocol":"h2","startTime":0,"requestStart":1.5,"responseStart":2,"responseEnd":3.125,"transferSize":300},
	{"name":"https://a/x","nextHopProtocol":"","startTime":4,"requestStart":0,"responseStart":0,"responseEnd":5,"transferSize":0}]}`

func post(t *testing.T, s *origin.Server, agent, body string) *http.Response {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), "POST", s.URL+origin.ReportPath, strings.NewReader(body)))
	req.Header.Set("User-Agent", agent)
	resp, err := s.Client().Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	return resp
}

// next is the next report, which must be there or come soon.
func next(t *testing.T, s *origin.Server) (*origin.Report, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.Report(ctx)
}

func TestReportIsWhatWasPosted(t *testing.T) {
	s := origin.New(t, nil)
	assert.Equal(t, http.StatusNoContent, post(t, s, "browser/1", posted).StatusCode)
	report, err := next(t, s)
	require.NoError(t, err)
	assert.Equal(t, &origin.Report{
		UserAgent: "browser/1",
		Done:      398250 * time.Microsecond,
		Failed:    []string{"https://a/x"},
		Entries: []origin.Timing{
			{URL: "https://a/", Protocol: "h2", RequestStart: 1500 * time.Microsecond, ResponseStart: 2 * time.Millisecond, ResponseEnd: 3125 * time.Microsecond, TransferSize: 300},
			{URL: "https://a/x", Start: 4 * time.Millisecond, ResponseEnd: 5 * time.Millisecond},
		},
	}, report)
}

func TestReportsComeInOrderEachOnce(t *testing.T) {
	s := origin.New(t, nil)
	early := make(chan string)
	go func() { // waits before there is a report; received from below
		report, err := next(t, s)
		if err != nil {
			early <- err.Error()
			return
		}
		early <- report.UserAgent
	}()
	post(t, s, "first", posted)
	assert.Equal(t, "first", <-early)
	for _, agent := range []string{"second", "third"} {
		post(t, s, agent, posted)
	}
	for _, want := range []string{"second", "third"} {
		report, err := next(t, s)
		require.NoError(t, err)
		assert.Equal(t, want, report.UserAgent)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := s.Report(ctx)
	assert.EqualError(t, err, "origin: Report: context deadline exceeded")
}

func TestReportEndsWithTheOrigin(t *testing.T) {
	s := origin.New(t, nil)
	require.NoError(t, s.Close())
	_, err := next(t, s)
	assert.EqualError(t, err, "origin: Report: the origin is closed")
}

func TestNothingReportsWhereAHandlerServes(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello})
	_, err := next(t, s)
	assert.EqualError(t, err, "origin: Report: Config.Handler serves: only a Page reports")
}

func TestDamagedReportIsRefused(t *testing.T) {
	s := origin.New(t, nil)
	for _, body := range []string{"", "{", `{"done":"soon"}`} {
		assert.Equal(t, http.StatusBadRequest, post(t, s, "", body).StatusCode, "%q", body)
	}
}

// What has arrived is there for whoever asks, also of an origin that is closed.
func TestReportsOutliveTheOrigin(t *testing.T) {
	s := origin.New(t, &origin.Config{Page: &origin.Page{}})
	for range 20 {
		must(s.Client().Post(s.URL+origin.ReportPath, "application/json", strings.NewReader("{}"))).Body.Close()
	}
	require.NoError(t, s.Close())
	for i := range 20 {
		_, err := s.Report(t.Context())
		require.NoError(t, err, "report %d", i+1)
	}
	_, err := s.Report(t.Context())
	assert.EqualError(t, err, "origin: Report: the origin is closed")
}
