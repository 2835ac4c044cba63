package alpn_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"example.com/wiretest/alpn"
	"example.com/wiretest/mitm"
	"example.com/wiretest/origin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThrough(t *testing.T) {
	site := origin.New(t, &origin.Config{Handler: hello})
	proxy := mitm.New(t, &mitm.Config{RootCAs: site.CA().Pool()})
	r, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: alpn.Through(proxy.URL), Offers: [][]string{{alpn.H2}}})
	require.NoError(t, err)
	assert.Equal(t, alpn.H2, r.Selected(alpn.H2))
	assert.Equal(t, "wiretest mitm CA", r.Issuer())
}

// A server that speaks first may have done so before the proxy's answer is read.
func TestThroughKeepsWhatCameAhead(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	var req *http.Request
	var serving sync.WaitGroup // waited for below
	serving.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		req, _ = http.ReadRequest(bufio.NewReader(conn))
		io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-x\r\n")
	})
	conn, err := alpn.Through("http://me:secret@"+ln.Addr().String())(t.Context(), "tcp", "a.test:22")
	require.NoError(t, err)
	defer conn.Close()
	ahead, err := io.ReadAll(conn)
	require.NoError(t, err)
	serving.Wait()
	assert.Equal(t, "SSH-2.0-x\r\n", string(ahead))
	assert.Equal(t, "CONNECT", req.Method)
	assert.Equal(t, "a.test:22", req.RequestURI)
	assert.Equal(t, "a.test:22", req.Host)
	assert.Equal(t, "Basic bWU6c2VjcmV0", req.Header.Get("Proxy-Authorization"))
}

func TestThroughErrors(t *testing.T) {
	refusing := answering(t, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
	closing := answering(t, "")
	for proxy, want := range map[string]string{
		"proxy.test:3128":      `alpn: Through: "proxy.test:3128": want the URL of a proxy, such as http://proxy.test:3128`,
		"socks5://127.0.0.1:1": `alpn: Through: "socks5://127.0.0.1:1": want the URL of a proxy, such as http://proxy.test:3128`,
		"https://me:secret@[":  `alpn: Through: "[": want the URL of a proxy, such as http://proxy.test:3128`,
		"http://" + refusing:   "alpn: Through: proxy " + refusing + ": CONNECT a.test:443: answered 407 Proxy Authentication Required",
		"http://" + closing:    "alpn: Through: proxy " + closing + ": CONNECT a.test:443: unexpected EOF",
	} {
		_, err := alpn.Through(proxy)(t.Context(), "tcp", "a.test:443")
		require.EqualError(t, err, want)
		_, err = alpn.Probe(t.Context(), "a.test:443", &alpn.ProbeConfig{DialContext: alpn.Through(proxy)})
		require.EqualError(t, err, "alpn: Probe: a.test:443: dialling: "+want)
	}
}
