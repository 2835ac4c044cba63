package mitm

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"example.com/wiretest/alpn"
)

// validateModes looks at the fields that depend on Mode.
func (c *Config) validateModes() error {
	if err := c.Mode.validate(); err != nil {
		return err
	}
	mode := c.Mode.or()
	if _, err := parseOrigin(c.Origin); err != nil && mode.has(Reverse) {
		return fmt.Errorf("Config.Origin: %w", err)
	}
	if c.Origin != "" && !mode.has(Reverse) {
		return fmt.Errorf("Config.Origin: %q: only Reverse has one, and Mode is %v", c.Origin, mode)
	}
	if err := c.validateOuter(mode); err != nil {
		return err
	}
	if err := c.validateHTTP3(mode); err != nil {
		return err
	}
	if err := c.validateUpstreamHTTP3(); err != nil {
		return err
	}
	if err := validAuth(c.Auth, mode); err != nil {
		return fmt.Errorf("Config.Auth: %w", err)
	}
	if _, err := parseVia(c.Via); err != nil {
		return fmt.Errorf("Config.Via: %w", err)
	}
	return nil
}

// or is what a zero Mode stands for.
func (m Mode) or() Mode {
	if m == 0 {
		return Explicit
	}
	return m
}

func (c *Config) validateOuter(mode Mode) error {
	rest := c.Outer
	rest.ALPN, rest.Mirror, rest.TLS, rest.MaxConcurrentStreams, rest.StreamWindow, rest.ConnWindow = alpn.Policy{}, false, nil, 0, 0, 0
	switch {
	case !c.Outer.isZero() && !mode.has(ExplicitTLS):
		return fmt.Errorf("Config.Outer: only ExplicitTLS has it, and Mode is %v", mode)
	case c.Outer.Mirror:
		return errors.New("outer leg: Mirror is for the downstream leg")
	case !rest.isZero():
		return errors.New("outer leg: only ALPN, TLS, MaxConcurrentStreams and the windows are for it; what passes by it is on the downstream leg")
	case c.Outer.TLS != nil && c.Outer.TLS.GetConfigForClient != nil:
		return errors.New("outer leg: TLS.GetConfigForClient: ALPN decides; set the other fields")
	}
	if err := c.Outer.validate(true); err != nil {
		return fmt.Errorf("outer leg: %w", err)
	}
	return nil
}

// parseOrigin reads Config.Origin.
func parseOrigin(origin string) (route, error) {
	if origin == "" {
		return route{}, errors.New("Reverse needs one: a URL such as https://origin.test:8443")
	}
	u, err := parseServer(origin, "http", "https")
	switch {
	case err != nil:
		return route{}, err
	case u.User != nil:
		return route{}, fmt.Errorf("%q: credentials: the proxy would have to add them to requests", u.Redacted())
	}
	return route{target: target{u.Hostname(), u.Port()}, scheme: u.Scheme}, nil
}

// parseServer reads a URL of nothing but a server, and fills in the port.
func parseServer(s string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", errors.Unwrap(err)) // without the text, in which credentials may be
	}
	want := strings.Join(schemes, ", ")
	known := false
	for _, scheme := range schemes {
		known = known || u.Scheme == scheme
	}
	switch {
	case !known:
		return nil, fmt.Errorf("%q: scheme must be one of %s", u.Redacted(), want)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q: must end behind host and port", u.Redacted())
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
	}
	t, err := parseTarget(net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	u.Host = t.String()
	return u, nil
}
