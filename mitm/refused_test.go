package mitm_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// refusals are requests for a tunnel, each with the beginning of its answer.
func refusals() map[string]refusal {
	forbid := mitm.Hooks{Tunnel: func(*mitm.Tunnel) error { return errors.New("no") }}
	const socksHello = "\x05\x01\x00"
	return map[string]refusal{
		"400":            {says: "CONNECT origin.test HTTP/1.1\r\n\r\n", hears: "HTTP/1.1 400 "},
		"400, long":      {says: "CONNECT origin.test:443 HTTP/1.1\r\nX: " + strings.Repeat("x", 66_000) + "\r\n", hears: "HTTP/1.1 400 "},
		"403":            {cfg: mitm.Config{Hooks: forbid}, says: "CONNECT origin.test:443 HTTP/1.1\r\n\r\n", hears: "HTTP/1.1 403 "},
		"403 in TLS":     {cfg: mitm.Config{Mode: mitm.ExplicitTLS, Hooks: forbid}, says: "CONNECT origin.test:443 HTTP/1.1\r\n\r\n", hears: "HTTP/1.1 403 "},
		"407":            {cfg: mitm.Config{Auth: secret}, says: "CONNECT origin.test:443 HTTP/1.1\r\n\r\n", hears: "HTTP/1.1 407 "},
		"502":            {cfg: mitm.Config{Passthrough: []string{"nowhere.test"}}, says: "CONNECT nowhere.test:1 HTTP/1.1\r\n\r\n", hears: "HTTP/1.1 502 "},
		"method":         {cfg: mitm.Config{Mode: mitm.SOCKS5}, says: "\x05\x01\x01", hears: "\x05\xff"},
		"credentials":    {cfg: mitm.Config{Mode: mitm.SOCKS5, Auth: secret}, says: "\x05\x01\x02" + "\x01\x04user\x03bad", hears: "\x05\x02\x01\x01"},
		"BIND":           {cfg: mitm.Config{Mode: mitm.SOCKS5}, says: socksHello + "\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", hears: "\x05\x00\x05\x07"},
		"by a hook":      {cfg: mitm.Config{Mode: mitm.SOCKS5, Hooks: forbid}, says: socksHello + connectToName, hears: "\x05\x00\x05\x02"},
		"cannot reach":   {cfg: mitm.Config{Mode: mitm.SOCKS5, Passthrough: []string{"nowhere.test"}}, says: socksHello + "\x05\x01\x00\x03\x0cnowhere.test\x00\x50", hears: "\x05\x00\x05\x04"},
		"no host's name": {cfg: mitm.Config{Mode: mitm.SOCKS5}, says: socksHello + "\x05\x01\x00\x03\x03a/b\x00\x50", hears: "\x05\x00\x05\x01"},
	}
}

type refusal struct {
	cfg         mitm.Config
	says, hears string
}

// begun is a client's connection on which that was said, and behind.
func (r refusal) begun(t *testing.T, network *linkdelay.Network, behind string) (net.Conn, *mitm.Proxy) {
	t.Helper()
	r.cfg.Net = network.Host("proxy.test")
	proxy := mitm.New(t, &r.cfg)
	conn := dialProxy(t, network, proxy)
	if r.cfg.Mode == mitm.ExplicitTLS {
		host, _, _ := net.SplitHostPort(proxy.Addr)
		conn = tls.Client(conn, alpn.Only(alpn.HTTP11).Client(&tls.Config{RootCAs: proxy.CA().Pool(), ServerName: host}))
	}
	_, err := io.WriteString(conn, r.says+behind)
	require.NoError(t, err)
	return conn, proxy
}

// A client may go on at once, as if it had its tunnel. That it has none it hears
// all the same, whole and behind no reset.
func TestRefusalsReachClientsThatGoOn(t *testing.T) {
	for name, r := range refusals() {
		for size, behind := range map[string]string{"a hello": "\x16\x03\x01" + strings.Repeat("h", 300), "1 MB": strings.Repeat("\x16", 1<<20)} {
			t.Run(name+" before "+size, func(t *testing.T) {
				linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
					conn, _ := r.begun(t, network, behind)
					conn.SetReadDeadline(time.Now().Add(patience))
					answer, err := io.ReadAll(conn)
					require.NoError(t, err)
					assert.Equal(t, r.hears, string(answer[:min(len(answer), len(r.hears))]))
				})
			})
		}
	}
}

// A client that does not end is waited for, but not for ever, and not by Close.
func TestRefusedClientsThatStay(t *testing.T) {
	for name, r := range refusals() {
		for _, closes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				conn, proxy := r.begun(t, linkdelay.NewNetwork(t, linkdelay.Link{}), "\x16")
				_, err := io.ReadAll(conn)
				require.NoError(t, err, name)
				began, want := time.Now(), 5*time.Second
				if closes {
					require.NoError(t, proxy.Close())
					want = 0
				}
				for err == nil {
					_, err = conn.Write([]byte{0})
					time.Sleep(time.Millisecond)
				}
				assert.InDelta(t, want.Seconds(), time.Since(began).Seconds(), 0.1, name)
			})
		}
	}
}
