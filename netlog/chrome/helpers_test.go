package chrome_test

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/chrome"
)

// needed skips the test where there is no browser, or fails it where
// WIRETEST_REQUIRE_TOOLS says that nothing may be skipped.
func needed(t *testing.T) {
	t.Helper()
	if _, err := chrome.Find(); err != nil {
		if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// site serves paths over TLS, by HTTP/2 and HTTP/1.1.
func site(t *testing.T, pages map[string]http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, page := range pages {
		mux.HandleFunc(path, page)
	}
	s := httptest.NewUnstartedServer(mux)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections() // those of a browser that was killed
		s.Close()
	})
	return s
}

// head keeps browsers from asking for /favicon.ico.
const head = `<link rel="icon" href="data:,">`

func html(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, head+body)
	}
}

// hangs answers nothing until the client goes away.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func trust(s *httptest.Server) []*x509.Certificate { return []*x509.Certificate{s.Certificate()} }

// script is an executable that is no browser.
func script(t *testing.T, lines ...string) string {
	name := filepath.Join(t.TempDir(), "browser")
	text := "#!/bin/sh\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o700))
	return name
}

// leavesNothing fails t if a process, a file, a descriptor or a goroutine of a
// browser is left when all other cleanups are done. Call it first.
func leavesNothing(t *testing.T) {
	t.Helper()
	temp, err := os.MkdirTemp("", "left-") // t.TempDir makes paths too long for sockets
	require.NoError(t, err)
	t.Setenv("TMPDIR", temp)
	before := len(descriptors())
	t.Cleanup(func() {
		defer os.RemoveAll(temp)
		if after := len(descriptors()); after > before { // at once, for in time the garbage collector closes them
			t.Errorf("%d pipes are open, %d were before", after, before)
		}
		for _, left := range []struct {
			what string
			list func() []string
		}{
			{"processes", func() []string { return processes(temp) }},
			{"files", func() []string { return files(temp) }},
			{"goroutines", goroutines},
		} {
			var list []string
			for range 3000 { // half a minute, for busy machines
				if list = left.list(); len(list) == 0 {
					break
				}
				<-time.After(10 * time.Millisecond)
			}
			if len(list) > 0 {
				t.Errorf("%s left:\n%s", left.what, strings.Join(list, "\n"))
			}
		}
	})
}

// processes are those that run in an environment with temp in it.
func processes(temp string) (left []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		env, _ := os.ReadFile(dir + "/environ") // empty if it is dead and not reaped
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) || !bytes.Contains(env, []byte("TMPDIR="+temp+"/")) {
			continue
		}
		command, _ := os.ReadFile(dir + "/cmdline")
		left = append(left, dir+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
	}
	return left
}

func files(temp string) (left []string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "chrome-") {
			left = append(left, e.Name())
		}
	}
	return left
}

// descriptors are the pipes of this process: what else it has open comes and
// goes with servers.
func descriptors() (pipes []string) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if target, _ := os.Readlink(fd); strings.HasPrefix(target, "pipe:") {
			pipes = append(pipes, target)
		}
	}
	return pipes
}

func goroutines() (left []string) {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for _, stack := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(stack, "netlog/chrome.(") {
			left = append(left, stack)
		}
	}
	return left
}
