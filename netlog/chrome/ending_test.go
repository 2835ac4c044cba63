//go:build unix

package chrome_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/chrome"
)

// started is a browser whose NetLog is closed by nobody but the test.
func started(t *testing.T, cfg *chrome.Config) *chrome.Browser {
	t.Helper()
	b, err := chrome.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// TestBrowserThatDies shows what is left of a browser that was killed in the
// middle of a page.
func TestBrowserThatDies(t *testing.T) {
	needed(t)
	leavesNothing(t)
	var b *chrome.Browser
	s := site(t, map[string]http.HandlerFunc{
		"/": html(`<img src="/never">`),
		"/never": func(w http.ResponseWriter, r *http.Request) {
			syscall.Kill(-b.Group(), syscall.SIGKILL)
			hangs(w, r)
		},
	})
	b = started(t, &chrome.Config{Trust: trust(s)})
	err := b.Open(t.Context(), s.URL)
	require.ErrorContains(t, err, "chrome: open: "+s.URL+": no load event: the browser has ended (signal: killed)")

	result, err := b.Finish()
	require.ErrorContains(t, err, "chrome: close: the browser had ended before (signal: killed)")
	if result.Log != nil { // something was written
		assert.NotEmpty(t, result.Log.Damage())
	}
}

func TestPageThatCrashes(t *testing.T) {
	needed(t)
	leavesNothing(t)
	s := site(t, map[string]http.HandlerFunc{"/": html("")})
	b := started(t, &chrome.Config{Trust: trust(s)})
	err := b.Open(t.Context(), "chrome://crash")
	require.ErrorContains(t, err, "chrome: open: chrome://crash: the page crashed")
	assert.NoError(t, b.Open(t.Context(), s.URL), "another page of the same browser")
	_, err = b.Finish()
	assert.NoError(t, err)
}

// TestBrowserThatDoesNotEnd stops every process of the browser, so that it
// hears nothing.
func TestBrowserThatDoesNotEnd(t *testing.T) {
	needed(t)
	leavesNothing(t)
	b := started(t, nil)
	b.SetCloseBound(200 * time.Millisecond)
	require.NoError(t, syscall.Kill(-b.Group(), syscall.SIGSTOP))
	_, err := b.Finish()
	require.ErrorContains(t, err, "chrome: close: the browser did not end within 200ms and was killed")
}

func TestProgramThatIsNoBrowser(t *testing.T) {
	leavesNothing(t)
	t.Run("ends", func(t *testing.T) {
		_, err := chrome.Start(&chrome.Config{Binary: script(t, "echo cannot open display >&2", "exit 3")})
		require.Error(t, err)
		assert.True(t, strings.HasSuffix(err.Error(), "browser: the browser has ended (exit status 3)\nthe browser wrote:\n\tcannot open display"), err)
	})
	t.Run("never answers", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := chrome.Run(ctx, "about:blank", &chrome.Config{Binary: script(t, "sleep 1000 & sleep 1000")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("cannot run", func(t *testing.T) {
		_, err := chrome.Start(&chrome.Config{Binary: "/no/such"})
		require.ErrorContains(t, err, `chrome: Config.Binary: "/no/such"`)
	})
}

// TestTesterThatDies shows that a browser ends with the program that started
// it, even where that had no time to close anything.
func TestTesterThatDies(t *testing.T) {
	needed(t)
	if os.Getenv("CHROME_TEST_DIES") != "" {
		if _, err := chrome.Start(nil); err != nil {
			t.Fatal(err)
		}
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	temp := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTesterThatDies$")
	cmd.Env = append(os.Environ(), "CHROME_TEST_DIES=1", "TMPDIR="+temp)
	out, err := cmd.CombinedOutput()
	require.ErrorContains(t, err, "killed", "%s", out)
	assert.Eventually(t, func() bool { return len(processes(temp)) == 0 }, time.Minute, 10*time.Millisecond, "left: %v", processes(temp))
}
