package origin

import (
	"net/http"
	"slices"

	"example.com/wiretest/alpn"
)

// Client is an http.Client over Transport(nil), the same at each call. It
// cannot reach an origin that has a name in Config.Net: there its requests fail
// and say so. Use Transport with the host that the client runs on.
func (s *Server) Client() *http.Client {
	return s.access.Client(func() *http.Transport { return s.transport(nil, "Client") })
}

// Transport is a new http.Transport that connects from a host of Config.Net, or
// by a plain dialer if from is nil. It trusts CA, offers the protocols that
// Config.ALPN accepts, and takes no proxy from the environment; everything else
// is as in a zero http.Transport, and the caller may change all of it. Where the
// origin is Plain it speaks HTTP/1.1, and HTTP/2 if ALPN lists nothing else. Close
// closes its idle connections.
//
// A transport that cannot reach the origin fails when it dials.
func (s *Server) Transport(from Net) *http.Transport {
	return s.access.Give(s.transport(from, "Transport"))
}

// transport is new; method is for messages.
func (s *Server) transport(from Net, method string) *http.Transport {
	return &http.Transport{
		DialContext:     s.access.Dialer(from, method, "Transport"),
		TLSClientConfig: s.alpn.Client(s.ca.ClientTLS()),
		Protocols:       s.protocols(),
	}
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
