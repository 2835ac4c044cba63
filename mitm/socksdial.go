package mitm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
)

// askSocks is the client's side of RFC 1928.
func askSocks(conn net.Conn, auth *url.Userinfo, address string) (net.Conn, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	if len(t.host) > maxCredential {
		return nil, fmt.Errorf("a name of %d bytes: it has room for %d", len(t.host), maxCredential)
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
		return nil, fmt.Errorf("method %d is not accepted", method)
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
	return hear(conn, n)
}

func hear(conn net.Conn, n int) ([]byte, error) {
	answer := make([]byte, n)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
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
		err = errors.New("user and password are not accepted")
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
	if answer[0] != socksVersion {
		return fmt.Errorf("answered with % x, not SOCKS5", answer)
	}
	if reply := answer[1]; reply != replySucceeded {
		return fmt.Errorf("reply %d: %s", reply, replyName(reply))
	}
	return skipBound(conn, answer[3])
}

// skipBound reads the address that the proxy has bound, by its kind.
func skipBound(conn net.Conn, kind byte) error {
	size := 0
	switch kind {
	case addressIPv4:
		size = 4
	case addressIPv6:
		size = 16
	case addressName:
		length, err := hear(conn, 1)
		if err != nil {
			return err
		}
		size = int(length[0])
	default:
		return fmt.Errorf("the reply has an address of type %d, which is none", kind)
	}
	_, err := hear(conn, size+2)
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
