package chrome_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog/chrome"
)

func TestMistakenConfig(t *testing.T) {
	browser := script(t, "exit 1")
	for want, cfg := range map[string]chrome.Config{
		`Config.Binary: "no-such-browser": executable file not found in $PATH`:                              {Binary: "no-such-browser"},
		`Config.Proxy: "127.0.0.1:80": must be a URL of scheme http, https, socks4 or socks5`:               {Proxy: "127.0.0.1:80"},
		`Config.Proxy: "ftp://a.test:21": must be a URL of scheme http, https, socks4 or socks5`:            {Proxy: "ftp://a.test:21"},
		`Config.Proxy: "http://a.test": must have a host and a port`:                                        {Proxy: "http://a.test"},
		`Config.Proxy: "http://u:p@a.test:80": Chromium takes no user or password here`:                     {Proxy: "http://u:p@a.test:80"},
		`Config.Proxy: "http://a.test:80/x": must end after the port`:                                       {Proxy: "http://a.test:80/x"},
		`Config.SPKIHashes[1]: "abc": must be a SHA-256 in base64`:                                          {SPKIHashes: []string{strings.Repeat("A", 43) + "=", "abc"}},
		`Config.Trust[0]: nil, or never parsed: it has no key`:                                              {Trust: []*x509.Certificate{nil}},
		`Config.ForceQUIC[0]: "a.test": must be host:port`:                                                  {ForceQUIC: []string{"a.test"}},
		`Config.ForceQUIC[1]: "https://a.test:443": must be host:port`:                                      {ForceQUIC: []string{"a.test:443", "https://a.test:443"}},
		`Config.HostRules[0]: "MAP a b, MAP c d": must be one rule, as "MAP origin.test 127.0.0.1"`:         {HostRules: []string{"MAP a b, MAP c d"}},
		`Config.CaptureMode: "all": must be one of ["" "HeavilyRedacted" "IncludeSensitive" "Everything"]`:  {CaptureMode: "all"},
		`Config.NetLog: stat /no/such: no such file or directory`:                                           {NetLog: "/no/such/file.json"},
		`Config.Args[0]: "about:blank": must begin with -- and a name; Open opens pages`:                    {Args: []string{"about:blank"}},
		`Config.Args[1]: "--proxy-server=x": use Config.Proxy`:                                              {Args: []string{"--mute-audio", "--proxy-server=x"}},
		`Config.Args[0]: "--remote-debugging-port=0": the package needs --remote-debugging-port for itself`: {Args: []string{"--remote-debugging-port=0"}},
		`Config.Args[0]: "--ignore-certificate-errors-spki-list=x": use Config.Trust or SPKIHashes`:         {Args: []string{"--ignore-certificate-errors-spki-list=x"}},
	} {
		if cfg.Binary == "" {
			cfg.Binary = browser
		}
		_, err := chrome.Start(&cfg)
		assert.EqualError(t, err, "chrome: "+want)
	}
}

func TestConfigIsNotModified(t *testing.T) {
	browser, netLog := script(t, "exit 1"), filepath.Join(t.TempDir(), "log.json")
	fresh := func() *chrome.Config {
		return &chrome.Config{
			Binary: browser, NetLog: netLog,
			SPKIHashes: append(make([]string, 0, 9), strings.Repeat("A", 43)+"="),
			Args:       append(make([]string, 0, 9), "--disable-features=A"),
		}
	}
	cfg := fresh()
	chrome.Start(cfg)
	assert.True(t, reflect.DeepEqual(fresh(), cfg), "%+v", cfg)
}

func TestFind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("browsers are looked for at fixed places too")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	const absent = "chrome: browser: none is installed: it is in the Debian package chromium-headless-shell"
	_, err := chrome.Find()
	assert.EqualError(t, err, absent)
	_, err = chrome.Start(nil)
	assert.EqualError(t, err, absent)

	for _, name := range []string{"google-chrome", "chromium", "chromium-headless-shell"} {
		want := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700))
		found, err := chrome.Find()
		require.NoError(t, err)
		assert.Equal(t, want, found)
	}
}

// commandLine is with what a browser is started for cfg.
func commandLine(t *testing.T, cfg chrome.Config) (args []string) {
	t.Helper()
	cfg.Binary = script(t, `for arg in "$@"; do echo "arg:$arg" >> "$HOME/../../args"; done`)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	_, err := chrome.Start(&cfg)
	require.ErrorContains(t, err, "the browser has ended")
	text, err := os.ReadFile(filepath.Join(temp, "args"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		args = append(args, strings.TrimPrefix(strings.TrimSpace(line), "arg:"))
	}
	return args
}

func TestCommandLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no browser is started there")
	}
	plain := commandLine(t, chrome.Config{})
	assert.Contains(t, plain, "--no-proxy-server")
	assert.Contains(t, plain, "--disable-quic")
	assert.Equal(t, os.Geteuid() == 0, has(plain, "--no-sandbox"), "root's Chromium alone runs without its sandbox")
	assert.False(t, has(plain, "--ignore-certificate-errors-spki-list"))

	key := strings.Repeat("A", 43) + "="
	full := commandLine(t, chrome.Config{
		Proxy: "https://a.test:8443/", SPKIHashes: []string{key, key}, ForceQUIC: []string{"a.test:443", "b.test:443"},
		CaptureMode: chrome.Everything, NDJSON: true, Args: []string{"--disable-features=Mine", "--mute-audio"},
		HostRules: []string{"MAP a.test 127.0.0.1"},
	})
	for _, want := range []string{
		"--proxy-server=https://a.test:8443",
		"--ignore-certificate-errors-spki-list=" + key + "," + key,
		"--enable-quic", "--origin-to-force-quic-on=a.test:443,b.test:443",
		"--net-log-capture-mode=Everything", "--net-log-file-format=ndjson", "--mute-audio",
	} {
		assert.Contains(t, full, want)
	}
	assert.Contains(t, value(full, "--proxy-bypass-list"), "<-loopback>;")
	assert.True(t, strings.HasPrefix(value(full, "--host-resolver-rules"), "MAP a.test 127.0.0.1, MAP "), "the first rule that matches counts")
	assert.Contains(t, value(full, "--disable-features"), "Translate,Mine")
	assert.False(t, has(full, "--disable-quic"))
	assert.Equal(t, "about:blank", full[len(full)-1])
}

func has(args []string, name string) bool {
	for _, arg := range args {
		if before, _, _ := strings.Cut(arg, "="); before == name {
			return true
		}
	}
	return false
}

func value(args []string, name string) string {
	for _, arg := range args {
		if after, ok := strings.CutPrefix(arg, name+"="); ok {
			return after
		}
	}
	return ""
}
