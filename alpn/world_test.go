package alpn_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A pair makes the two ends of one connection.
type pair func(t *testing.T) (client, server net.Conn)

// eachWorld runs body over net.Pipe in virtual time and over loopback TCP. In
// virtual time nothing may be left when it returns; on loopback the stacks are
// looked at.
func eachWorld(t *testing.T, body func(t *testing.T, connect pair)) {
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { body(t, memory) })
	})
	t.Run("loopback", func(t *testing.T) {
		body(t, loopback)
		requireNoStacks(t)
	})
}

func memory(*testing.T) (client, server net.Conn) { return net.Pipe() }

func loopback(t *testing.T) (client, server net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	server, err = ln.Accept()
	require.NoError(t, err)
	return client, server
}

// requireNoStacks fails if a goroutine still runs the package's code.
func requireNoStacks(t *testing.T) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "wiretest/alpn.") && !strings.Contains(g, "requireNoStacks") {
			t.Errorf("left behind:\n%s", g)
		}
	}
}

// certificate is self-signed for wiretest.test and valid in both worlds.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "wiretest.test"},
		DNSNames:     []string{"wiretest.test"},
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

func serverTLS() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{certificate()}}
}

func clientTLS(version uint16, offer ...string) *tls.Config {
	return &tls.Config{
		ServerName: "wiretest.test", InsecureSkipVerify: true,
		MinVersion: version, MaxVersion: version, NextProtos: offer,
	}
}

// quick is for tests of many handshakes: of the key exchanges P-256 is by far the
// quickest under the race detector.
func quick(cfg *tls.Config) *tls.Config {
	cfg.CurvePreferences = []tls.CurveID{tls.CurveP256}
	return cfg
}

// outcome is how a handshake ended on both sides.
type outcome struct {
	client, server       tls.ConnectionState
	clientErr, serverErr error
	fromServer           []byte // all that came, as on the wire
	fromClient           []byte
}

// handshake does one, sends a byte so that session tickets arrive, and closes.
func handshake(t *testing.T, connect pair, client, server *tls.Config) *outcome {
	c, s := connect(t)
	down, up := newRecorder(c), newRecorder(s)
	o := new(outcome)
	var serving sync.WaitGroup // waited for before return
	serving.Go(func() {
		conn := tls.Server(up, server)
		defer conn.Close()
		if o.serverErr = conn.Handshake(); o.serverErr == nil {
			o.server = conn.ConnectionState()
			conn.Write([]byte("x"))
		}
	})
	conn := tls.Client(down, client)
	if o.clientErr = conn.Handshake(); o.clientErr == nil {
		o.client = conn.ConnectionState()
		_, o.clientErr = io.ReadFull(conn, make([]byte, 1))
	}
	io.Copy(io.Discard, down)
	conn.Close()
	serving.Wait()
	o.fromServer, o.fromClient = down.got.Bytes(), up.got.Bytes()
	return o
}

// recorder keeps what was read. It reads all that is there: with a peer on
// net.Pipe that still writes, a TLS conn which reads less and then writes would
// hang. One goroutine reads.
type recorder struct {
	net.Conn
	all *bufio.Reader
	got bytes.Buffer
}

func newRecorder(conn net.Conn) *recorder {
	r := &recorder{Conn: conn}
	r.all = bufio.NewReaderSize(io.TeeReader(conn, &r.got), 1<<16)
	return r
}

func (r *recorder) Read(b []byte) (int, error) { return r.all.Read(b) }
