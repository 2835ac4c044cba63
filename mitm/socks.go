package mitm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
)

// Words of SOCKS5 (RFC 1928, sections 3 to 6, and RFC 1929).
const (
	noAuthentication = 0x00
	userAndPassword  = 0x02
	noneAcceptable   = 0xff

	passwordVersion = 1

	commandConnect      = 1
	commandBind         = 2
	commandUDPAssociate = 3

	addressIPv4 = 1
	addressName = 3
	addressIPv6 = 4

	replySucceeded           = 0
	replyFailure             = 1
	replyNotAllowed          = 2
	replyNetworkUnreachable  = 3
	replyHostUnreachable     = 4
	replyRefused             = 5
	replyCommandNotSupported = 7
	replyAddressNotSupported = 8
)

// socks serves a client of SOCKS5.
func (c *client) socks() {
	if err := c.socksGreeting(); err != nil {
		c.dismiss(socksReason(err))
		return
	}
	t, reply, err := c.socksRequest()
	if err != nil {
		c.refuseSocks(reply, err)
		return
	}
	c.reach(t, answer{
		func() bool { return c.replySocks(replySucceeded) },
		func(status int, err error) { c.refuseSocks(replyFor(status, err), err) },
	})
}

// part is one of those that a client's side of the conversation has.
type part struct {
	client *client
	name   string
	taken  int // bytes
}

func (p *part) take(n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := io.ReadFull(p.client.reader, b)
	p.taken += got
	switch {
	case err == nil:
		return b, nil
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, fmt.Errorf("in %s: %w", p.name, bare(err))
	case p.taken == 0:
		return nil, fmt.Errorf("client closed it before %s", p.name)
	}
	return nil, closedWithin(p.name, p.taken)
}

// takeCounted reads what is behind its own length in one byte.
func (p *part) takeCounted() ([]byte, error) {
	n, err := p.take(1)
	if err != nil {
		return nil, err
	}
	return p.take(int(n[0]))
}

// socksGreeting agrees on a method, and takes the credentials.
func (c *client) socksGreeting() error {
	greeting := &part{client: c, name: "its greeting"}
	if _, err := greeting.take(1); err != nil { // the version, which was looked at
		return err
	}
	methods, err := greeting.takeCounted()
	if err != nil {
		return err
	}
	want := byte(noAuthentication)
	if c.proxy.auth != nil {
		want = userAndPassword
	}
	for _, method := range methods {
		if method == want {
			return c.socksMethod(want)
		}
	}
	err = fmt.Errorf("the client offers the methods %v, not %d, none; Config.Auth is nil", methods, want)
	if want == userAndPassword {
		err = fmt.Errorf("proxy authentication: the client offers the methods %v, not %d, user and password (RFC 1929)", methods, want)
	}
	return c.deny(err, socksVersion, noneAcceptable)
}

// deny says no. The reason is recorded first, so that whoever has the answer can rely
// on the record.
func (c *client) deny(err error, answer ...byte) error {
	c.rec.Close(socksReason(err))
	c.conn.Write(answer)
	return err
}

func socksReason(err error) string { return "SOCKS5: " + oneLine(err) }

func (c *client) socksMethod(method byte) error {
	if _, err := c.conn.Write([]byte{socksVersion, method}); err != nil {
		return bare(err)
	}
	if method == noAuthentication {
		return nil
	}
	return c.socksCredentials()
}

// socksCredentials is RFC 1929, section 2.
func (c *client) socksCredentials() error {
	credentials := &part{client: c, name: "its credentials"}
	version, err := credentials.take(1)
	if err != nil {
		return err
	}
	if version[0] != passwordVersion {
		return fmt.Errorf("credentials begin with version %d, not %d (RFC 1929, section 2)", version[0], passwordVersion)
	}
	user, err := credentials.takeCounted()
	if err != nil {
		return err
	}
	password, err := credentials.takeCounted()
	if err != nil {
		return err
	}
	if err := c.proxy.wrongCredentials(string(user), string(password)); err != nil {
		return c.deny(err, passwordVersion, 1)
	}
	_, err = c.conn.Write([]byte{passwordVersion, 0})
	return err
}

// socksRequest is RFC 1928, section 4. With an error comes the reply for it.
func (c *client) socksRequest() (target, byte, error) {
	request := &part{client: c, name: "its request"}
	head, err := request.take(4)
	if err != nil {
		return target{}, replyFailure, err
	}
	command, kind := head[1], head[3]
	if head[0] != socksVersion || head[2] != 0 {
		return target{}, replyFailure, fmt.Errorf("request begins with % x: want version 5, and 0 in the third place", head)
	}
	host, reply, err := request.host(kind)
	if err != nil {
		return target{}, reply, err
	}
	port, err := request.take(2)
	if err != nil {
		return target{}, replyFailure, err
	}
	if command != commandConnect {
		return target{}, replyCommandNotSupported, fmt.Errorf("%s: only CONNECT", socksCommand(command))
	}
	t, err := parseTarget(net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1]))))
	return t, replyFailure, err
}

func socksCommand(command byte) string {
	switch command {
	case commandBind:
		return "BIND"
	case commandUDPAssociate:
		return "UDP ASSOCIATE"
	}
	return fmt.Sprintf("command %d", command)
}

// host is the request's address. With an error comes the reply for it.
func (p *part) host(kind byte) (host string, reply byte, err error) {
	var b []byte
	switch kind {
	case addressIPv4:
		b, err = p.take(4)
	case addressIPv6:
		b, err = p.take(16)
	case addressName:
		b, err = p.takeCounted()
		return string(b), replyFailure, err
	default:
		return "", replyAddressNotSupported, fmt.Errorf("address type %d: want 1, 3 or 4 (RFC 1928, section 5)", kind)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr.Unmap().String(), replyFailure, err
}

// replySocks reports whether the client could be told.
func (c *client) replySocks(reply byte) bool {
	if _, err := c.conn.Write([]byte{socksVersion, reply, 0, addressIPv4, 0, 0, 0, 0, 0, 0}); err != nil {
		c.end("SOCKS5: reply: " + oneLine(bare(err)))
		return false
	}
	return true
}

// refuseSocks answers and ends the connection.
func (c *client) refuseSocks(reply byte, err error) {
	reason := socksReason(err)
	c.rec.Close(reason) // first, so that whoever has the reply can rely on the record
	c.replySocks(reply)
	c.dismiss(reason)
}

// replyFor is the reply for what CONNECT is refused with status for: a hook forbids
// it, or the origin could not be reached.
func replyFor(status int, err error) byte {
	var dns *net.DNSError
	switch {
	case status == http.StatusForbidden:
		return replyNotAllowed
	case errors.Is(err, syscall.ECONNREFUSED):
		return replyRefused
	case errors.Is(err, syscall.ENETUNREACH):
		return replyNetworkUnreachable
	case errors.As(err, &dns), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ETIMEDOUT):
		return replyHostUnreachable
	}
	return replyFailure
}
