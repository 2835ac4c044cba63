package ca

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// WriteFiles writes the root's certificate into dir as ca.pem, for a process
// that reads what to trust from a file, and returns the file's name. The
// authority's keys are never written.
func (a *Authority) WriteFiles(dir string) (certFile string, err error) {
	certFile = filepath.Join(dir, "ca.pem")
	return certFile, writeFile(certFile, a.PEM(), 0o644)
}

// WriteFiles writes the chain, leaf first, and the private key into dir as
// www.example.com.pem and www.example.com-key.pem, and returns the files'
// names. The name is the certificate's common name, or "leaf" if it has none, as
// where a host's name is longer than 64 bytes; what a file name cannot have in it
// is "_" (also the "*" of a wildcard). Files that are there already
// are replaced, each in one step, as when a server's certificate is renewed; only
// their owner can read keys. Without a private key, as [Authority.SignRequest] has
// none, keyFile is "".
func (c *Certificate) WriteFiles(dir string) (certFile, keyFile string, err error) {
	leaf, err := c.leaf()
	if err != nil {
		return "", "", err
	}
	base := filepath.Join(dir, fileName(leaf))
	certFile, keyFile = base+".pem", base+"-key.pem"
	if c.PrivateKey == nil {
		return certFile, "", writeFile(certFile, c.CertPEM(), 0o644)
	}
	key, err := c.KeyPEM()
	if err != nil {
		return "", "", err
	}
	if err := writeFile(certFile, c.CertPEM(), 0o644); err != nil {
		return "", "", err
	}
	return certFile, keyFile, writeFile(keyFile, key, 0o600)
}

func fileName(leaf *x509.Certificate) string {
	if leaf.Subject.CommonName == "" {
		return "leaf"
	}
	return strings.Map(func(r rune) rune {
		if isLetterOrDigit(r) || strings.ContainsRune(".-@", r) {
			return r
		}
		return '_'
	}, leaf.Subject.CommonName)
}

func writeFile(name string, content []byte, mode os.FileMode) error {
	if err := replaceFile(name, content, mode); err != nil {
		return fmt.Errorf("ca: writing files: %s: %w", name, err)
	}
	return nil
}

// replaceFile puts a new file in the place of an old one in one step: whose mode
// does not remain, and who is reading it reads on in it.
func replaceFile(name string, content []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // where it did not become name
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
