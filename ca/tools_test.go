package ca_test

import (
	"crypto/tls"
	"encoding/base64"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/ca"
)

// tool finds a program, or skips the test. Where WIRETEST_REQUIRE_TOOLS is
// set, nothing may be skipped.
func tool(t *testing.T, name, debianPackage string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("WIRETEST_REQUIRE_TOOLS") != "" {
		t.Fatalf("no %s: install the Debian package %s (WIRETEST_REQUIRE_TOOLS is set)", name, debianPackage)
	}
	t.Skipf("no %s: install the Debian package %s", name, debianPackage)
	return ""
}

// run returns the standard output of a program that succeeds.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

func TestOpenSSLVerifiesStrictly(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	for _, depth := range []int{0, 1, 3, 50} {
		authority := ca.New(t, &ca.Config{Intermediates: depth})
		leaves := map[string]*ca.Certificate{
			"sslserver": authority.Issue("www.example.com", "*.bücher.example", "127.0.0.1", "::1"),
			"sslclient": authority.Issue("alice@example.com"),
		}
		for purpose, cert := range leaves {
			strictly(t, openssl, authority, cert, purpose, time.Now())
		}
		long := authority.Issue(strings.Repeat("label.", 12) + "test") // too long for a common name
		strictly(t, openssl, authority, long, "sslserver", time.Now())
	}
}

func TestOpenSSLVerifiesStrictlyIn2000(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	authority := ca.New(t, &ca.Config{Intermediates: 2})
	var cert *ca.Certificate
	var then time.Time
	synctest.Test(t, func(*testing.T) { cert, then = authority.Issue("a.test"), time.Now() })
	strictly(t, openssl, authority, cert, "sslserver", then)
}

func strictly(t *testing.T, openssl string, authority *ca.Authority, cert *ca.Certificate, purpose string, when time.Time) {
	t.Helper()
	dir := t.TempDir()
	root, err := authority.WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	chain, _, err := cert.WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	// verify takes the first certificate of the file as the leaf, and all of
	// it as untrusted helpers.
	run(t, openssl, "verify", "-x509_strict", "-purpose", purpose, "-attime", strconv.FormatInt(when.Unix(), 10),
		"-no-CApath", "-CAfile", root, "-untrusted", chain, chain)
}

func TestOpenSSLAgreesOnTheKeyHash(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	cert := ca.New(t, nil).Issue("a.test")
	_, key, err := cert.WriteFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(t.TempDir(), "public.der")
	run(t, openssl, "pkey", "-in", key, "-pubout", "-outform", "DER", "-out", public)
	digest := filepath.Join(t.TempDir(), "digest")
	run(t, openssl, "dgst", "-sha256", "-binary", "-out", digest, public)
	want := strings.TrimSpace(run(t, openssl, "base64", "-in", digest))
	if got := cert.SPKIHash(); got != want {
		t.Errorf("hash %q, openssl says %q", got, want)
	}
}

func TestCurl(t *testing.T) {
	curl := tool(t, "curl", "curl")
	authority := ca.New(t, &ca.Config{Intermediates: 2})
	srv := httptest.NewUnstartedServer(whoami)
	srv.TLS = authority.ServerTLS("www.example.com", "*.bücher.example", "127.0.0.1")
	srv.TLS.ClientAuth = tls.VerifyClientCertIfGiven
	srv.StartTLS()
	defer srv.Close()
	dir := t.TempDir()
	root, err := authority.WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Issue("alice@example.com").WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(srv.Listener.Addr().String(), ":")
	for _, host := range []string{"www.example.com", "a.xn--bcher-kva.example", "127.0.0.1"} {
		args := []string{"-sS", "--noproxy", "*", "--max-time", "20", "--cacert", root,
			"--resolve", host + ":" + port + ":127.0.0.1", "https://" + host + ":" + port + "/"}
		if got := run(t, curl, args...); got != "nobody" {
			t.Errorf("%s: got %q", host, got)
		}
		if got := run(t, curl, append(args, "--cert", cert, "--key", key)...); got != "alice@example.com" {
			t.Errorf("%s: got %q, want alice@example.com", host, got)
		}
	}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// base64OfFile is as it stands in the path of an OCSP request.
func base64OfFile(t *testing.T, name string) string {
	t.Helper()
	return url.PathEscape(base64.StdEncoding.EncodeToString(read(t, name)))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
