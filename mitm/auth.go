package mitm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxCredential is what RFC 1929 has room for.
const maxCredential = 255

func validAuth(auth *url.Userinfo, mode Mode) error {
	if auth == nil {
		return nil
	}
	password, has := auth.Password()
	switch {
	case !mode.has(Explicit | ExplicitTLS | SOCKS5):
		return fmt.Errorf("Mode is %v, in which clients know of no proxy", mode)
	case auth.Username() == "", !has || password == "":
		return errors.New("want a user and a password, neither of them empty")
	case len(auth.Username()) > maxCredential, len(password) > maxCredential:
		return fmt.Errorf("user and password may have %d bytes at most (RFC 1929)", maxCredential)
	case strings.Contains(auth.Username(), ":"):
		return errors.New(`user: ":" ends it in Basic (RFC 7617, section 2)`)
	}
	return nil
}

// basic is the value of Proxy-Authorization (RFC 7617, section 2).
func basic(auth *url.Userinfo) string {
	password, _ := auth.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(auth.Username()+":"+password))
}

// challenge is the header of a 407 (RFC 9110, section 11.7.1).
const challenge = `Basic realm="wiretest mitm", charset="UTF-8"`

// unauthorized is why a request to the proxy is to be answered with 407; nil is
// that it is not.
func (p *Proxy) unauthorized(h http.Header) error {
	if p.auth == nil {
		return nil
	}
	given := h["Proxy-Authorization"]
	if len(given) == 0 {
		return errors.New("proxy authentication: no Proxy-Authorization")
	}
	scheme, token, _ := strings.Cut(strings.Join(given, ", "), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return fmt.Errorf("proxy authentication: scheme %q: only Basic", scheme)
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(token))
	user, password, ok := strings.Cut(string(decoded), ":")
	if err != nil || !ok {
		return errors.New("proxy authentication: what follows Basic is not user:password in base64")
	}
	return p.wrongCredentials(user, password)
}

// wrongCredentials names the user, and never a password.
func (p *Proxy) wrongCredentials(user, password string) error {
	want, _ := p.auth.Password()
	switch {
	case user != p.auth.Username():
		return fmt.Errorf("proxy authentication: unknown user %q", user)
	case password != want:
		return fmt.Errorf("proxy authentication: wrong password for user %q", user)
	}
	return nil
}
