package linkdelay_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

func TestMistakenPathsAreRefusedByField(t *testing.T) {
	const probability = " is no probability, from 0 to 1"
	for text, p := range map[string]linkdelay.Path{
		"Delay: -1ms is negative":             {Delay: -ms},
		"Delay: 25h0m0s is more than 24h0m0s": {Delay: 25 * time.Hour},
		"Jitter: -1ms is negative":            {Jitter: -ms},
		"Jitter: 2ms is more than the Delay of 1ms, and nothing arrives before it was sent": {Delay: ms, Jitter: 2 * ms},
		"Shape: 2 is neither Uniform nor Normal":                                            {Shape: 2},
		"Rate: -1 bits per second is negative":                                              {Rate: -1},
		"Rate: 1000000000001 bits per second is more than 1000000000000":                    {Rate: 1e12 + 1},
		"Queue: -1 bytes is negative":                                                       {Rate: 1, Queue: -1},
		"QueueTime: -1ms is negative":                                                       {Rate: 1, QueueTime: -ms},
		"QueueTime: is set and so is Queue; one says how long the queue is":                 {Rate: 1, Queue: 1, QueueTime: 1},
		"Queue: is set without a Rate, and nothing queues":                                  {Queue: 1},
		"QueueTime: is set without a Rate, and nothing queues":                              {QueueTime: 1},
		"PerConnection: is set without a Rate, and nothing queues":                          {PerConnection: true},
		"Buffer: -1 bytes is negative":                                                      {Buffer: -1},
		"Loss: -0.1" + probability:                                                          {Loss: -0.1},
		"Loss: 1.5" + probability:                                                           {Loss: 1.5},
		"Loss: NaN" + probability:                                                           {Loss: math.NaN()},
		"Burst.Loss: 2" + probability:                                                       {Burst: linkdelay.Burst{Loss: 2}},
		"LossOver.Loss: 2" + probability:                                                    {LossOver: linkdelay.SizeLoss{Loss: 2}},
		"Reorder: 2" + probability:                                                          {Reorder: 2},
		"Duplicate: 2" + probability:                                                        {Duplicate: 2},
		"Corrupt: 100" + probability:                                                        {Corrupt: 100},
		"Burst.Good: -1ms is negative":                                                      {Burst: linkdelay.Burst{Good: -ms}},
		"Burst.Bad: -1ms is negative":                                                       {Burst: linkdelay.Burst{Bad: -ms}},
		"Burst.Good: is zero and Bad is not; both have a mean duration":                     {Burst: linkdelay.Burst{Bad: ms}},
		"Burst.Bad: is zero and Good is not; both have a mean duration":                     {Burst: linkdelay.Burst{Good: ms}},
		"Burst.Loss: is set without Good and Bad, and no time is bad":                       {Burst: linkdelay.Burst{Loss: 1}},
		"Burst: a mean duration of 1ns is less than a microsecond":                          {Burst: linkdelay.Burst{Good: ms, Bad: 1}},
		"MaxDatagram: -1 bytes is negative":                                                 {MaxDatagram: -1},
		"MaxDatagram: 1199 bytes is less than 1200, and a path that does not carry datagrams of that size " +
			"is none for QUIC (RFC 9000, section 14): it fails before the handshake. To lose smaller ones use Drop": {MaxDatagram: 1199},
		"LossOver.Size: -1 bytes is negative":                                  {LossOver: linkdelay.SizeLoss{Size: -1}},
		"LossOver.Loss: is zero and Size is not; nothing would be lost":        {LossOver: linkdelay.SizeLoss{Size: 1200}},
		"LossOver.Loss: is zero and ShortHeader is set; nothing would be lost": {LossOver: linkdelay.SizeLoss{ShortHeader: true}},
		"Shape: is set without Jitter, and nothing varies":                     {Shape: linkdelay.Normal},
		"ReorderBy: -1ms is negative":                                          {Reorder: 1, ReorderBy: -ms},
		"ReorderBy: is set without Reorder, and nothing is reordered":          {ReorderBy: ms},
		"Congestion: 4 is none of Auto, NoWindow, Cubic, Reno":                 {Congestion: 4},
		"Congestion: NoWindow with a Rate and with loss or Jitter floods the queue, and is retransmitted for ever": {
			Congestion: linkdelay.NoWindow, Rate: 1e6, Loss: 0.1},
		"UDP.Loss: 2" + probability:                        {UDP: &linkdelay.Path{Loss: 2}},
		"UDP.UDP: is set; there is one path for datagrams": {UDP: &linkdelay.Path{UDP: &linkdelay.Path{}}},
	} {
		_, err := linkdelay.StartNetwork(linkdelay.Link{Up: p})
		require.EqualError(t, err, "linkdelay: Link.Up."+text)
		_, err = linkdelay.StartNetwork(linkdelay.Link{Down: p})
		require.EqualError(t, err, "linkdelay: Link.Down."+text)
	}
}

func TestWiresRefuseMistakes(t *testing.T) {
	network, err := linkdelay.StartNetwork(linkdelay.Link{})
	require.NoError(t, err)
	defer network.Close()
	wire := network.Wire("a.test", "b.test")
	require.PanicsWithError(t, "linkdelay: Link.Down.Rate: -1 bits per second is negative",
		func() { wire.SetLink(linkdelay.Link{Down: linkdelay.Path{Rate: -1}}) })
	require.PanicsWithError(t, "linkdelay: BlockAfter: -1 datagrams and 0 bytes: a count is negative",
		func() { wire.BlockAfter(linkdelay.Count{Datagrams: -1}) })
	require.PanicsWithError(t, `linkdelay: Wire: "a.test" and "A.test" are one host, and a host has no link to itself`,
		func() { network.Wire("a.test", "A.test") })
	require.PanicsWithError(t, `linkdelay: Host: "": means the host itself, on every host`,
		func() { network.Wire("", "b.test") })
}

func TestPresetsAreLinks(t *testing.T) {
	for name, c := range map[string]struct {
		link linkdelay.Link
		rtt  time.Duration
	}{
		"Hotspot4G":     {linkdelay.Hotspot4G(), 170 * ms},
		"Satellite":     {linkdelay.Satellite(), 558 * ms},
		"DSL":           {linkdelay.DSL(), 50 * ms},
		"SameCity":      {linkdelay.SameCity(), 4 * ms},
		"Transatlantic": {linkdelay.Transatlantic(), 90 * ms},
	} {
		virtual(t, c.link, func(t *testing.T, network *linkdelay.Network) {
			start := time.Now()
			ln := listen(t, network.Host("origin.test"), ":443")
			dial(t, network.Host("pc.test"), ln.Addr().String())
			require.Equal(t, c.rtt, time.Since(start), name)
		})
	}
}
