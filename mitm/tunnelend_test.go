package mitm_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/mitm"
)

// What was written to a tunnel arrives whole, and its close as an end and no reset,
// as on the connection that it stands for.
func TestClosedTunnelEndsWhole(t *testing.T) {
	for name, cfg := range map[string]mitm.Config{
		"explicit":             {},
		"explicit over TLS h1": {Mode: mitm.ExplicitTLS, Outer: mitm.Leg{ALPN: alpn.Only(alpn.HTTP11)}},
		"explicit over TLS h2": {Mode: mitm.ExplicitTLS, Outer: mitm.Leg{ALPN: alpn.Only(alpn.H2)}},
		"SOCKS5":               {Mode: mitm.SOCKS5},
	} {
		t.Run(name, func(t *testing.T) {
			linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
				type outcome struct {
					text string
					err  error
				}
				heard := make(chan outcome, 1)
				addr := accepting(t, network.Host("origin.test"), func(conn net.Conn) {
					text, err := io.ReadAll(conn)
					heard <- outcome{string(text), err}
				})
				cfg := cfg
				cfg.Net, cfg.Passthrough = network.Host("proxy.test"), []string{"origin.test"}
				proxy := mitm.New(t, &cfg)
				for range 10 {
					conn, err := proxy.Tunnel(network.Host("pc.test"))(t.Context(), "tcp", addr)
					require.NoError(t, err)
					text := strings.Repeat("last words ", 1000)
					_, err = io.WriteString(conn, text)
					require.NoError(t, err)
					require.NoError(t, conn.Close())
					got := <-heard
					assert.NoError(t, got.err)
					assert.Equal(t, len(text), len(got.text))
				}
			})
		})
	}
}
