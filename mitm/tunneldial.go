package mitm

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/netlog/wire"
)

// address is the proxy's URL for clients of one mode.
func (p *Proxy) address(mode Mode) *url.URL {
	u := &url.URL{Host: p.Addr}
	for _, one := range modeNames {
		if one.mode == mode {
			u.Scheme = one.scheme
		}
	}
	if mode == Reverse {
		u.Scheme = p.origin.scheme
	}
	return u
}

// URLOf is what URL would be if mode, one of Config.Mode's, were the only one;
// "" if it is none of them.
func (p *Proxy) URLOf(mode Mode) string {
	if mode == 0 || mode != mode.first() || !p.mode.has(mode) {
		return ""
	}
	return p.address(mode).String()
}

// transportDial is what a transport dials by. Without a proxy that it knows of
// it is led to this one whatever it asks for.
func (p *Proxy) transportDial(from Net, method string) wire.DialFunc {
	dial := p.access.Dialer(from, method, "Transport")
	switch mode := p.mode.first(); mode {
	case Explicit, SOCKS5:
		return dial
	default: // net/http's own way to a proxy by TLS would offer it h2, and not speak it
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			return p.tunnel(ctx, dial, network, address)
		}
	}
}

// tunnel leads to address through the proxy, in the way of its first mode.
func (p *Proxy) tunnel(ctx context.Context, dial wire.DialFunc, network, address string) (net.Conn, error) {
	mode := p.mode.first()
	what := fmt.Sprintf("mitm: %s %s", map[Mode]string{SOCKS5: "SOCKS5", Transparent: "dial", Reverse: "dial"}[mode], address)
	if mode.has(Explicit | ExplicitTLS) {
		what = "mitm: CONNECT " + address
	}
	if !strings.HasPrefix(network, "tcp") {
		return nil, fmt.Errorf("%s: network %q: want tcp", what, network)
	}
	conn, err := dial(ctx, network, p.Addr)
	if err != nil {
		return nil, err
	}
	tunnel, err := p.asProxy(mode).ask(ctx, conn, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return tunnel, nil
}

// asProxy is how a client asks this proxy for a tunnel.
func (p *Proxy) asProxy(mode Mode) *asked {
	a := &asked{scheme: p.address(mode).Scheme, auth: p.auth}
	switch mode {
	case ExplicitTLS:
		a.tls = p.outerLeg.ALPN.Client(&tls.Config{RootCAs: p.ca.Pool(), ServerName: hostOf(p.Addr)})
	case Transparent, Reverse:
		a.scheme = ""
	}
	return a
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// asked is a proxy that a client asks for a tunnel.
type asked struct {
	scheme string // "http", "https" or "socks5"; "" asks nothing
	auth   *url.Userinfo
	tls    *tls.Config // of https
}

// ask asks for a tunnel to address on conn, which it closes if it fails.
func (a *asked) ask(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := a.askOn(ctx, conn, address)
	if !stop() && err == nil {
		err = context.Cause(ctx) // and perhaps a deadline is set that the caller has not asked for
		tunnel.Close()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return tunnel, nil
}

func (a *asked) askOn(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	switch a.scheme {
	case "":
		return conn, nil
	case "socks5":
		return askSocks(conn, a.auth, address)
	case "https":
		secured := tls.Client(conn, a.tls)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS with the proxy: %w", err)
		}
		if secured.ConnectionState().NegotiatedProtocol == alpn.H2 {
			return askTunnelH2(secured, a.auth, address)
		}
		conn = secured
	}
	return askTunnel(conn, a.auth, address)
}

// askTunnel sends CONNECT and reads its answer.
func askTunnel(conn net.Conn, auth *url.Userinfo, address string) (net.Conn, error) {
	head := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", address, address)
	if auth != nil {
		head += "Proxy-Authorization: " + basic(auth) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return ahead(conn, reader), nil
	}
	return nil, refusal(resp)
}

func refusal(resp *http.Response) error {
	reason, _ := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	first, _, _ := strings.Cut(strings.TrimSpace(string(reason)), "\n")
	if first == "" {
		return errors.New(resp.Status)
	}
	return errors.New(resp.Status + ": " + strings.TrimSpace(first))
}

// askSocks is the client's side of RFC 1928.
func askSocks(conn net.Conn, auth *url.Userinfo, address string) (net.Conn, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	if len(t.host) > maxCredential {
		return nil, fmt.Errorf("SOCKS5: a name of %d bytes: it has room for %d", len(t.host), maxCredential)
	}
	method := byte(noAuthentication)
	if auth != nil {
		method = userAndPassword
	}
	chosen, err := say(conn, 2, socksVersion, 1, method)
	switch {
	case err != nil:
		return nil, err
	case chosen[0] != socksVersion:
		return nil, fmt.Errorf("answered with %q, not SOCKS5", chosen)
	case chosen[1] != method:
		return nil, fmt.Errorf("SOCKS5 method %d is not accepted", method)
	}
	if auth != nil {
		if err := authenticate(conn, auth); err != nil {
			return nil, err
		}
	}
	return conn, requestSocks(conn, t)
}

// say sends and reads an answer of n bytes.
func say(conn net.Conn, n int, words ...byte) ([]byte, error) {
	if _, err := conn.Write(words); err != nil {
		return nil, err
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, fmt.Errorf("answer to SOCKS5: %w", err)
	}
	return answer, nil
}

func authenticate(conn net.Conn, auth *url.Userinfo) error {
	user := auth.Username()
	password, _ := auth.Password()
	words := append([]byte{passwordVersion, byte(len(user))}, user...)
	words = append(append(words, byte(len(password))), password...)
	status, err := say(conn, 2, words...)
	if err == nil && status[1] != 0 {
		err = errors.New("SOCKS5: user and password are not accepted")
	}
	return err
}

// requestSocks asks for CONNECT, and takes no byte behind the answer.
func requestSocks(conn net.Conn, t target) error {
	words := append([]byte{socksVersion, commandConnect, 0}, addressWords(t.host)...)
	answer, err := say(conn, 4, append(words, portWords(t.port)...)...)
	if err != nil {
		return err
	}
	if reply := answer[1]; reply != replySucceeded {
		return fmt.Errorf("SOCKS5: reply %d: %s", reply, replyName(reply))
	}
	size := map[byte]int{addressIPv4: 4, addressIPv6: 16}[answer[3]]
	if answer[3] == addressName {
		length, err := say(conn, 1)
		if err != nil {
			return err
		}
		size = int(length[0])
	}
	_, err = say(conn, size+2)
	return err
}

func addressWords(host string) []byte {
	addr, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return append([]byte{addressName, byte(len(host))}, host...)
	case addr.Is4():
		return append([]byte{addressIPv4}, addr.AsSlice()...)
	}
	return append([]byte{addressIPv6}, addr.AsSlice()...)
}

func portWords(port string) []byte {
	var n uint16
	fmt.Sscan(port, &n)
	return []byte{byte(n >> 8), byte(n)}
}

// replyName is in the words of RFC 1928, section 6.
func replyName(reply byte) string {
	names := [...]string{
		"succeeded", "general SOCKS server failure", "connection not allowed by ruleset", "network unreachable",
		"host unreachable", "connection refused", "TTL expired", "command not supported", "address type not supported",
	}
	if int(reply) < len(names) {
		return names[reply]
	}
	return "unassigned"
}
