package alpn_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeekAgreesWithCryptoTLS(t *testing.T) {
	for name, stream := range hellos(t) {
		hello, err := peek(t, cut(stream), stream)
		require.NoError(t, err, name)
		info := seenByTLS(stream)
		require.NotNil(t, info, name)
		requireSame(t, info, hello, name)
		assert.Equal(t, stream[5:], hello.Raw, name)
	}
}

// requireSame compares with what crypto/tls tells about a hello.
func requireSame(tb testing.TB, info *tls.ClientHelloInfo, hello *alpn.ClientHello, name string) {
	tb.Helper()
	require.Equal(tb, info.ServerName, hello.ServerName, name)
	require.Equal(tb, info.SupportedProtos, hello.ALPN, name)
	require.Equal(tb, info.CipherSuites, hello.CipherSuites, name)
	require.ElementsMatch(tb, info.Extensions, hello.Extensions, name)
	require.ElementsMatch(tb, info.SupportedCurves, hello.Groups, name)
	require.ElementsMatch(tb, info.SupportedPoints, hello.PointFormats, name)
	require.ElementsMatch(tb, info.SignatureSchemes, hello.SignatureSchemes, name)
	if hello.Versions != nil {
		require.Equal(tb, info.SupportedVersions, hello.Versions, name)
	}
}

func TestPeekReadsWhatIsOffered(t *testing.T) {
	all := hellos(t)
	for name, want := range map[string]struct {
		host    string
		offered []string
		version uint16
	}{
		"TLS 1.0":      {"wiretest.test", nil, tls.VersionTLS10},
		"TLS 1.1":      {"wiretest.test", []string{"http/1.1"}, tls.VersionTLS11},
		"TLS 1.2":      {"wiretest.test", []string{"h2", "http/1.1"}, tls.VersionTLS12},
		"TLS 1.3":      {"wiretest.test", []string{"h2", "http/1.1"}, tls.VersionTLS12},
		"post-quantum": {"wiretest.test", []string{"h2"}, tls.VersionTLS12},
		"no SNI":       {"", nil, tls.VersionTLS12},
	} {
		hello, err := peek(t, cut(all[name]), all[name])
		require.NoError(t, err, name)
		assert.Equal(t, want.host, hello.ServerName, name)
		assert.Equal(t, want.offered, hello.ALPN, name)
		assert.Equal(t, want.version, hello.Version, name)
		assert.EqualValues(t, 0x0301, hello.RecordVersion, name)
		assert.Len(t, hello.SessionID, int(hello.Raw[38]), name)
	}
	hello, err := peek(t, cut(all["post-quantum"]), all["post-quantum"])
	require.NoError(t, err)
	assert.Equal(t, []uint16{tls.VersionTLS13}, hello.Versions)
	require.NotEmpty(t, hello.KeyShares)
	assert.Equal(t, tls.X25519MLKEM768, hello.KeyShares[0].Group)
	assert.Len(t, hello.KeyShares[0].Data, 1216)
	assert.Contains(t, string(hello.Raw), string(hello.KeyShares[0].Data))
}

// greased is a hello by hand, with GREASE wherever RFC 8701 puts it.
func greased() []byte {
	msg := []byte{1, 0, 0, 0, 3, 3}
	msg = append(msg, make([]byte, 32)...)
	msg = append(msg, 0, 0, 4, 0x0a, 0x0a, 0x13, 0x01, 1, 0, 0, 0)
	start := len(msg)
	for _, extension := range []string{
		"\x1a\x1a\x00\x00",
		"\x00\x10\x00\x08\x00\x06\x02\x0a\x0a\x02h2",
		"\x00\x2b\x00\x05\x04\x2a\x2a\x03\x04",
		"\x00\x0a\x00\x06\x00\x04\x3a\x3a\x00\x1d",
		"\x00\x0d\x00\x06\x00\x04\x4a\x4a\x04\x03",
		"\x00\x33\x00\x07\x00\x05\x3a\x3a\x00\x01\x00",
		"\x00\x2d\x00\x03\x02\x0b\x01",
		"\x5a\x5a\x00\x01\x00",
	} {
		msg = append(msg, extension...)
	}
	n := len(msg) - start
	msg[start-2], msg[start-1] = byte(n>>8), byte(n)
	msg[2], msg[3] = byte((len(msg)-4)>>8), byte(len(msg)-4)
	return msg
}

func TestPeekKeepsGREASE(t *testing.T) {
	stream := inRecords(greased(), 1<<14)
	hello, err := peek(t, cut(stream), stream)
	require.NoError(t, err)
	assert.Equal(t, []uint16{0x0a0a, 0x1301}, hello.CipherSuites)
	assert.Equal(t, []uint16{0x1a1a, 16, 43, 10, 13, 51, 45, 0x5a5a}, hello.Extensions)
	assert.Equal(t, []string{"\x0a\x0a", "h2"}, hello.ALPN)
	assert.Equal(t, []uint16{0x2a2a, 0x0304}, hello.Versions)
	assert.Equal(t, []tls.CurveID{0x3a3a, tls.X25519}, hello.Groups)
	assert.Equal(t, []tls.SignatureScheme{0x4a4a, tls.ECDSAWithP256AndSHA256}, hello.SignatureSchemes)
	assert.Equal(t, []alpn.KeyShare{{Group: 0x3a3a, Data: []byte{0}}}, hello.KeyShares)
	assert.Equal(t, []uint8{0x0b, 1}, hello.PSKModes)
	assert.Equal(t, []uint8{0}, hello.Compression)
}

// requireOneHello is the hello of a stream, which has to be the same wherever the
// stream is cut.
func requireOneHello(t *testing.T, name string, stream []byte) *alpn.ClientHello {
	t.Helper()
	want, err := peek(t, cut(stream), stream)
	require.NoError(t, err, name)
	for at := 1; at < len(stream); at++ {
		got, err := peek(t, cut(stream, at), stream)
		require.NoError(t, err, "%s: cut at byte %d", name, at)
		require.Equal(t, want, got, "%s: cut at byte %d", name, at)
	}
	return want
}

func TestPeekAtEverySplit(t *testing.T) {
	for name, stream := range hellos(t) {
		want := requireOneHello(t, name, stream)
		got, err := peek(t, oneByteEach(stream), stream)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}

func TestPeekInAnyRecords(t *testing.T) {
	for name, stream := range hellos(t) {
		want, err := peek(t, cut(stream), stream)
		require.NoError(t, err, name)
		for _, size := range []int{1, 2, 3, 4, 5, 100, len(stream) - 6} {
			records := inRecords(stream[5:], size)
			for _, conn := range []*segments{cut(records), oneByteEach(records), cut(records, 5), cut(records, 6, 11)} {
				got, err := peek(t, conn, records)
				require.NoError(t, err, "%s: records of %d", name, size)
				require.Equal(t, want, got, "%s: records of %d", name, size)
			}
		}
	}
}

func TestPeekUpTo64KiB(t *testing.T) {
	plain := capture(t, clientTLS(tls.VersionTLS13, alpn.H2))
	for _, size := range []int{4096, 16380, 16381, 40000, 64 << 10} {
		msg := padded(plain, size)
		require.Len(t, msg, 4+size)
		for _, record := range []int{1, 1000, 1 << 14} {
			stream := inRecords(msg, record)
			hello, err := peek(t, cut(stream, len(stream)/2), stream)
			require.NoError(t, err, "body of %d bytes in records of %d", size, record)
			assert.Equal(t, []string{alpn.H2}, hello.ALPN)
			assert.Equal(t, "wiretest.test", hello.ServerName)
		}
		require.NotNil(t, seenByTLS(inRecords(msg, 1<<14)), "crypto/tls refuses the test's own hello")
	}
	stream := inRecords(padded(plain, 64<<10+1), 1<<14)
	_, err := peek(t, cut(stream), stream)
	require.EqualError(t, err, "alpn: ClientHello: byte 6: too long: 65537 bytes announced, at most 65536 are read")
}

func TestPeekLeavesWhatFollows(t *testing.T) {
	stream := capture(t, clientTLS(tls.VersionTLS13))
	both := append(bytes.Clone(stream), "\x14\x03\x03\x00\x01\x01early"...)
	want, err := peek(t, cut(stream), stream)
	require.NoError(t, err)
	got, err := peek(t, cut(both), both)
	require.NoError(t, err)
	require.Equal(t, want, got)

	shared := bytes.Clone(stream) // a second message in the same record
	shared = append(shared, 2, 0, 0, 0)
	length := len(shared) - 5
	shared[3], shared[4] = byte(length>>8), byte(length)
	got, err = peek(t, cut(shared), shared)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestHandshakeAfterPeek(t *testing.T) {
	eachWorld(t, func(t *testing.T, connect pair) {
		var hello *alpn.ClientHello
		o := handshake(t, func(t *testing.T) (net.Conn, net.Conn) {
			client, server := connect(t)
			return client, &peeking{Conn: server, hello: &hello}
		}, clientTLS(0, alpn.HTTP11, alpn.H2), alpn.Prefer(alpn.H2).Server(serverTLS()))
		require.NoError(t, errors.Join(o.clientErr, o.serverErr))
		assert.Equal(t, alpn.H2, o.client.NegotiatedProtocol)
		assert.Equal(t, []string{alpn.HTTP11, alpn.H2}, hello.ALPN)
	})
}

// peeking peeks at its first Read.
type peeking struct {
	net.Conn
	once  sync.Once
	hello **alpn.ClientHello
}

func (p *peeking) Read(b []byte) (int, error) {
	p.once.Do(func() { *p.hello, p.Conn, _ = alpn.PeekClientHello(p.Conn) })
	return p.Conn.Read(b)
}

func TestPeekObeysTheDeadline(t *testing.T) {
	stream := capture(t, clientTLS(tls.VersionTLS13))
	eachWorld(t, func(t *testing.T, connect pair) {
		client, server := connect(t)
		defer client.Close()
		defer server.Close()
		var writing sync.WaitGroup // waited for below
		writing.Go(func() { client.Write(stream[:100]) })
		hello, replayed, err := alpn.PeekClientHello(&expiring{Conn: server, left: 100})
		writing.Wait()
		require.Nil(t, hello)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
		require.ErrorContains(t, err, "alpn: ClientHello: byte 100: read failed, at least ")

		server.SetReadDeadline(time.Time{}) // and nothing is lost: the rest can still be waited for
		writing.Go(func() { client.Write(stream[100:]) })
		hello, _, err = alpn.PeekClientHello(replayed)
		writing.Wait()
		require.NoError(t, err)
		require.Equal(t, "wiretest.test", hello.ServerName)
	})
}

// expiring has its deadline when a number of bytes has been read, however long they
// take to come.
type expiring struct {
	net.Conn
	left int
}

func (c *expiring) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.left -= n; c.left == 0 {
		c.SetReadDeadline(time.Now())
	}
	return n, err
}

func TestPeekedConnHasWhatConnHas(t *testing.T) {
	eachWorld(t, func(t *testing.T, connect pair) {
		client, server := connect(t)
		defer client.Close()
		defer server.Close()
		client.SetDeadline(time.Now().Add(time.Minute))
		var writing sync.WaitGroup // waited for below
		writing.Go(func() { client.Write([]byte("SSH-2.0-x\r\n")) })
		_, replayed, err := alpn.PeekClientHello(server)
		writing.Wait()
		require.Error(t, err)
		require.Same(t, server, replayed.(interface{ NetConn() net.Conn }).NetConn())
		half, ok := replayed.(interface{ CloseWrite() error })
		_, want := server.(interface{ CloseWrite() error })
		require.Equal(t, want, ok)
		if !ok {
			return
		}
		require.NoError(t, half.CloseWrite())
		_, err = client.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		line := make([]byte, 11)
		_, err = io.ReadFull(replayed, line)
		require.NoError(t, err)
		require.Equal(t, "SSH-2.0-x\r\n", string(line))
	})
}

// together returns its error with the last bytes, as a Reader may, and once.
type together struct {
	net.Conn
	b   []byte
	err error
}

func (c *together) Read(b []byte) (int, error) {
	n := copy(b, c.b)
	if c.b = c.b[n:]; len(c.b) > 0 {
		return n, nil
	}
	err := c.err
	c.err = io.EOF
	return n, err
}

func TestPeekKeepsAnErrorThatCameWithBytes(t *testing.T) {
	reset := errors.New("reset")
	stream := capture(t, clientTLS(tls.VersionTLS12))
	_, replayed, err := alpn.PeekClientHello(&together{b: stream, err: reset})
	require.NoError(t, err)
	again, err := io.ReadAll(replayed)
	require.Equal(t, reset, err)
	require.Equal(t, stream, again)
}

func BenchmarkPeekClientHello(b *testing.B) {
	stream := capture(b, clientTLS(tls.VersionTLS13, alpn.H2, alpn.HTTP11))
	conn := &together{err: io.EOF}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		conn.b = stream
		if _, _, err := alpn.PeekClientHello(conn); err != nil {
			b.Fatal(err)
		}
	}
}
