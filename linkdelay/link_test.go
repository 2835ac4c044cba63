package linkdelay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestRTTIsHalvedEachWay(t *testing.T) {
	require.Equal(t, lopsided(50*ms, 50*ms), linkdelay.RTT(100*ms))
	require.Equal(t, lopsided(2, 3), linkdelay.RTT(5), "the odd nanosecond goes down")
	require.Equal(t, linkdelay.Link{}, linkdelay.RTT(0))
}

func TestMistakenLinksAreRefusedByField(t *testing.T) {
	for text, link := range map[string]linkdelay.Link{
		"linkdelay: Link.Up.Delay: -1ms is negative":                       lopsided(-ms, ms),
		"linkdelay: Link.Down.Delay: -1ms is negative":                     lopsided(ms, -ms),
		"linkdelay: Link.Up.Delay: 24h0m0.000000001s is more than 24h0m0s": lopsided(24*time.Hour+1, 0),
	} {
		_, err := linkdelay.StartNetwork(link)
		require.EqualError(t, err, text)
		_, err = linkdelay.StartLoopback(link)
		require.EqualError(t, err, text)
		network, err := linkdelay.StartNetwork(linkdelay.Link{})
		require.NoError(t, err)
		require.PanicsWithError(t, text, func() { network.SetLink("a.test", "b.test", link) })
		require.NoError(t, network.Close())
	}
}

func TestMistakenNamesAreRefused(t *testing.T) {
	network, err := linkdelay.StartNetwork(linkdelay.Link{})
	require.NoError(t, err)
	defer network.Close()
	long := strings.Repeat("a", 64)
	for name, why := range map[string]string{
		"":                        "means the host itself, on every host",
		"localhost":               "means the host itself, on every host",
		"127.0.0.1":               "means the host itself, on every host",
		"192.0.2.1":               "is an IP address; hosts of a Network have names only",
		"a..test":                 "has an empty label",
		long + ".test":            "has a label of 64 bytes; a label has at most 63",
		strings.Repeat("a.", 150): "has 299 bytes; a name has at most 253",
		"pc.test:80":              "has byte ':'; letters, digits, '-' and '_' only (an international name is written as xn--…)",
	} {
		text := "linkdelay: Host: " + quoted(name) + ": " + why
		require.PanicsWithError(t, text, func() { network.Host(name) })
	}
	require.PanicsWithError(t, `linkdelay: SetLink: "pc.test" and "PC.test" are one host, and a host has no link to itself`,
		func() { network.SetLink("pc.test", "PC.test", linkdelay.Link{}) })
}

func TestMistakesFailTheTest(t *testing.T) {
	tb := &fakeTB{TB: t}
	require.True(t, tb.fails(func() { linkdelay.NewNetwork(tb, lopsided(-1, 0)) }))
	require.Equal(t, "linkdelay: Link.Up.Delay: -1ns is negative", tb.said)
	network := linkdelay.NewNetwork(tb, linkdelay.Link{})
	require.True(t, tb.fails(func() { network.Host("a b") }))
	require.Contains(t, tb.said, "has byte ' '")
}

func TestHostsAreOnePerName(t *testing.T) {
	network := linkdelay.NewNetwork(t, linkdelay.Link{})
	require.Same(t, network.Host("Origin.Test."), network.Host("origin.test"))
	require.NotSame(t, network.Host("www.origin.test"), network.Host("origin.test"))
	require.Equal(t, "origin.test", network.Host("Origin.Test.").Name())
}
