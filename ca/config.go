package ca

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"
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

	// Fault breaks each leaf, one of [Faults], as "self-signed"; what differs
	// from Leaf is that it may break the key, the signature and the chain too.
	// "" breaks none. A fault that a leaf's identities do not allow is an error
	// where that leaf is asked for. Leaf sees the broken template.
	Fault Fault

	// Strict refuses to issue a server's leaf in which [Lint] finds something:
	// Issue fails its test, Leaf returns the error, and a handshake fails.
	Strict bool

	// CrossSignedBy are authorities whose roots also sign this one's, so that
	// who trusts one of those trusts this one: leaves come with what they
	// signed. They are asked once, when this one is made; RotateRoot leaves
	// them out.
	CrossSignedBy []*Authority

	// StatusURL is where [Authority.StatusHandler] is served, as
	// "http://ca.test" or "http://127.0.0.1:8080/pki" (with a prefix, see
	// http.StripPrefix). Leaves and intermediates then say where to ask whether
	// they are revoked. "" is nowhere: they say nothing.
	StatusURL string
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
	if cfg.Fault != "" {
		if _, err := cfg.Fault.spoiler(); err != nil {
			return fmt.Errorf("ca: Config.Fault: %w", err)
		}
	}
	if i := slices.Index(cfg.CrossSignedBy, nil); i >= 0 {
		return fmt.Errorf("ca: Config.CrossSignedBy[%d]: is nil", i)
	}
	return validStatusURL(cfg.StatusURL)
}

func validStatusURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("ca: Config.StatusURL: %q: must be a URL of scheme http or https with a host", s)
	case u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(s, "/"):
		return fmt.Errorf("ca: Config.StatusURL: %q: must end after the host or a path, without a slash", s)
	case !isASCII(s):
		return fmt.Errorf("ca: Config.StatusURL: %q: must be ASCII", s) // an IA5String (RFC 5280, section 4.2.1.6)
	}
	return nil
}
