package linkdelay_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// inBubble runs a benchmark's body in virtual time. synctest wants a
// *testing.T, which only testing.RunTests gives to others; and b's timer would
// count virtual time inside, so that setting up is timed as well.
func inBubble(b *testing.B, body func(t *testing.T)) {
	b.Helper()
	anything := func(string, string) (bool, error) { return true, nil }
	ran := false
	test := testing.InternalTest{Name: b.Name(), F: func(t *testing.T) {
		if !ran { // testing.RunTests would repeat it -count times
			ran = true
			synctest.Test(t, body)
		}
	}}
	b.ResetTimer()
	ok := testing.RunTests(anything, []testing.InternalTest{test})
	b.StopTimer()
	if !ok || !ran { // not run: by -skip
		b.Fatal("nothing was measured in the bubble")
	}
}

// BenchmarkStream moves bytes through 50 ms, 16 MiB in flight at a time.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{1460, 16 << 10, 64 << 10} {
		b.Run(byteSize(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			inBubble(b, func(t *testing.T) { benchmarkStream(t, b, size) })
		})
	}
}

func byteSize(n int) string {
	return map[int]string{1460: "1460B", 16 << 10: "16KiB", 64 << 10: "64KiB"}[n]
}

func benchmarkStream(t *testing.T, b *testing.B, size int) {
	network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
	near, far := pairIn(t, network)
	const flight = 16 << 20
	chunk, sink := make([]byte, size), make([]byte, 64<<10)
	for sent := 0; sent < b.N; {
		batch := min(b.N-sent, flight/size)
		for range batch {
			near.Write(chunk)
		}
		sent += batch
		for left := batch * size; left > 0; {
			n, err := far.Read(sink)
			require.NoError(t, err)
			left -= n
		}
	}
}

// BenchmarkDatagrams sends 1,200 bytes at a time through 50 ms, 1,000 in flight.
func BenchmarkDatagrams(b *testing.B) {
	b.ReportAllocs()
	inBubble(b, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		near, far := socketsIn(t, network)
		data, sink := make([]byte, 1200), make([]byte, 2048)
		for sent := 0; sent < b.N; {
			batch := min(b.N-sent, 1000)
			for range batch {
				near.WriteTo(data, far.LocalAddr())
			}
			sent += batch
			for range batch {
				_, _, err := far.ReadFrom(sink)
				require.NoError(t, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "datagrams/s")
}

// BenchmarkRoundTrip is what one request and answer of a byte cost.
func BenchmarkRoundTrip(b *testing.B) {
	b.ReportAllocs()
	inBubble(b, func(t *testing.T) {
		network := linkdelay.NewNetwork(t, linkdelay.RTT(100*time.Millisecond))
		near, far := pairIn(t, network)
		go io.Copy(far, far) // ends with the Network
		one := make([]byte, 1)
		for range b.N {
			near.Write(one)
			_, err := near.Read(one)
			require.NoError(t, err)
		}
	})
}
