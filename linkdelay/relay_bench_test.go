package linkdelay_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/wiretest/linkdelay"
)

// relays are what the benchmarks compare: each starts one to target and returns
// its address.
var relays = map[string]func(b *testing.B, target string, rtt time.Duration) (addr string){
	"linkdelay": func(b *testing.B, target string, rtt time.Duration) string {
		return linkdelay.NewTCP(b, target, linkdelay.RTT(rtt)).Addr
	},
	"plain": func(b *testing.B, target string, _ time.Duration) string { // no delay: splices
		return copyingRelay(b, target, func(dst, src *net.TCPConn) { io.Copy(dst, src) })
	},
	"naive": func(b *testing.B, target string, rtt time.Duration) string {
		return copyingRelay(b, target, func(dst, src *net.TCPConn) { sleepPerChunk(dst, src, rtt/2) })
	},
}

// copyingRelay is the relay that everybody writes.
func copyingRelay(b *testing.B, target string, carry func(dst, src *net.TCPConn)) (addr string) {
	ln := listenReal(b)
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					carry(way[1].(*net.TCPConn), way[0].(*net.TCPConn))
					way[1].(*net.TCPConn).CloseWrite()
				}()
			}
		}
	}()
	return ln.Addr().String()
}

// sleepPerChunk makes each chunk wait for the delays of all before it.
func sleepPerChunk(dst, src *net.TCPConn, delay time.Duration) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			time.Sleep(delay)
			dst.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// through connects by a relay.
func through(b *testing.B, kind string, rtt time.Duration) (near, far net.Conn) {
	b.Helper()
	ln := listenReal(b)
	near, err := net.Dial("tcp", relays[kind](b, ln.Addr().String(), rtt))
	require.NoError(b, err)
	far = accept(b, ln)
	b.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// moved is how long size bytes take to the other side, and a byte back.
func moved(b *testing.B, near, far net.Conn, size int64) time.Duration {
	chunk := make([]byte, 256<<10)
	start := time.Now()
	go func() {
		for left := size; left > 0; left -= int64(len(chunk)) {
			near.Write(chunk)
		}
	}()
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(far, size), make([]byte, 256<<10))
	require.NoError(b, err)
	far.Write(chunk[:1])
	_, err = io.ReadFull(near, chunk[:1])
	require.NoError(b, err)
	return time.Since(start)
}

// byTurns is what moving size bytes took through ours, with a round trip, and
// through a plain relay.
func byTurns(b *testing.B, rtt time.Duration, size int64) (us, them []time.Duration) {
	ours, ourFar := through(b, "linkdelay", rtt)
	plain, plainFar := through(b, "plain", 0)
	b.SetBytes(size)
	for b.Loop() {
		us = append(us, moved(b, ours, ourFar, size))
		b.StopTimer()
		them = append(them, moved(b, plain, plainFar, size))
		b.StartTimer()
	}
	return us, them
}

// BenchmarkRelayBulk moves 64 MiB through relays without delay, by turns, and
// compares their median times: a plain relay's over ours.
func BenchmarkRelayBulk(b *testing.B) {
	const size = 64 << 20
	us, them := byTurns(b, 0, size)
	b.ReportMetric(median(them).Seconds()/median(us).Seconds(), "×plain")
}

// BenchmarkRelayBulkAt100ms moves 64 MiB through 100 ms of round trip. What is
// reported is its time over a round trip and a plain relay's time; and a naive
// relay's rate, of 1 MiB.
func BenchmarkRelayBulkAt100ms(b *testing.B) {
	const size, rtt = 64 << 20, 100 * ms
	us, them := byTurns(b, rtt, size)
	b.ReportMetric(median(us).Seconds()/(rtt+median(them)).Seconds(), "×ideal")
	naive, naiveFar := through(b, "naive", rtt)
	b.ReportMetric(1/moved(b, naive, naiveFar, 1<<20).Seconds(), "naive-MiB/s")
}

// BenchmarkRelayPingPong sends a byte to and fro at 100 ms of round trip, on 1
// connection and on 200 at once, and reports what exceeds the 100 ms.
func BenchmarkRelayPingPong(b *testing.B) {
	for name, conns := range map[string]int{"1 connection": 1, "200 connections": 200} {
		for _, kind := range []string{"linkdelay", "naive"} {
			b.Run(name+"/"+kind, func(b *testing.B) { benchmarkPingPong(b, kind, conns) })
		}
	}
}

func benchmarkPingPong(b *testing.B, kind string, conns int) {
	const rtt = 100 * ms
	ln := listenReal(b)
	addr := relays[kind](b, ln.Addr().String(), rtt)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var late []time.Duration
	for range conns {
		near, err := net.Dial("tcp", addr)
		require.NoError(b, err)
		far := accept(b, ln)
		go io.Copy(struct{ io.Writer }{far}, far)
		defer near.Close()
		defer far.Close()
		wg.Go(func() {
			times := pingPong(near, max(b.N, 10), rtt)
			mu.Lock()
			defer mu.Unlock()
			late = append(late, times...)
		})
		time.Sleep(rtt / time.Duration(conns)) // not all at the same instant
	}
	wg.Wait()
	slices.Sort(late)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "p50-late-ms")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "p99-late-ms")
}

func pingPong(conn net.Conn, n int, rtt time.Duration) (late []time.Duration) {
	one := make([]byte, 1)
	for range n {
		start := time.Now()
		conn.Write(one)
		if _, err := io.ReadFull(conn, one); err != nil {
			return late
		}
		late = append(late, time.Since(start)-rtt)
	}
	return late
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
