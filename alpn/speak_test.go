package alpn_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"

	"example.com/wiretest/alpn"
	"example.com/wiretest/linkdelay"
	"example.com/wiretest/origin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// scripted is a server of TLS 1.3 that agrees on proto and then plays a script.
func scripted(t *testing.T, proto string, script func(conn net.Conn)) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	cfg := serverTLS()
	cfg.NextProtos, cfg.MinVersion = []string{proto}, tls.VersionTLS13
	var serving sync.WaitGroup // waited for in Cleanup
	serving.Go(func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			raw.SetDeadline(time.Now().Add(10 * time.Second))
			conn := tls.Server(raw, cfg)
			if conn.Handshake() == nil && conn.ConnectionState().NegotiatedProtocol != "" {
				script(conn)
			}
			io.Copy(io.Discard, conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { ln.Close(); serving.Wait() })
	return ln.Addr().String()
}

func spokenBy(t *testing.T, proto string, script func(conn net.Conn)) alpn.Spoken {
	t.Helper()
	r, err := alpn.Probe(t.Context(), scripted(t, proto, script), &alpn.ProbeConfig{
		TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}, Offers: [][]string{{proto}},
	})
	require.NoError(t, err)
	require.Len(t, r.Spoken, 1, r)
	return r.Spoken[0]
}

// fields is a header block.
func fields(pairs ...string) []byte {
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for i := 0; i < len(pairs); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return block.Bytes()
}

func TestProbeReadsHTTP2(t *testing.T) {
	headers := func(pairs ...string) http2.HeadersFrameParam {
		return http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields(pairs...), EndHeaders: true}
	}
	for _, c := range []struct {
		name   string
		script func(f *http2.Framer)
		want   string
	}{
		{"everything", func(f *http2.Framer) {
			f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7}, http2.Setting{ID: 0x99, Val: 1})
			f.WritePing(false, [8]byte{1})
			f.WriteRawFrame(0xa, 0, 0, []byte("\x00\x06a.testh3=\":443\""))
			f.WriteHeaders(headers(":status", "103", "link", "x"))
			f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 9})
			f.WriteHeaders(headers(":status", "404", "alt-svc", "clear", "server", "s"))
		}, `h2 over TLS 1.3: status 404, server s, SETTINGS MAX_CONCURRENT_STREAMS=7, UNKNOWN_SETTING_153=1, Alt-Svc h3=":443", clear`},
		{"GOAWAY", func(f *http2.Framer) { f.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("no probes")) },
			`h2 over TLS 1.3: no answer: GOAWAY ENHANCE_YOUR_CALM "no probes"`},
		{"RST_STREAM", func(f *http2.Framer) { f.WriteSettings(); f.WriteRSTStream(1, http2.ErrCodeRefusedStream) },
			"h2 over TLS 1.3: no answer: RST_STREAM REFUSED_STREAM, SETTINGS of nothing"},
		{"no status", func(f *http2.Framer) { f.WriteHeaders(headers("server", "s")) },
			"h2 over TLS 1.3: no answer: an answer without :status"},
		{"too long a frame", func(f *http2.Framer) { f.AllowIllegalWrites = true; f.WriteData(1, true, make([]byte, 20000)) },
			"h2 over TLS 1.3: no answer: reading HTTP/2: http2: frame too large"},
	} {
		got := spokenBy(t, alpn.H2, func(conn net.Conn) {
			io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
			c.script(http2.NewFramer(conn, conn))
		})
		assert.Regexp(t, "^"+regexp.QuoteMeta(c.want), got.String(), c.name)
	}
}

func TestProbeReadsHTTP1(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 301 Moved\r\nServer: s\r\nAlt-Svc: h3=\":1\"\r\nAlt-Svc: h2=\":2\"\r\nContent-Length: 5\r\n\r\n": `http/1.1 over TLS 1.3: status 301, server s, Alt-Svc h3=":1", h2=":2"`,
		"220 mail.test\r\n": `http/1.1 over TLS 1.3: no answer: malformed HTTP status code "mail.test"`,
	} {
		got := spokenBy(t, alpn.HTTP11, func(conn net.Conn) {
			conn.Read(make([]byte, 1<<12))
			io.WriteString(conn, answer)
		})
		assert.Equal(t, want, got.String())
	}
}

// A server that wants a client certificate says so after the handshake of TLS
// 1.3, and within that of TLS 1.2.
func TestProbeOfMutualTLS(t *testing.T) {
	linkdelay.EachWorld(t, linkdelay.Link{}, func(t *testing.T, network *linkdelay.Network) {
		site := origin.New(t, &origin.Config{Net: network.Host("origin.test"), TLS: &tls.Config{ClientAuth: tls.RequireAnyClientCert}, Handler: hello})
		dial := network.Host(pc).DialContext
		r, err := alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: dial, Offers: [][]string{{alpn.H2}}})
		require.NoError(t, err)
		require.Len(t, r.Spoken, 1)
		alpn.RequireAlert(t, r.Spoken[0].Err, 116)
		assert.Equal(t, alpn.H2, r.Answers[0].Selected)
		assert.NotZero(t, r.Answers[1].Alert)

		r, err = alpn.Probe(t.Context(), site.Addr, &alpn.ProbeConfig{DialContext: dial, Offers: [][]string{{alpn.H2}}, TLS: site.CA().ClientTLS("me@a.test")})
		require.NoError(t, err)
		require.Len(t, r.Spoken, 2)
		require.NoError(t, r.Spoken[0].Err)
	})
}
