package linkdelay

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFifo holds the blocks to a bytes.Buffer: each byte of the script writes
// (even) or reads (odd) some amount.
func FuzzFifo(f *testing.F) {
	f.Add([]byte{2, 1, 254, 254, 255, 3, 200, 201, 7})
	f.Add([]byte{0, 1, 255, 254, 255, 2, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		var got fifo
		var want bytes.Buffer
		src := rand.NewChaCha8([32]byte{1})
		for _, op := range script {
			n := int(op/2) * int(op/2) * 6 // up to 96 KiB
			p := make([]byte, n)
			if op%2 == 0 {
				src.Read(p)
				got.write(p)
				want.Write(p)
				continue
			}
			p = p[:min(n, want.Len())]
			got.read(p)
			require.True(t, bytes.Equal(want.Next(len(p)), p), "bytes differ")
			require.Equal(t, want.Len(), got.size)
		}
	})
}

func TestQueueGivesBackInOrder(t *testing.T) {
	var q queue[int]
	in, out := 0, 0
	for round := range 100 {
		for range round % 17 {
			q.push(in)
			require.Equal(t, in, *q.back())
			in++
		}
		for q.len() > round%5 {
			require.Equal(t, out, *q.front())
			require.Equal(t, out, q.pop())
			out++
		}
	}
}

func TestScheduleGivesBackByInstantThenOrder(t *testing.T) {
	var s schedule[int]
	var want []due[int]
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		at := instant(rng.IntN(50))
		s.add(at, i)
		want = append(want, due[int]{at: at, what: i})
	}
	slices.SortStableFunc(want, func(a, b due[int]) int { return int(a.at - b.at) })
	for _, d := range want {
		require.Equal(t, d.at, s.next())
		require.Equal(t, d.what, s.pop())
	}
	require.Equal(t, never, s.next())
}

func TestPortsRunOut(t *testing.T) {
	network, err := StartNetwork(Link{})
	require.NoError(t, err)
	defer network.Close()
	m := network.world.(*memory)
	remote := place{"origin.test", 443}
	for range freePorts {
		_, err := m.reserve("pc.test", remote)
		require.NoError(t, err)
	}
	_, err = m.reserve("pc.test", remote)
	require.EqualError(t, err, "cannot assign requested address")
	_, err = m.reserve("pc.test", place{"origin.test", 80})
	require.NoError(t, err, "another address, another connection")
	m.release(call{place{"pc.test", 50000}, remote})
	c, err := m.reserve("pc.test", remote)
	require.NoError(t, err)
	require.Equal(t, 50000, c.local.port)
}
