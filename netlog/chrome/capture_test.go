package chrome_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/chrome"
)

func TestCaptureModes(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "delicate"})
		html("")(w, r)
	}})
	body := base64.StdEncoding.EncodeToString([]byte(head))
	for _, c := range []struct {
		name                   string
		cfg                    chrome.Config
		proto                  string
		url, delicate, content bool
	}{
		{"default", chrome.Config{}, "h2", true, false, false},
		{"NDJSON", chrome.Config{NDJSON: true}, "h2", true, false, false},
		{"heavily redacted", chrome.Config{CaptureMode: chrome.HeavilyRedacted}, netlog.Redacted, false, false, false},
		{"include sensitive", chrome.Config{CaptureMode: chrome.IncludeSensitive}, "h2", true, true, false},
		{"everything", chrome.Config{CaptureMode: chrome.Everything}, "h2", true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Trust, c.cfg.NetLog = trust(s), filepath.Join(t.TempDir(), "log.json")
			result, err := chrome.Run(t.Context(), s.URL, &c.cfg)
			require.NoError(t, err)
			assert.Empty(t, result.Log.Damage())
			used := result.Log.Connections(netlog.Used())
			require.Len(t, used, 1)
			assert.Equal(t, c.proto, used[0].ALPN)
			assert.Equal(t, c.url, result.Log.Requests()[0].URL == s.URL+"/", "%v", result.Log.Requests())

			text, err := os.ReadFile(result.NetLog)
			require.NoError(t, err)
			assert.Equal(t, c.delicate, bytes.Contains(text, []byte("delicate")), "the cookie is in the file")
			assert.Equal(t, c.content, bytes.Contains(text, []byte(body)), "the body is in the file")
			if c.cfg.NDJSON {
				assert.True(t, bytes.HasPrefix(text, []byte(`{"`)))
				assert.False(t, bytes.HasSuffix(bytes.TrimSpace(text), []byte("]}")))
			}
		})
	}
}

// TestProxySeesThePageAlone shows that everything goes through the proxy, and
// that what Chromium does on its own account does not.
func TestProxySeesThePageAlone(t *testing.T) {
	needed(t)
	for _, binary := range []string{"chromium-headless-shell", "chromium"} {
		if _, err := exec.LookPath(binary); err != nil {
			continue
		}
		t.Run(binary, func(t *testing.T) {
			leavesNothing(t)
			proxy := new(recordingProxy)
			s := httptest.NewServer(proxy)
			defer s.Close()
			_, err := chrome.Run(t.Context(), "http://127.0.0.1/", &chrome.Config{Binary: binary, Proxy: s.URL})
			require.NoError(t, err)
			assert.Equal(t, []string{"GET http://127.0.0.1/"}, proxy.seen())
		})
	}
}

// recordingProxy answers everything itself.
type recordingProxy struct {
	mu  sync.Mutex
	all []string // guarded by mu
}

func (p *recordingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.all = append(p.all, r.Method+" "+r.URL.String())
	p.mu.Unlock()
	html("")(w, r)
}

func (p *recordingProxy) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}
