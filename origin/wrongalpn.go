package origin

import (
	"crypto/tls"
	"errors"
	"fmt"

	"example.com/wiretest/alpn"
)

// WrongALPN is a server that agrees on one protocol and means another, as a
// mistaken proxy in front of it makes it look, over TCP. One of the two is to be set.
//
// Three things stay out of reach, for crypto/tls writes the server's messages: a
// client that offers no protocol is told of none; the server names exactly one;
// and its name is well-formed (RFC 7301, section 3.1).
type WrongALPN struct {
	// Select is what the server names as chosen, whether the client has offered
	// it or not, and whatever Config.ALPN says; RFC 7301, section 3.2, has the
	// server choose among the offered. "" is Config.ALPN's choice.
	Select string

	// Speak is what is spoken behind the handshake, h2 or http/1.1, whatever was
	// agreed on. "" is what was, and http/1.1 where that is neither.
	Speak string
}

func (w *WrongALPN) validate(plain bool) error {
	switch {
	case w == nil:
		return nil
	case plain:
		return errors.New("Config.WrongALPN and Config.Plain are both set: without TLS there is no ALPN")
	case *w == WrongALPN{}:
		return errors.New("Config.WrongALPN: neither Select nor Speak is set: nothing would go wrong")
	case len(w.Select) > 255:
		return fmt.Errorf("Config.WrongALPN: Select: %d bytes; at most 255 fit (RFC 7301, section 3.1)", len(w.Select))
	case w.Speak != "" && w.Speak != alpn.H2 && w.Speak != alpn.HTTP11:
		return fmt.Errorf("Config.WrongALPN: Speak: %q is neither %q nor %q", w.Speak, alpn.H2, alpn.HTTP11)
	}
	return nil
}

// server is cfg under w. crypto/tls chooses only among what it has read in the
// hello; but that list it shows to GetConfigForClient, before it chooses, and not
// a copy of it. What the client has said, and what both sides hash, is the hello's
// bytes, which stay as they are.
func (w *WrongALPN) server(cfg *tls.Config) *tls.Config {
	ask := cfg.GetConfigForClient
	cfg.NextProtos = []string{w.Select}
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (own *tls.Config, err error) {
		if ask != nil {
			if own, err = ask(hello); err != nil {
				return nil, err
			}
		}
		for i := range hello.SupportedProtos {
			hello.SupportedProtos[i] = w.Select
		}
		if own != nil {
			own.NextProtos = []string{w.Select}
		}
		return own, nil
	}
	return cfg
}
