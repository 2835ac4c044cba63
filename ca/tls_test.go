package ca_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/wiretest/ca"
)

func TestServerShowsALeafForWhatIsAsked(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority := ca.New(t, nil)
		server := authority.ServerTLS()
		for _, c := range []struct{ sni, local, want string }{
			{"a.test", "", "[a.test] [] []"},
			{"B.test", "192.0.2.7:443", "[b.test] [] []"},
			{"", "192.0.2.7:443", "[] [192.0.2.7] []"},
			{"", "[2001:db8::1]:443", "[] [2001:db8::1] []"},
			{"", "[fe80::1%eth0]:443", "[] [fe80::1] []"},
			{"", "origin.test:443", "[origin.test] [] []"},
			{"", "127.0.0.1:443", "[localhost] [127.0.0.1 ::1] []"},
			{"", "[::1]:443", "[localhost] [127.0.0.1 ::1] []"},
			{"", "127.0.0.2:443", "[] [127.0.0.2] []"},
			{"", "", "[localhost] [127.0.0.1 ::1] []"}, // net.Pipe's "pipe"
			{"", "none", "[localhost] [127.0.0.1 ::1] []"},
		} {
			cl, s := net.Pipe()
			client := &tls.Config{InsecureSkipVerify: true, ServerName: c.sni}
			r := shakeOn(placed(s, c.local), cl, server, client)
			if r.clientErr != nil {
				t.Fatalf("%q at %q: client says %v, server says %v", c.sni, c.local, r.clientErr, r.serverErr)
			}
			if got := leafOf(t, r); got != c.want {
				t.Errorf("%q at %q: leaf for %s, want %s", c.sni, c.local, got, c.want)
			}
		}
	})
}

// placed is conn with a local address, as a network in memory has it.
func placed(conn net.Conn, addr string) net.Conn {
	switch addr {
	case "":
		return conn
	case "none":
		return &placedConn{Conn: conn}
	}
	return &placedConn{conn, memAddr(addr)}
}

type placedConn struct {
	net.Conn
	local net.Addr
}

func (c *placedConn) LocalAddr() net.Addr { return c.local }

type memAddr string

func (memAddr) Network() string  { return "tcp" }
func (a memAddr) String() string { return string(a) }

func TestQUICHasNoConn(t *testing.T) {
	cert, err := ca.New(t, nil).ServerTLS().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil || cert.Leaf.DNSNames[0] != "localhost" {
		t.Errorf("leaf %v, error %v", cert, err)
	}
}

func TestServerNamesTheBadNameThatIsAsked(t *testing.T) {
	authority := ca.New(t, nil)
	r := shake(authority.ServerTLS(), named(authority.ClientTLS(), "a..test"))
	const want = `ca: identity "a..test": has an empty label`
	if r.serverErr == nil || r.serverErr.Error() != want {
		t.Errorf("server says %v, want %s", r.serverErr, want)
	}
}

func TestLoopback(t *testing.T) {
	authority := ca.New(t, &ca.Config{Intermediates: 1})
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil && strings.HasPrefix(addr, "[") {
			t.Logf("no IPv6 here: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(whoami)
		srv.Listener.Close()
		srv.Listener = l
		srv.TLS = authority.ServerTLS("localhost", "127.0.0.1", "::1")
		srv.StartTLS()
		defer srv.Close()
		if got := get(t, srv.URL, authority.ClientTLS()); got != "nobody" {
			t.Errorf("%s: got %q", addr, got)
		}
	}
}

var whoami = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if len(r.TLS.PeerCertificates) == 0 {
		io.WriteString(w, "nobody")
		return
	}
	io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
})

func get(t *testing.T, url string, cfg *tls.Config) string {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: cfg}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestMutualTLS(t *testing.T) {
	inBothWorlds(t, func(t *testing.T) {
		authority, other := ca.New(t, nil), ca.New(t, nil)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			server := authority.ServerTLS("a.test")
			server.ClientAuth = tls.RequireAndVerifyClientCert
			server.MaxVersion = version

			r := requireShake(t, "alice", server, named(authority.ClientTLS("alice@example.com"), "a.test"))
			if got := r.server.PeerCertificates[0].EmailAddresses; len(got) != 1 || got[0] != "alice@example.com" {
				t.Errorf("client is known by %v", got)
			}
			r = shake(server, named(authority.ClientTLS(), "a.test"))
			if r.serverErr == nil {
				t.Error("let in without a certificate")
			}
			stranger := named(other.ClientTLS("alice@example.com"), "a.test")
			stranger.RootCAs = authority.Pool()
			r = shake(server, stranger)
			var unknown x509.UnknownAuthorityError
			if !errors.As(r.serverErr, &unknown) {
				t.Errorf("server says %v of another authority's client, want that it does not know who signed", r.serverErr)
			}
		}
	})
}

func TestUsagesAreNotInterchangeable(t *testing.T) {
	authority := ca.New(t, nil)
	asServer := authority.ClientTLS("a.test") // a client's certificate on a server
	asServer.GetClientCertificate = nil
	e := requireRefused[x509.CertificateInvalidError](t, "client's certificate on a server",
		asServer, named(authority.ClientTLS(), "a.test"))
	if e.Reason != x509.IncompatibleUsage {
		t.Errorf("refused because %v, want its usage", e)
	}
	server := authority.ServerTLS("a.test")
	server.ClientAuth = tls.RequireAndVerifyClientCert
	asClient := named(authority.ClientTLS(), "a.test")
	asClient.Certificates = []tls.Certificate{authority.Issue("b.test").Certificate}
	r := shake(server, asClient)
	if !errors.As(r.serverErr, &e) || e.Reason != x509.IncompatibleUsage {
		t.Errorf("server says %v of a server's certificate on a client, want its usage", r.serverErr)
	}
}

func TestWrongName(t *testing.T) {
	authority := ca.New(t, nil)
	client := authority.ClientTLS()
	for name, server := range map[string]*tls.Config{
		"b.test":          authority.ServerTLS("a.test"),
		"a.b.example.com": authority.ServerTLS("*.example.com"),
		"example.com":     authority.ServerTLS("*.example.com"),
		"127.0.0.2":       authority.ServerTLS("127.0.0.1"),
		"a.test":          authority.ServerTLS("x@a.test"),
	} {
		requireRefused[x509.HostnameError](t, name, server, named(client, name))
	}
}
