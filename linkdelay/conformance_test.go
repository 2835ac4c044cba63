package linkdelay_test

import (
	"net"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"example.com/wiretest/linkdelay"
)

// pipes makes both ends of a connection in a Network of its own.
func pipes(start func(linkdelay.Link) (*linkdelay.Network, error), link linkdelay.Link) nettest.MakePipe {
	return func() (net.Conn, net.Conn, func(), error) {
		network, err := start(link)
		if err != nil {
			return nil, nil, nil, err
		}
		near, far, err := connectPair(network)
		return near, far, func() { network.Close() }, err
	}
}

func TestConnsConformInRealTime(t *testing.T) {
	checkLeaks(t)
	for _, c := range []struct {
		name  string
		start func(linkdelay.Link) (*linkdelay.Network, error)
		link  linkdelay.Link
	}{
		{"memory without delay", linkdelay.StartNetwork, linkdelay.Link{}},
		{"memory with 5 ms", linkdelay.StartNetwork, linkdelay.RTT(10 * time.Millisecond)},
		{"memory with a rate", linkdelay.StartNetwork, both(linkdelay.Path{Delay: 200 * us, Rate: 1e9})},
		{"memory with a buffer", linkdelay.StartNetwork, both(linkdelay.Path{Delay: 200 * us, Buffer: 64 << 10})},
		{"memory with a rate and a buffer", linkdelay.StartNetwork, both(linkdelay.Path{Rate: 1e9, Queue: 20_000, Buffer: 64 << 10})},
		{"memory with loss", linkdelay.StartNetwork, both(linkdelay.Path{Delay: 200 * us, Loss: 0.001, Buffer: 64 << 10})},
		{"loopback with a rate", linkdelay.StartLoopback, both(linkdelay.Path{Delay: 200 * us, Rate: 1e9})},
		{"loopback without delay", linkdelay.StartLoopback, linkdelay.Link{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			nettest.TestConn(t, pipes(c.start, c.link))
		})
	}
}
