package linkdelay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// BenchmarkStreamPaths moves bytes in virtual time over paths that do more than
// delay, 4 MiB at a time.
func BenchmarkStreamPaths(b *testing.B) {
	rate := linkdelay.RTT(100 * ms)
	rate.Up.Rate = 1e9
	lossy := linkdelay.RTT(100 * ms)
	lossy.Up.Loss = 0.01
	window := linkdelay.RTT(100 * ms)
	window.Up.Congestion = linkdelay.Cubic
	unlimited := lossy
	unlimited.Up.Congestion = linkdelay.NoWindow
	for name, link := range map[string]linkdelay.Link{
		"1Gbit": rate, "loss 1%": lossy, "cubic": window, "loss 1% without window": unlimited,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(64 << 10)
			inBubble(b, func(t *testing.T) { bulk(t, b.N, link) })
		})
	}
}

func bulk(t *testing.T, chunks int, link linkdelay.Link) {
	near, far := pairIn(t, linkdelay.NewNetwork(t, link))
	const flight = 4 << 20
	chunk, sink := make([]byte, 64<<10), make([]byte, 64<<10)
	for sent := 0; sent < chunks; {
		batch := min(chunks-sent, flight/len(chunk))
		for range batch {
			near.Write(chunk)
		}
		sent += batch
		for left := batch * len(chunk); left > 0; {
			n, err := far.Read(sink)
			require.NoError(t, err)
			left -= n
		}
	}
}

// BenchmarkLossyDatagrams sends 1,200 bytes at a time, 1,000 in flight, through
// delay, loss and a rate.
func BenchmarkLossyDatagrams(b *testing.B) {
	path := linkdelay.Path{Delay: 50 * ms, Jitter: ms, Loss: 0.01, Rate: 100e9, Queue: 16 << 20, Reorder: 0.01, Duplicate: 0.01}
	b.ReportAllocs()
	inBubble(b, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.Link{Up: path, Down: path})
		near, far := socketsIn(t, network)
		data, sink := make([]byte, 1200), make([]byte, 2048)
		for sent := 0; sent < b.N; {
			batch := min(b.N-sent, 1000)
			for range batch {
				near.WriteTo(data, far.LocalAddr())
			}
			sent += batch
			far.SetReadDeadline(time.Now().Add(time.Second))
			for {
				if _, _, err := far.ReadFrom(sink); err != nil {
					break
				}
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "datagrams/s")
}
