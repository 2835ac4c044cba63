package h3

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/ca"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
)

// child is set where the test binary runs for TestWatchdogEndsALivelock.
const child = "WIRETEST_H3_LIVELOCK"

// A known limit of quic-go: with packets above 1,280 bytes, and a path that
// swallows everything once the handshake is over, its loop spins while virtual
// time stands still. Servers and Dialers here refuse such packets in memory; what
// speaks to quic-go by itself is ended by the watchdog, which says where it spins.
func TestWatchdogEndsALivelock(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("for the parent")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLivelock$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	assert.Error(t, err, "the child: %s", out)
	for _, want := range []string{"h3: TestLivelock: the bubble hangs: no end after 2s of real time", "spinner.test", "quic-go.(*Conn).run"} {
		assert.Contains(t, string(out), want)
	}
}

func TestLivelock(t *testing.T) {
	if os.Getenv(child) == "" {
		t.Skip("hangs; TestWatchdogEndsALivelock runs it")
	}
	log := new(netlog.Log)
	log.Open(netlog.Connection{Host: "spinner.test"})
	bubble(t, log, 2*time.Second, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		authority := ca.New(t, nil)
		large := &quic.Config{InitialPacketSize: 1350}
		at := func(host string) net.PacketConn {
			pc, err := network.Host(host).ListenPacket(t.Context(), "udp", ":443")
			require.NoError(t, err)
			return pc
		}
		speaks := func(cfg *tls.Config) *tls.Config {
			cfg.NextProtos = []string{"x"}
			return cfg
		}
		ln, err := (&quic.Transport{Conn: at("server.test")}).Listen(speaks(authority.ServerTLS("server.test")), large)
		require.NoError(t, err)
		trusts := speaks(authority.ClientTLS())
		trusts.ServerName = "server.test"
		client, err := (&quic.Transport{Conn: at("client.test")}).Dial(t.Context(), named("server.test:443"), trusts, large)
		require.NoError(t, err)
		server, err := ln.Accept(t.Context())
		require.NoError(t, err)
		network.Wire("client.test", "server.test").Cut()
		str, err := server.OpenUniStream()
		require.NoError(t, err)
		go str.Write(make([]byte, 16<<10))
		got, err := client.AcceptUniStream(t.Context())
		if err == nil {
			_, err = io.ReadAll(got)
		}
		t.Logf("without the livelock this ends: %v", err)
	})
}
