package chrome_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
)

func TestRunReturnsAWholeLog(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{
		"/":      html(`<img src="/a.svg"><img src="/b.svg">`),
		"/a.svg": html(""), "/b.svg": html(""),
	})
	result, err := chrome.Run(t.Context(), s.URL+"/", &chrome.Config{Trust: trust(s)})
	require.NoError(t, err)
	assert.Contains(t, result.Version, "Chrome/")
	assert.Empty(t, result.NetLog)
	assert.Empty(t, result.Log.Damage())
	netlog.RequireConnections(t, result.Log, 1, "h2")
	var urls []string
	for _, q := range result.Log.Requests(netlog.Status(200)) {
		urls = append(urls, strings.TrimPrefix(q.URL, s.URL))
	}
	assert.Equal(t, []string{"/", "/a.svg", "/b.svg"}, urls)
}

func TestNetLogStays(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/": html("")})
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	result, err := chrome.Run(t.Context(), s.URL, &chrome.Config{Trust: trust(s), NetLog: dir + "/sub/../kept.json"})
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "kept.json"), result.NetLog)
	again, err := netlog.ReadFile(result.NetLog)
	require.NoError(t, err)
	assert.Equal(t, result.Log.String(), again.String())
}

// TestOnePageAfterTheOther shows that a Browser keeps what browsers keep.
func TestOnePageAfterTheOther(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/one": html(""), "/two": html("")})
	b := chrome.New(t, &chrome.Config{Trust: trust(s)})
	require.NoError(t, b.Open(t.Context(), s.URL+"/one"))
	require.NoError(t, b.Open(t.Context(), s.URL+"/one#fragment"))
	require.NoError(t, b.Open(t.Context(), s.URL+"/two"))
	result, err := b.Finish()
	require.NoError(t, err)
	netlog.RequireConnections(t, result.Log, 1, "h2")
	assert.Len(t, result.Log.Requests(netlog.Status(200)), 2)
	assert.FileExists(t, result.NetLog)

	again, err := b.Finish()
	assert.Same(t, result, again)
	assert.NoError(t, err)
	assert.NoError(t, b.Close())
	err = b.Open(t.Context(), s.URL+"/one")
	assert.EqualError(t, err, "chrome: open: "+s.URL+"/one: the browser is closed")
}

func TestOpenWaitsForTheLoadEvent(t *testing.T) {
	needed(t)
	leavesNothing(t)
	var served atomic.Bool
	s := site(t, map[string]http.HandlerFunc{
		"/": html(`<img src="/slow">`),
		"/slow": func(http.ResponseWriter, *http.Request) {
			<-time.After(300 * time.Millisecond)
			served.Store(true)
		},
	})
	b := chrome.New(t, &chrome.Config{Trust: trust(s)})
	require.NoError(t, b.Open(t.Context(), s.URL))
	assert.True(t, served.Load(), "the document is there, its image is not")
}

func TestDone(t *testing.T) {
	needed(t)
	leavesNothing(t)
	told := make(chan struct{}, 1)
	s := site(t, map[string]http.HandlerFunc{
		"/":      html(`<img src="/never"><script>fetch("/done")</script>`),
		"/never": hangs,
		"/done":  func(http.ResponseWriter, *http.Request) { told <- struct{}{} },
	})
	done := func(ctx context.Context) error {
		select {
		case <-told:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	result, err := chrome.Run(t.Context(), s.URL, &chrome.Config{Trust: trust(s), Done: done})
	require.NoError(t, err, "the load event never comes")
	assert.Empty(t, result.Log.Damage())

	refuses := func(context.Context) error { return errors.New("no") }
	result, err = chrome.Run(t.Context(), s.URL, &chrome.Config{Trust: trust(s), Done: refuses})
	assert.EqualError(t, err, "chrome: open: "+s.URL+": Config.Done: no")
	assert.NotNil(t, result.Log)
}

// TestNeverDone shows that the log of a page that hangs is there to be read.
func TestNeverDone(t *testing.T) {
	needed(t)
	leavesNothing(t)
	asked := make(chan struct{})
	s := site(t, map[string]http.HandlerFunc{
		"/":      html(`<img src="/never">`),
		"/never": func(w http.ResponseWriter, r *http.Request) { close(asked); hangs(w, r) },
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-asked; cancel(errors.New("the test has waited enough")) }() // ends with asked
	result, err := chrome.Run(ctx, s.URL, &chrome.Config{Trust: trust(s)})
	require.Error(t, err)
	assert.Regexp(t, "^chrome: open: "+s.URL+": (no load event: )?the test has waited enough$", err.Error(), "the image is asked for about when the page is there")
	assert.Empty(t, result.Log.Damage())
	assert.Len(t, result.Log.Requests(), 2, "%v", result.Log.Requests())
}

func TestDoneThatEndsTheGoroutine(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/": html("")})
	ended := make(chan struct{})
	go func() { // ends by Goexit, as t.FailNow does it; waited for below
		defer close(ended)
		chrome.Run(t.Context(), s.URL, &chrome.Config{Trust: trust(s), Done: func(context.Context) error { runtime.Goexit(); return nil }})
	}()
	<-ended
}

func TestPageThatCannotBeHad(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/": html("")})
	gone := site(t, nil)
	gone.Close()
	asking := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="here"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	t.Cleanup(asking.Close)
	for _, c := range []struct {
		name, url, want string
		cfg             *chrome.Config
	}{
		{"refused", gone.URL, "net::ERR_CONNECTION_REFUSED", nil},
		{"not trusted", s.URL, "net::ERR_CERT_AUTHORITY_INVALID (Config.Trust has to have what the server presents; behind an intercepting proxy that is the proxy's certificate)", nil},
		{"no name", "https://origin.test/", "net::ERR_NAME_NOT_RESOLVED", &chrome.Config{HostRules: []string{"MAP *.test ~NOTFOUND"}}},
		{"no proxy", s.URL, "net::ERR_PROXY_CONNECTION_FAILED", &chrome.Config{Proxy: "http://" + gone.Listener.Addr().String()}},
		{"wants credentials of CONNECT", "https://origin.test/", "the page stopped loading without a load event", &chrome.Config{Proxy: asking.URL}},
		{"no URL", "nonsense", "Page.navigate: Cannot navigate to invalid URL", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := chrome.Run(t.Context(), c.url, c.cfg)
			assert.EqualError(t, err, "chrome: open: "+c.url+": "+c.want)
			assert.NotNil(t, result.Log)
		})
	}
}

// TestPageThatLeadsElsewhere: the load event is that of the page which is then
// there, also where the first had none.
func TestPageThatLeadsElsewhere(t *testing.T) {
	needed(t)
	leavesNothing(t)
	asked, left := make(chan struct{}), make(chan struct{})
	s := site(t, map[string]http.HandlerFunc{
		"/":     html(`<img src="/never"><script src="/leave.js"></script>`),
		"/next": html(`<script src="/late.js"></script>`),
		"/leave.js": func(w http.ResponseWriter, r *http.Request) {
			<-asked // a page that is left at once may not have asked for all it has
			io.WriteString(w, `location = "/next"`)
		},
		"/never": func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			<-r.Context().Done()
			close(left)
		},
		"/late.js": func(http.ResponseWriter, *http.Request) { <-left },
	})
	result, err := chrome.Run(t.Context(), s.URL+"/", &chrome.Config{Trust: trust(s)})
	require.NoError(t, err)
	for _, r := range result.Log.Requests() {
		if strings.HasSuffix(r.URL, "/late.js") {
			assert.Equal(t, 200, r.Status, "the page was not waited for\n%v", result.Log)
			return
		}
	}
	t.Fatalf("the page was not opened\n%v", result.Log)
}

// TestNames shows made-up names, whose certificate is verified by name.
func TestNames(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/": html("")})
	result, err := chrome.Run(t.Context(), "https://origin.test/", &chrome.Config{
		Trust: trust(s), HostRules: []string{"MAP origin.test:443 " + s.Listener.Addr().String()},
	})
	require.NoError(t, err)
	netlog.RequireConnections(t, result.Log, 1, "h2", netlog.Host("origin.test"))
}

func TestCtxEndsAtOnce(t *testing.T) {
	needed(t)
	leavesNothing(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := chrome.Run(ctx, "about:blank", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.True(t, strings.HasPrefix(err.Error(), "chrome: start: "), err)
}
