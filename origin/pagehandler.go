package origin

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// resource is one answer of a page.
type resource struct {
	contentType string
	body        string
	delay       time.Duration
}

// pageHandler serves a Page. It is not changed after it was made.
type pageHandler struct {
	resources map[string]resource
	reports   http.Handler
}

func newPageHandler(page Page, reports http.Handler) *pageHandler {
	h := &pageHandler{
		resources: make(map[string]resource, 1+page.Scripts+page.Images+page.API),
		reports:   reports,
	}
	h.resources["/"] = resource{"text/html; charset=utf-8", page.document(), 0}
	for _, kind := range page.kinds() {
		for n := 1; n <= kind.count; n++ {
			path := fmt.Sprintf(kind.path, n)
			h.resources[path] = resource{kind.contentType, fmt.Sprintf(kind.body, n), page.Delay(path)}
		}
	}
	return h
}

func (h *pageHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == ReportPath {
		h.reports.ServeHTTP(w, r)
		return
	}
	found, ok := h.resources[r.URL.Path]
	if !ok {
		http.Error(w, fmt.Sprintf("origin: the page has no %s", r.URL.Path), http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("origin: %s is not for %s", r.URL.Path, r.Method), http.StatusMethodNotAllowed)
		return
	}
	pace(r, found.delay)
	found.writeTo(w)
}

// writeTo states a length, so that no protocol has to frame an unknown one.
// Nothing may be cached: a page is loaded cold every time.
func (res resource) writeTo(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", res.contentType)
	header.Set("Content-Length", strconv.Itoa(len(res.body)))
	header.Set("Cache-Control", "no-store")
	fmt.Fprint(w, res.body)
}
