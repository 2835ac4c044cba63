package linkdelay

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// RelayOption changes how a Relay listens, or what it does besides its link.
type RelayOption func(*relayConfig)

type relayConfig struct {
	listen    string
	timeout   time.Duration
	handshake bool
}

// ListenOn makes a Relay listen on "host:port" instead of a free port of
// 127.0.0.1. The host must be an IP address; none means 127.0.0.1.
func ListenOn(address string) RelayOption {
	return func(c *relayConfig) { c.listen = address }
}

// BindingTimeout is how long the UDP binding of a client lives after the last
// datagram that the client sent: what comes back does not refresh it (RFC 4787,
// section 4.3, lets a NAT refresh by either; this one is the kind that hurts).
// Then the target's datagrams are lost, and the client's next one comes from
// another port. The default is 5 minutes, as that section recommends.
func BindingTimeout(d time.Duration) RelayOption {
	return func(c *relayConfig) { c.timeout = d }
}

// Handshakes makes TCP connections cost their round trip. The kernel completes
// connect at once all the same; but what the client sends first waits until
// connecting would have taken its time, and what the target sends until its
// side would have accepted. So the figures of a page are those of a link of
// that length, though not the part of them that is spent on connecting.
func Handshakes() RelayOption {
	return func(c *relayConfig) { c.handshake = true }
}

const defaultBindingTimeout = 5 * time.Minute

func newRelayConfig(options []RelayOption) (relayConfig, error) {
	c := relayConfig{listen: "127.0.0.1:0", timeout: defaultBindingTimeout}
	for _, option := range options {
		option(&c)
	}
	if c.timeout <= 0 {
		return c, fmt.Errorf("BindingTimeout: %v is not positive", c.timeout)
	}
	var err error
	if c.listen, err = listenAddress(c.listen); err != nil {
		return c, fmt.Errorf("ListenOn: %w", err)
	}
	return c, nil
}

// listenAddress checks and completes what ListenOn was told.
func listenAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return "", fmt.Errorf("%q: %q is not an IP address", address, host)
	}
	return net.JoinHostPort(host, port), checkPort(address, port, 0)
}

// checkPort refuses what is not the number of a port, names of services too.
func checkPort(address, port string, least int) error {
	if n, err := strconv.Atoi(port); err != nil || n < least || n > 65535 {
		return fmt.Errorf("%q: port %q is not a number from %d to 65535", address, port, least)
	}
	return nil
}
