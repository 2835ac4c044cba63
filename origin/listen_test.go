package origin_test

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/netlog"
	"example.com/wiretest/origin"
)

func TestListensOnBothLoopbackAddresses(t *testing.T) {
	probe, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 loopback:", err)
	}
	probe.Close()
	s := origin.New(t, &origin.Config{Handler: hello})
	four := netip.MustParseAddrPort(s.Addr)
	assert.Equal(t, "127.0.0.1", four.Addr().String())
	assert.Equal(t, "https://"+s.Addr, s.URL)
	six := netip.AddrPortFrom(netip.IPv6Loopback(), four.Port()).String()
	get(t, s.Client(), s.URL)
	get(t, s.Client(), "https://"+six)
	hosts := []string{}
	for _, c := range s.Log().Connections() {
		hosts = append(hosts, c.Host)
	}
	assert.Equal(t, []string{s.Addr, six}, hosts)
}

func TestListensOnNothingButLoopback(t *testing.T) {
	s := origin.New(t, &origin.Config{Handler: hello})
	port := netip.MustParseAddrPort(s.Addr).Port()
	addrs, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addrs {
		ip, ok := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if !ok || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		conn, err := net.Dial("tcp", netip.AddrPortFrom(ip.Unmap(), port).String())
		if !assert.Error(t, err, "reachable at %v", ip) {
			conn.Close()
		}
	}
}

func TestManyStartAndStopAtOnce(t *testing.T) {
	leavesNothing(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				s, err := origin.Start(&origin.Config{Handler: hello})
				if !assert.NoError(t, err) {
					return
				}
				resp, err := s.Client().Get(s.URL)
				if assert.NoError(t, err) {
					resp.Body.Close()
				}
				assert.Len(t, s.Log().Connections(netlog.Used()), 1)
				assert.NoError(t, s.Close())
			}
		})
	}
	all.Wait()
}

func TestPortIsFreeAfterClose(t *testing.T) {
	s, err := origin.Start(nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	l, err := net.Listen("tcp", s.Addr)
	require.NoError(t, err)
	l.Close()
}

// named is a Net of plain sockets that names its listener.
type named struct {
	*net.ListenConfig
	net.Dialer
	listened *string
}

func (n named) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	*n.listened = network + " " + address
	l, err := n.ListenConfig.Listen(ctx, network, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return namedListener{l}, nil
}

func (n named) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return n.Dialer.DialContext(ctx, network, "127.0.0.1:"+port)
}

type namedListener struct{ net.Listener }

func (l namedListener) Addr() net.Addr { return name{l.Listener.Addr()} }

type name struct{ net.Addr }

func (n name) String() string {
	_, port, _ := net.SplitHostPort(n.Addr.String())
	return "origin.test:" + port
}

func TestNetSaysWhereTheOriginIs(t *testing.T) {
	leavesNothing(t)
	place := named{ListenConfig: new(net.ListenConfig), listened: new(string)}
	s := origin.New(t, &origin.Config{Net: place, Handler: hello})
	assert.Equal(t, "tcp :0", *place.listened)
	assert.Regexp(t, `^origin\.test:\d+$`, s.Addr)
	assert.Equal(t, "https://"+s.Addr, s.URL)

	get(t, &http.Client{Transport: s.Transport(place)}, s.URL)
	assert.Equal(t, s.Addr, s.Log().Connections()[0].Host)
	assert.Equal(t, "origin.test", s.Log().Connections()[0].ServerName)

	_, err := s.Client().Get(s.URL)
	assert.ErrorContains(t, err, "origin: Client: "+s.Addr+" is a name in Config.Net, which a plain dialer cannot reach: use Transport(host)")
	_, err = (&http.Client{Transport: s.Transport(nil)}).Get(s.URL)
	assert.ErrorContains(t, err, "origin: Transport: "+s.Addr+" is a name in Config.Net")
	_, err = (&http.Client{Transport: s.Transport((*named)(nil))}).Get(s.URL)
	assert.ErrorContains(t, err, "origin: Transport: typed nil *origin_test.named")
}

func TestClientIsTheSameAtEachCallAndTransportIsNot(t *testing.T) {
	s := origin.New(t, nil)
	assert.Same(t, s.Client(), s.Client())
	assert.NotSame(t, s.Transport(nil), s.Transport(nil))
	assert.NotSame(t, s.Transport(nil).TLSClientConfig, s.Transport(nil).TLSClientConfig)
}
