package origin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"example.com/wiretest/alpn"
)

// Client is an http.Client over Transport(nil), the same at each call. It
// cannot reach an origin that has a name in Config.Net: there its requests fail
// and say so. Use Transport with the host that the client runs on.
func (s *Server) Client() *http.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		s.client = &http.Client{Transport: s.transport(nil, "Client")}
	}
	return s.client
}

// Transport is a new http.Transport that connects from a host of Config.Net, or
// by a plain dialer if from is nil. It trusts CA, offers the protocols that
// Config.ALPN accepts, and takes no proxy from the environment; everything else
// is as in a zero http.Transport, and the caller may change all of it. Close
// closes its idle connections.
//
// A transport that cannot reach the origin fails when it dials.
func (s *Server) Transport(from Net) *http.Transport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transport(from, "Transport")
}

// transport needs mu; caller is for messages.
func (s *Server) transport(from Net, caller string) *http.Transport {
	tr := &http.Transport{
		DialContext:     s.dialer(from, caller),
		TLSClientConfig: s.alpn.Client(s.ca.ClientTLS()),
		Protocols:       s.protocols(),
	}
	if !s.closing {
		s.transports = append(s.transports, tr)
	}
	return tr
}

// protocols has to be set: with a dialer and a TLS configuration of its own an
// http.Transport leaves HTTP/2 out unless told. Where it is told of HTTP/1.1
// alone it leaves NextProtos as they are, which keeps None from offering any.
func (s *Server) protocols() *http.Protocols {
	listed, h2 := s.alpn.Protocols(), s.accepts(alpn.H2)
	p := new(http.Protocols)
	if s.plain { // one of the two: without TLS a client has to know
		p.SetUnencryptedHTTP2(h2 && len(listed) == 1)
		p.SetHTTP1(!h2 || len(listed) > 1)
		return p
	}
	p.SetHTTP2(h2)
	p.SetHTTP1(!h2 || len(listed) > 1)
	return p
}

func (s *Server) accepts(proto string) bool { return slices.Contains(s.alpn.Protocols(), proto) }

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func (s *Server) dialer(from Net, caller string) dialFunc {
	switch {
	case isTypedNil(from):
		return failing(fmt.Errorf("origin: %s: typed nil %T", caller, from))
	case from != nil:
		return from.DialContext
	case s.inNet && !hasAddress(s.Addr):
		return failing(fmt.Errorf("origin: %s: %s is a name in Config.Net, which a plain dialer cannot reach: use Transport(host)", caller, s.Addr))
	}
	return new(net.Dialer).DialContext
}

func failing(err error) dialFunc {
	return func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

func hasAddress(hostport string) bool {
	_, err := netip.ParseAddrPort(hostport)
	return err == nil
}

// closeIdle closes the idle connections of all transports given out.
func (s *Server) closeIdle() {
	s.mu.Lock()
	all := s.transports
	s.transports = nil
	s.mu.Unlock()
	for _, tr := range all {
		tr.CloseIdleConnections()
	}
}
