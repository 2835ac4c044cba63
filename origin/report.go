package origin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// ReportPath is where the page's own script posts its Report. It is the only
// request of a page load that is none of the page's.
const ReportPath = "/.wiretest/report"

// Report is what a browser says about its load of the page. Times are from the
// start of the navigation, with the browser's own precision.
type Report struct {
	UserAgent string
	Done      time.Duration // when the last subresource was there, well or not
	Failed    []string      // URLs of subresources that failed or were refused
	Entries   []Timing      // the document first, then what it loaded
}

// Timing is one entry of the browser's Resource Timing. A zero time is one that
// the browser does not tell.
type Timing struct {
	URL           string
	Protocol      string // nextHopProtocol: the ALPN name of what was spoken on the first hop
	Start         time.Duration
	RequestStart  time.Duration
	ResponseStart time.Duration
	ResponseEnd   time.Duration
	TransferSize  int64 // bytes of head and body; 0 is from a cache
}

// Report returns the next report of a browser that loaded the page, in order of
// their arrival. If there is none it waits for it, until ctx ends or the origin is
// closed. Where Config.Handler serves instead of a page it fails.
func (s *Server) Report(ctx context.Context) (*Report, error) {
	if s.reports == nil {
		return nil, errors.New("origin: Report: Config.Handler serves: only a Page reports")
	}
	report, err := s.reports.next(ctx, s.ctx)
	if err != nil {
		return nil, fmt.Errorf("origin: Report: %w", err)
	}
	return report, nil
}

// inbox keeps the reports that nobody has taken yet.
type inbox struct {
	mu      sync.Mutex
	waiting []*Report     // guarded by mu
	arrived chan struct{} // wakes one who waits; holds a token while waiting is not empty, and perhaps one too many
}

func newInbox() *inbox { return &inbox{arrived: make(chan struct{}, 1)} }

func (b *inbox) put(report *Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, report)
	b.signal()
}

// signal puts the token; the caller holds mu, and the send does not block.
func (b *inbox) signal() {
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

func (b *inbox) next(ctx, server context.Context) (*Report, error) {
	for {
		if report := b.take(); report != nil { // also of an origin that is closed
			return report, nil
		}
		select {
		case <-b.arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-server.Done():
			return nil, errors.New("the origin is closed")
		}
	}
}

// take returns the oldest report, and hands the token on if others wait; nil is
// that there is none.
func (b *inbox) take() *Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return nil
	}
	first := b.waiting[0]
	b.waiting = b.waiting[1:]
	if len(b.waiting) > 0 {
		b.signal()
	}
	return first
}

// maxReport is far above what a page of a thousand subresources has to say.
const maxReport = 16 << 20

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "origin: Report: not a POST", http.StatusMethodNotAllowed)
		return
	}
	var posted postedReport
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReport)).Decode(&posted); err != nil {
		http.Error(w, fmt.Sprintf("origin: Report: %v", err), http.StatusBadRequest)
		return
	}
	b.put(posted.report(r.UserAgent()))
	w.WriteHeader(http.StatusNoContent)
}

// postedReport is the report as the script writes it: times are fractional
// milliseconds.
type postedReport struct {
	Done    milliseconds `json:"done"`
	Failed  []string     `json:"failed"`
	Entries []struct {
		Name            string       `json:"name"`
		NextHopProtocol string       `json:"nextHopProtocol"`
		StartTime       milliseconds `json:"startTime"`
		RequestStart    milliseconds `json:"requestStart"`
		ResponseStart   milliseconds `json:"responseStart"`
		ResponseEnd     milliseconds `json:"responseEnd"`
		TransferSize    int64        `json:"transferSize"`
	} `json:"entries"`
}

type milliseconds float64

func (m milliseconds) duration() time.Duration {
	return time.Duration(float64(m) * float64(time.Millisecond)).Round(time.Microsecond)
}

func (p *postedReport) report(userAgent string) *Report {
	report := &Report{UserAgent: userAgent, Done: p.Done.duration(), Failed: p.Failed}
	for _, e := range p.Entries {
		report.Entries = append(report.Entries, Timing{
			URL:           e.Name,
			Protocol:      e.NextHopProtocol,
			Start:         e.StartTime.duration(),
			RequestStart:  e.RequestStart.duration(),
			ResponseStart: e.ResponseStart.duration(),
			ResponseEnd:   e.ResponseEnd.duration(),
			TransferSize:  e.TransferSize,
		})
	}
	return report
}
