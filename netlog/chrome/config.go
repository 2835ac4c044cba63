package chrome

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CaptureMode is how much of what passes is written to the NetLog.
type CaptureMode string

const (
	// CaptureDefault leaves cookies and credentials out. It is the zero value.
	CaptureDefault CaptureMode = ""

	// HeavilyRedacted keeps events, times and counts, but no host, URL or
	// protocol. (The state of the network stack that Chromium puts behind the
	// events does name the hosts of open connections.)
	HeavilyRedacted CaptureMode = "HeavilyRedacted"

	// IncludeSensitive also has cookies and credentials.
	IncludeSensitive CaptureMode = "IncludeSensitive"

	// Everything also has all bytes of all sockets, so the NetLog is larger
	// than what was transferred.
	Everything CaptureMode = "Everything"
)

var captureModes = []CaptureMode{CaptureDefault, HeavilyRedacted, IncludeSensitive, Everything}

// Config says how a browser runs. A nil Config, and the zero value of every
// field, work.
type Config struct {
	// Binary is the browser, a path or a name in PATH. "" is the first of
	// chromium-headless-shell, chromium and their kin that is found: the
	// headless shell is the same network stack, and asks nothing of its maker's
	// servers.
	Binary string

	// Proxy is the URL of the proxy that everything goes through, loopback
	// addresses too: http, https, socks4 or socks5, with a port, without a
	// password. "" is none, whatever the system's settings say.
	Proxy string

	// Trust are certificates that are accepted although no authority that the
	// browser knows has issued them. What counts is the key of a certificate
	// that the server presents: its leaf, or an intermediate. A root cannot
	// help, for servers do not present it. (ca.Authority.Leaf returns what a
	// fixture will present.)
	Trust []*x509.Certificate

	// SPKIHashes are further keys to trust, by their SHA-256 in base64, as
	// ca.Certificate.SPKIHash gives them.
	SPKIHashes []string

	// QUIC lets the browser use HTTP/3 with origins that announce it. Without
	// it the browser speaks HTTP over TCP only.
	QUIC bool

	// ForceQUIC are origins, as host:port, with which the browser speaks HTTP/3
	// from the first packet on, and nothing else. It implies QUIC.
	ForceQUIC []string

	// HostRules are rules of resolving, in the words of --host-resolver-rules:
	// "MAP origin.test 127.0.0.1" or "MAP *.test:443 127.0.0.1:8443".
	HostRules []string

	// NetLog is the file that the NetLog is written to; it is created or
	// overwritten, and stays. "" is a file that is removed when it was read;
	// with New it is one in the test's ArtifactDir, which go test keeps if told
	// to by -artifacts.
	NetLog string

	// CaptureMode is how much is written to the NetLog.
	CaptureMode CaptureMode

	// NDJSON writes the NetLog as one JSON value in each line.
	NDJSON bool

	// Done says when a page is done: Open calls it when the browser has begun
	// to show the page, and returns when it returns. Its ctx ends with Open's,
	// and when the browser or the page crashes. nil is the page's load event.
	Done func(ctx context.Context) error

	// Args are further command line arguments, such as
	// "--enable-features=HappyEyeballsV3" or, where Chromium's sandbox needs
	// rights that a container lacks, "--no-sandbox". That one is given without
	// asking where the user is root, with whom Chromium does not start
	// otherwise. What a field rules is an error here.
	Args []string
}

// resolved is a copy of c, nil or not, that has been checked and in which paths
// are absolute.
func (c *Config) resolved() (*Config, error) {
	full := Config{}
	if c != nil {
		full = *c
	}
	binary, err := find(full.Binary)
	if err != nil {
		return nil, err
	}
	full.Binary = binary
	if full.NetLog, err = netLogPath(full.NetLog); err != nil {
		return nil, fmt.Errorf("Config.NetLog: %w", err)
	}
	if full.SPKIHashes, err = full.keys(); err != nil {
		return nil, err
	}
	return &full, full.validate()
}

func (c *Config) validate() error {
	if err := validProxy(c.Proxy); err != nil {
		return fmt.Errorf("Config.Proxy: %q: %w", c.Proxy, err)
	}
	if !slices.Contains(captureModes, c.CaptureMode) {
		return fmt.Errorf("Config.CaptureMode: %q: must be one of %q", c.CaptureMode, captureModes)
	}
	for i, origin := range c.ForceQUIC {
		if host, port, ok := cutLast(origin, ":"); !ok || host == "" || port == "" || strings.ContainsAny(origin, ", /") {
			return fmt.Errorf("Config.ForceQUIC[%d]: %q: must be host:port", i, origin)
		}
	}
	for i, rule := range c.HostRules {
		if strings.TrimSpace(rule) == "" || strings.Contains(rule, ",") {
			return fmt.Errorf("Config.HostRules[%d]: %q: must be one rule, as \"MAP origin.test 127.0.0.1\"", i, rule)
		}
	}
	return validArgs(c.Args)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// validProxy refuses what Chromium would ignore without a word.
func validProxy(proxy string) error {
	if proxy == "" {
		return nil
	}
	u, err := url.Parse(proxy)
	switch {
	case err != nil || !slices.Contains([]string{"http", "https", "socks4", "socks5"}, u.Scheme):
		return errors.New("must be a URL of scheme http, https, socks4 or socks5")
	case u.Hostname() == "" || u.Port() == "":
		return errors.New("must have a host and a port")
	case u.User != nil:
		return errors.New("Chromium takes no user or password here")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("must end after the port")
	}
	return nil
}

// keys are SPKIHashes and those of Trust.
func (c *Config) keys() ([]string, error) {
	keys := slices.Clone(c.SPKIHashes)
	for i, key := range keys {
		if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) != sha256.Size {
			return nil, fmt.Errorf("Config.SPKIHashes[%d]: %q: must be a SHA-256 in base64", i, key)
		}
	}
	for i, cert := range c.Trust {
		if cert == nil || len(cert.RawSubjectPublicKeyInfo) == 0 {
			return nil, fmt.Errorf("Config.Trust[%d]: nil, or never parsed: it has no key", i)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		keys = append(keys, base64.StdEncoding.EncodeToString(sum[:]))
	}
	return keys, nil
}

// netLogPath is absolute and clean, because Chromium refuses "..".
func netLogPath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return "", err // Chromium would run and write nothing
	}
	return path, nil
}
