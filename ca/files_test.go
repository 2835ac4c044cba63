package ca_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/wiretest/ca"
)

func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	authority := ca.New(t, &ca.Config{Intermediates: 1})
	for _, c := range []struct{ identity, base string }{
		{"a.test", "a.test"},
		{"*.example.com", "_.example.com"},
		{"::1", "__1"},
		{"x/y@a.test", "x_y@a.test"},
		{strings.Repeat("label.", 12) + "test", "leaf"},
	} {
		cert := authority.Issue(c.identity)
		certFile, keyFile, err := cert.WriteFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, c.base); certFile != want+".pem" || keyFile != want+"-key.pem" {
			t.Errorf("%s: files %s and %s, want %s…", c.identity, certFile, keyFile, want)
		}
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil || len(pair.Certificate) != 2 || !pair.Leaf.Equal(cert.Leaf) {
			t.Errorf("%s: read back %d certificates, error %v", c.identity, len(pair.Certificate), err)
		}
		info, err := os.Stat(keyFile)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: key file has mode %v, error %v", c.identity, info.Mode(), err)
		}
	}
}

// A key is its owner's alone also where a file was that anyone could read, and
// who reads a file while it is replaced gets all of the old one.
func TestWriteFilesReplaces(t *testing.T) {
	dir := t.TempDir()
	authority := ca.New(t, nil)
	const old = "old"
	keyFile := filepath.Join(dir, "a.test-key.pem")
	write(t, keyFile, []byte(old))
	if err := os.Chmod(keyFile, 0o644); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if runtime.GOOS == "windows" {
		reader.Close() // there what is open cannot be replaced
	}
	certFile, _, err := authority.Issue("a.test").WriteFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if got, err := io.ReadAll(reader); string(got) != old {
			t.Errorf("who had opened the old file read %q, error %v", got, err)
		}
		for name, want := range map[string]os.FileMode{certFile: 0o644, keyFile: 0o600} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, want %v, error %v", name, info.Mode(), want, err)
			}
		}
	}
	if files, err := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("files %v, want the two alone, error %v", files, err)
	}
}

func TestNothingIsWrittenUnasked(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	t.Setenv("HOME", ".")
	authority := ca.New(t, nil)
	requireShake(t, "unasked", authority.ServerTLS(), named(authority.ClientTLS("x@a.test"), "a.test"))
	if files, err := os.ReadDir("."); len(files) != 0 || err != nil {
		t.Errorf("files %v, error %v", files, err)
	}
}

func TestFilesThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	authority := ca.New(t, nil)
	_, err := authority.WriteFiles(dir)
	_, _, leafErr := authority.Issue("a.test").WriteFiles(dir)
	for name, err := range map[string]error{"ca.pem": err, "a.test.pem": leafErr} {
		if err == nil || !strings.HasPrefix(err.Error(), "ca: writing files: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCertificateOfSomebodyElse(t *testing.T) {
	if got := new(ca.Certificate).SPKIHash(); got != "" {
		t.Errorf("hash of nothing is %q", got)
	}
	if _, _, err := new(ca.Certificate).WriteFiles(t.TempDir()); err == nil || err.Error() != "ca: Certificate: it is empty" {
		t.Errorf("writing nothing: error %v", err)
	}
	own := ca.New(t, nil).Issue("a.test")
	foreign := &ca.Certificate{Certificate: tls.Certificate{Certificate: own.Certificate.Certificate}}
	if foreign.SPKIHash() != own.SPKIHash() {
		t.Error("the hash differs without the parsed leaf")
	}
	if _, err := foreign.KeyPEM(); err == nil || !strings.HasPrefix(err.Error(), "ca: Certificate: private key: ") {
		t.Errorf("no key: error %v", err)
	}
	_, foreign.PrivateKey, _ = ed25519.GenerateKey(nil)
	pem, err := foreign.KeyPEM()
	if err != nil || !strings.Contains(string(pem), "PRIVATE KEY") {
		t.Errorf("ed25519: %s, error %v", pem, err)
	}
}
