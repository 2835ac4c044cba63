package sender

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// width is how many bytes of what was written have width.
func width(writes ...[]byte) int {
	r, to := newRecords(), pending{}
	for _, p := range writes {
		r.scan(p, &to)
	}
	w, _ := to.cut(1 << 30)
	return w
}

func record(kind byte, length int) []byte {
	return append([]byte{kind, 3, 3, byte(length >> 8), byte(length)}, make([]byte, length)...)
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestWhatTLSAddsHasNoWidth(t *testing.T) {
	hello := record(22, 300)
	ccs := record(20, 1)
	for _, c := range []struct {
		name   string
		stream []byte
		want   int
	}{
		{"no TLS", []byte("GET / HTTP/1.1\r\n\r\n"), 18},
		{"HTTP/2 in the clear", []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 24},
		{"an answer in the clear", []byte("HTTP/1.1 200 OK\r\n\r\nbody"), 23},
		{"a handshake", hello, 300},
		{"1,000 bytes in one record", join(hello, ccs, record(23, 1017)), 301 + 1000},
		{"1,000 bytes in three", join(hello, ccs, record(23, 17+100), record(23, 17+1), record(23, 17+899)), 301 + 1000},
		{"less than its protection", join(hello, record(23, 3)), 300},
		{"nothing in a record", join(hello, record(23, 0), record(23, 18)), 300 + 1},
		{"TLS 1.2, AES-GCM", join(hello, ccs, record(22, 40), record(23, 1024)), 341 + 1000},
		{"TLS 1.2, ChaCha20", join(hello, ccs, record(22, 32), record(23, 1016)), 333 + 1000},
		{"a second hello of TLS 1.3", join(hello, ccs, record(22, 290), record(23, 1017)), 591 + 1000},
		{"behind CONNECT", join([]byte("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"), hello, record(23, 1017)), 39 + 300 + 1000},
		{"behind the answer to it", join([]byte("HTTP/1.1 200 OK\r\r\n\r\n"), hello, record(23, 1017)), 20 + 300 + 1000},
		{"a record of no known kind", join(hello, record(99, 10), record(23, 10)), 300 + 15 + 15},
		{"a record too long", join(hello, []byte{23, 3, 3, 0xff, 0xff, 0}), 300 + 2},
	} {
		assert.Equal(t, c.want, width(c.stream), c.name)
		bytewise := make([][]byte, 0, len(c.stream))
		for i := range c.stream {
			bytewise = append(bytewise, c.stream[i:i+1])
		}
		assert.Equal(t, c.want, width(bytewise...), "%s, byte by byte", c.name)
	}
}

// tap keeps what is written to a conn.
type tap struct {
	net.Conn
	mu      sync.Mutex
	written []byte
}

func (c *tap) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.written = append(c.written, p...)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func TestTheSamePlaintextHasTheSameWidthHoweverItIsWritten(t *testing.T) {
	cert := certificate(t)
	for _, c := range []struct {
		version, suite uint16
	}{
		{tls.VersionTLS13, 0},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
	} {
		name := fmt.Sprintf("%s %s", tls.VersionName(c.version), tls.CipherSuiteName(c.suite))
		none := plaintextWidth(t, cert, c.version, c.suite, 0, 1)
		for _, pieces := range []int{1, 7, 100} {
			got := plaintextWidth(t, cert, c.version, c.suite, 50_000, pieces)
			assert.Equal(t, 50_000, got-none, "%s: width of 50,000 bytes written in %d pieces", name, pieces)
		}
	}
}

// plaintextWidth is that of a whole connection's client side, which is alike
// in each but for the plaintext.
func plaintextWidth(t *testing.T, cert tls.Certificate, version, suite uint16, n, pieces int) int {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	server := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true})
	done := make(chan struct{})
	go func() { // ends when near is closed
		defer close(done)
		io.Copy(io.Discard, server)
	}()
	out := &tap{Conn: near}
	client := tls.Client(out, &tls.Config{
		InsecureSkipVerify: true, MinVersion: version, MaxVersion: version,
		CipherSuites: []uint16{suite}, DynamicRecordSizingDisabled: true,
	})
	require.NoError(t, client.Handshake())
	for i := range pieces {
		_, err := io.WriteString(client, strings.Repeat("x", n*(i+1)/pieces-n*i/pieces))
		require.NoError(t, err)
	}
	near.Close()
	<-done
	return width(out.written)
}

func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Where the records of one instant begin must not show in what is sent.
func TestRecordsDoNotShowInSegments(t *testing.T) {
	hello := record(22, 500)
	one := [][]byte{join(hello, record(23, 10_017))}
	many := [][]byte{hello}
	for range 100 {
		r := record(23, 117)
		many = append(many, r[:3], r[3:50], r[50:110], r[110:])
	}
	want, got := segmentsOf(t, one), segmentsOf(t, many)
	require.Equal(t, len(want), len(got))
	for i := range want {
		want[i].Size, got[i].Size = 0, 0 // the records' own bytes
	}
	assert.Equal(t, want, got)
}

func segmentsOf(t *testing.T, writes [][]byte) []sending {
	w := &wire{delay: oneWay}
	s := start(t, 0, Config{Path: w})
	n := 0
	for _, p := range writes {
		s.Write(ms, p)
		n += len(p)
	}
	assert.Equal(t, 51*ms, finish(t, s, ms, n), "all of it arrives, the last tag too")
	return w.sent
}

// A header that is written before its body does not wait for it.
func TestBytesWithoutWidthTravelAlone(t *testing.T) {
	s := start(t, 0, Config{Path: &wire{delay: oneWay}})
	s.Write(0, record(22, 500))
	r := record(23, 117)
	s.Write(10*ms, r[:5])
	s.Write(20*ms, r[5:105])
	s.Write(30*ms, r[105:])
	for _, c := range []struct {
		at   Instant
		want int
	}{{50 * ms, 505}, {60 * ms, 510}, {70 * ms, 610}, {80 * ms, 627}} {
		assert.Equal(t, c.want, s.Readable(c.at), "at %v", c.at)
	}
}

func FuzzRecordsKeepEveryByte(f *testing.F) {
	f.Add(record(22, 3), uint8(2))
	f.Add(join(record(22, 3), record(20, 1), record(22, 40), record(23, 40)), uint8(7))
	f.Add([]byte("CONNECT a HTTP/1.1\r\n\r\n\x16\x03\x01\x00\x01x"), uint8(1))
	f.Fuzz(func(t *testing.T, p []byte, step uint8) {
		r, to := newRecords(), pending{}
		r.scan(p, &to)
		require.Equal(t, len(p), to.size)
		whole, size := to.cut(1 << 30)
		require.Equal(t, len(p), size)
		var pieces [][]byte
		for n := int(step)%7 + 1; len(p) > 0; p = p[n:] {
			n = min(n, len(p))
			pieces = append(pieces, p[:n])
		}
		require.Equal(t, whole, width(pieces...), "chunks change the width")
	})
}
