package ca_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/wiretest/netlog/chrome"
)

// chromium has one page ask for all: its load event comes when there is an answer, or none,
// to the last of them.
func (g *gallery) chromium(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Chromium reads what to trust from a file on Linux alone")
	}
	certutil := tool(t, "certutil", "libnss3-tools")
	binary, err := chrome.Find()
	if err != nil {
		tool(t, "chromium-headless-shell", chrome.Package)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for _, row := range exhibits() {
			fmt.Fprintf(w, "<img src=%q>", g.urlOf(row)+"row="+url.PathEscape(row))
		}
	}))
	defer page.Close()
	netLog := filepath.Join(g.dir, "netlog.json")
	result, err := chrome.Run(t.Context(), page.URL, &chrome.Config{
		Binary:    trusting(t, binary, certutil, g.root),
		HostRules: []string{"MAP *.test 127.0.0.1"},
		NetLog:    netLog,
	})
	if err != nil {
		t.Fatal(err)
	}
	numbers := netErrors(t, netLog)
	says := make(map[string]string)
	for _, request := range result.Log.Requests() {
		_, row, _ := strings.Cut(request.URL, "row=")
		row, _ = url.PathUnescape(row)
		says[row] = request.Err
		if number, ok := numbers[request.Err]; ok {
			says[row] = fmt.Sprintf("%s (%d)", request.Err, number)
		} else if request.Status == http.StatusOK {
			says[row] = accepted
		}
	}
	compare(t, "Chromium", result.Version, g.answers(func(row string) string { return says[row] }))
}

// trusting is a program that runs a Chromium which trusts a root: on Linux it
// reads what its user trusts from an NSS database in the home folder.
func trusting(t *testing.T, binary, certutil, root string) string {
	t.Helper()
	home := t.TempDir()
	db := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(db, 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, certutil, "-d", "sql:"+db, "-N", "--empty-password")
	run(t, certutil, "-d", "sql:"+db, "-A", "-t", "C,,", "-n", "root", "-i", root)
	script := filepath.Join(home, "browser")
	text := fmt.Sprintf("#!/bin/sh\nHOME='%s' exec '%s' \"$@\"\n", home, binary)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// netErrors are the numbers of errors by the names that a NetLog gives them.
func netErrors(t *testing.T, netLog string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(netLog)
	if err != nil {
		t.Fatal(err)
	}
	var log struct {
		Constants struct{ NetError map[string]int }
	}
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatalf("%s: %v", netLog, err)
	}
	return log.Constants.NetError
}
