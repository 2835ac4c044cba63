package origin_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/origin"
)

func TestPublishedDelays(t *testing.T) {
	var page *origin.Page
	var sum, least, most time.Duration = 0, time.Hour, 0
	for _, path := range page.Paths() {
		d := page.Delay(path)
		sum, least, most = sum+d, min(least, d), max(most, d)
	}
	assert.Len(t, page.Paths(), 170)
	assert.Equal(t, 42602*time.Millisecond, sum, "sum of all delays")
	assert.Equal(t, 100*time.Millisecond, least, "smallest delay")
	assert.Equal(t, 398*time.Millisecond, most, "largest delay")
}

func TestDelay(t *testing.T) {
	ms := time.Millisecond
	published := &origin.Page{DelayMin: 100 * ms, DelayMax: 400 * ms}
	for _, c := range []struct {
		page *origin.Page
		path string
		want time.Duration
	}{
		// The first six by md5sum and a calculator.
		{nil, "/js/mod001.js", 139 * ms},
		{nil, "/js/mod050.js", 143 * ms},
		{nil, "/img/001.svg", 180 * ms},
		{nil, "/img/060.svg", 397 * ms},
		{nil, "/api/001", 214 * ms},
		{published, "/api/060", 165 * ms},
		{nil, "/", 0},
		{&origin.Page{}, "/api/001", 0},
		{&origin.Page{DelayMin: 7 * ms, DelayMax: 7 * ms}, "/api/001", 7 * ms},
		{&origin.Page{DelayMin: 7 * ms, DelayMax: 7*ms + 999*time.Microsecond}, "/api/001", 7 * ms},
		{&origin.Page{DelayMin: 1500 * time.Microsecond, DelayMax: 2500 * time.Microsecond}, "/api/001", 1500 * time.Microsecond},
	} {
		assert.Equal(t, c.want, c.page.Delay(c.path), "%+v %s", c.page, c.path)
	}
}

func TestPathsInPageOrder(t *testing.T) {
	page := &origin.Page{Scripts: 1, Images: 2, API: 1000}
	paths := page.Paths()
	require.Len(t, paths, 1003)
	assert.Equal(t, []string{"/js/mod001.js", "/img/001.svg", "/img/002.svg", "/api/001"}, paths[:4])
	assert.Equal(t, []string{"/api/999", "/api/1000"}, paths[1001:])
	assert.Empty(t, new(origin.Page).Paths())
}

// link is how a client that is no browser finds what a document names.
var link = regexp.MustCompile(`(?:src|href)="(/[^"]+)"`)

func linksOf(document string) (paths []string) {
	for _, m := range link.FindAllStringSubmatch(document, -1) {
		paths = append(paths, m[1])
	}
	return paths
}

func TestDocumentNamesEachSubresourceOnce(t *testing.T) {
	for _, page := range []*origin.Page{nil, {}, {Scripts: 1}, {Images: 3}, {API: 2}, {Scripts: 1001, Images: 1, API: 1}} {
		s := origin.New(t, &origin.Config{Page: page})
		document, _ := get(t, s.Client(), s.URL)
		want := page.Paths()
		if len(want) == 0 {
			want = nil
		}
		assert.Equal(t, want, linksOf(document), "%+v", page)
	}
}

func TestEachBodyIsWhatItsTypeSays(t *testing.T) {
	s := origin.New(t, &origin.Config{Page: smallPage()})
	check := map[string]func(body string) error{
		"text/html; charset=utf-8":       func(body string) error { return nil },
		"text/javascript; charset=utf-8": func(body string) error { return nil },
		"image/svg+xml":                  func(body string) error { return xml.Unmarshal([]byte(body), new(struct{})) },
		"application/json":               func(body string) error { return json.Unmarshal([]byte(body), new(any)) },
	}
	seen := make(map[string]int)
	for _, url := range append(s.Assets(), s.URL+"/") {
		body, resp := get(t, s.Client(), url)
		kind := resp.Header.Get("Content-Type")
		require.Contains(t, check, kind, url)
		assert.NoError(t, check[kind](body), url)
		assert.Equal(t, "no-store", resp.Header.Get("Cache-Control"), url)
		assert.Equal(t, int64(len(body)), resp.ContentLength, url)
		assert.NotEmpty(t, body, url)
		seen[kind]++
	}
	assert.Equal(t, []int{1, 2, 2, 2}, []int{
		seen["text/html; charset=utf-8"], seen["text/javascript; charset=utf-8"], seen["image/svg+xml"], seen["application/json"],
	})
}

func TestPageRefusesWhatItDoesNotHave(t *testing.T) {
	s := origin.New(t, &origin.Config{Page: smallPage()})
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/js/mod003.js", 404, "origin: the page has no /js/mod003.js\n"},
		{"GET", "/js/mod01.js", 404, "origin: the page has no /js/mod01.js\n"},
		{"GET", "/favicon.ico", 404, "origin: the page has no /favicon.ico\n"},
		{"POST", "/api/001", 405, "origin: /api/001 is not for POST\n"},
		{"HEAD", "/api/001", 200, ""},
		{"GET", "/api/001?n=1", 200, "{\"id\":1}\n"},
		{"GET", origin.ReportPath, 405, "origin: Report: not a POST\n"},
	} {
		req := httptest.NewRequest(c.method, s.URL+c.path, strings.NewReader(""))
		req.RequestURI = ""
		resp, err := s.Client().Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		assert.Equal(t, c.status, resp.StatusCode, "%s %s", c.method, c.path)
		assert.Equal(t, c.body, string(body), "%s %s", c.method, c.path)
		if c.status == http.StatusMethodNotAllowed {
			assert.NotEmpty(t, resp.Header.Get("Allow"), "%s %s", c.method, c.path)
		}
	}
}

func TestAssetsAreURLsOfThePage(t *testing.T) {
	s := origin.New(t, &origin.Config{Page: &origin.Page{Scripts: 1, API: 1}})
	assert.Equal(t, []string{s.URL + "/js/mod001.js", s.URL + "/api/001"}, s.Assets())
	assert.Nil(t, origin.New(t, &origin.Config{Handler: hello}).Assets())
}
