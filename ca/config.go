package ca

import (
	"crypto/x509"
	"fmt"
	"unicode/utf8"
)

const (
	defaultName = "wiretest CA"

	// Clients give up on longer chains: both crypto/x509 and OpenSSL stop at
	// about a hundred certificates.
	maxIntermediates = 50

	// RFC 5280, appendix A.1, ub-common-name.
	maxCommonName = 64
)

// Config says what kind of authority to make. Its zero value is a root that
// issues ordinary certificates.
type Config struct {
	// Name is the common name of the root; "" is "wiretest CA". With
	// intermediates theirs are "Name intermediate 1", signed by the root, and
	// so on; the last one issues, and its name is the Issuer of every leaf.
	// At most 64 characters, counted in the longest of those names.
	Name string

	// Intermediates is how many authorities stand between the root and a
	// leaf, from 0 to 50. A leaf comes with all of them, without the root.
	Intermediates int

	// Leaf, if not nil, edits the template of each leaf just before it is
	// signed: [Expired], [NotYetValid], [WrongHost], or a function of your
	// own. The issuer and the public key are not the template's to change.
	// It may be called from several goroutines at once, must not block, and
	// must not call the Authority.
	Leaf func(*x509.Certificate)
}

func (cfg *Config) name() string {
	if cfg.Name == "" {
		return defaultName
	}
	return cfg.Name
}

// nameOf is the name of the i-th authority below the root; the root is 0.
func (cfg *Config) nameOf(i int) string {
	if i == 0 {
		return cfg.name()
	}
	return fmt.Sprintf("%s intermediate %d", cfg.name(), i)
}

func (cfg *Config) validate() error {
	if n := cfg.Intermediates; n < 0 || n > maxIntermediates {
		return fmt.Errorf("ca: Config.Intermediates: %d: must be from 0 to %d", n, maxIntermediates)
	}
	if !utf8.ValidString(cfg.Name) {
		return fmt.Errorf("ca: Config.Name: %q: must be UTF-8", cfg.Name)
	}
	longest := cfg.nameOf(cfg.Intermediates)
	if n := utf8.RuneCountInString(longest); n > maxCommonName {
		return fmt.Errorf("ca: Config.Name: %q: makes a common name of %d characters, the limit is %d", cfg.Name, n, maxCommonName)
	}
	return nil
}
