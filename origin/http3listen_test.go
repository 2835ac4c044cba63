package origin_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/netlog"
	"example.com/wiretest/netlog/h3"
	"example.com/wiretest/origin"
)

func TestRestartOnTheSamePort(t *testing.T) {
	eachWorld(t, linkdelay.RTT(2*time.Millisecond), func(t *testing.T, network *linkdelay.Network) {
		pc := network.Host("pc.test")
		first, err := origin.Start(&origin.Config{Net: network.Host("origin.test"), Handler: hello, HTTP3: &origin.HTTP3{}})
		require.NoError(t, err)
		dialer := &h3.Dialer{ListenPacket: pc.ListenPacket}
		defer dialer.Close()
		var told context.Context // ends with the client's connection
		kept := &http.Client{Transport: &http3.Transport{TLSClientConfig: first.CA().ClientTLS(), Dial: func(ctx context.Context, addr string, tls *tls.Config, cfg *quic.Config) (*quic.Conn, error) {
			conn, err := dialer.Dial(ctx, addr, tls, cfg)
			if err == nil {
				told = conn.Context()
			}
			return conn, err
		}}}
		get(t, kept, first.URL)
		require.NoError(t, first.Close())
		<-told.Done()
		_, port, _ := net.SplitHostPort(first.Addr)
		again := origin.New(t, &origin.Config{CA: first.CA(), Net: network.Host("origin.test"), Port: must(strconv.Atoi(port)), Handler: hello, HTTP3: &origin.HTTP3{}})
		assert.Equal(t, first.URL, again.URL)
		get(t, kept, again.URL)
		netlog.RequireConnections(t, again.Log(), 1, alpn.H3)
		_, err = origin.Start(&origin.Config{Net: network.Host("origin.test"), Port: must(strconv.Atoi(port)), HTTP3: &origin.HTTP3{}})
		assert.ErrorContains(t, err, "address already in use")
	})
}

// A UDP port that is taken where the TCP port is free is tried by another pair.
func TestPortsThatAreTakenOnUDP(t *testing.T) {
	leavesNothing(t)
	tried := 0
	net := &crowded{Net: linkdelay.NewLoopback(t, linkdelay.Link{}).Host("origin.test"), refuse: func() bool { tried++; return tried < 4 }}
	s := origin.New(t, &origin.Config{Net: net, HTTP3: &origin.HTTP3{}})
	assert.Equal(t, 4, tried)
	require.NoError(t, s.Close())
	net.refuse = func() bool { return true }
	_, err := origin.Start(&origin.Config{Net: net, HTTP3: &origin.HTTP3{}})
	assert.ErrorContains(t, err, "20 ports, none free for all: udp beside origin.test:")
}

type crowded struct {
	origin.Net
	refuse func() bool
}

func (c *crowded) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	if c.refuse() {
		return nil, os.ErrExist
	}
	return c.Net.ListenPacket(ctx, network, address)
}

func TestHTTP3OnBothLoopbackAddresses(t *testing.T) {
	leavesNothing(t)
	s := origin.New(t, &origin.Config{Handler: hello, HTTP3: &origin.HTTP3{}})
	_, port, _ := net.SplitHostPort(s.Addr)
	get(t, &http.Client{Transport: s.HTTP3Transport(nil)}, s.URL)
	if probe, err := net.ListenPacket("udp6", "[::1]:0"); err == nil {
		probe.Close()
		get(t, &http.Client{Transport: s.HTTP3Transport(nil)}, "https://[::1]:"+port)
		assert.Equal(t, "[::1]:"+port, s.Log().Connections()[1].Host)
	}
}
