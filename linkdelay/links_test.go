package linkdelay_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"example.com/wiretest/linkdelay"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// virtual runs a test in a bubble, in a Network in memory.
func virtual(t *testing.T, link linkdelay.Link, body func(t *testing.T, network *linkdelay.Network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { body(t, linkdelay.NewNetwork(t, link)) })
}

func lopsided(up, down time.Duration) linkdelay.Link {
	return linkdelay.Link{Up: linkdelay.Path{Delay: up}, Down: linkdelay.Path{Delay: down}}
}

// both is a link with the same path each way.
func both(p linkdelay.Path) linkdelay.Link { return linkdelay.Link{Up: p, Down: p} }

// eachWay runs a test with a connection, once for each direction.
func eachWay(t *testing.T, link linkdelay.Link, body func(t *testing.T, network *linkdelay.Network, from, to net.Conn)) {
	t.Helper()
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		body(t, network, near, far)
	})
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		near, far := pairIn(t, network)
		body(t, network, far, near)
	})
}

// eachWayUDP is the same with two sockets.
func eachWayUDP(t *testing.T, link linkdelay.Link, body func(t *testing.T, network *linkdelay.Network, from, to net.PacketConn)) {
	t.Helper()
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		sendText(t, near, far.LocalAddr(), "Up leads from here")
		requireDatagram(t, far, "Up leads from here")
		body(t, network, near, far)
	})
	virtual(t, link, func(t *testing.T, network *linkdelay.Network) {
		near, far := socketsIn(t, network)
		sendText(t, near, far.LocalAddr(), "Up leads from here")
		requireDatagram(t, far, "Up leads from here")
		body(t, network, far, near)
	})
}

// isVirtual reports whether the caller is in a bubble: its clock starts at
// 2000-01-01.
func isVirtual() bool { return time.Now().Year() < 2020 }
