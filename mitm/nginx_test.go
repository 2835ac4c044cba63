package mitm_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// nginx runs it as an origin for localhost, by http/1.1 or by h2, until the test
// ends, and returns its port. It serves one file of 200,000 bytes at /large, and
// takes uploads at /up.
func nginx(t *testing.T, authority *ca.Authority, proto string) (port string) {
	t.Helper()
	program := tool(t, "nginx", "Debian package nginx")
	dir := t.TempDir()
	cert := authority.Issue("localhost", "127.0.0.1")
	key, err := cert.KeyPEM()
	require.NoError(t, err)
	write(t, dir, "cert.pem", cert.CertPEM())
	write(t, dir, "key.pem", key)
	write(t, dir, "large", bytes.Repeat([]byte("n"), 200_000))
	require.NoError(t, os.Chmod(dir, 0o755)) // a worker of another user reads it
	require.NoError(t, os.Chmod(filepath.Join(dir, "large"), 0o644))
	h2 := ""
	if proto == alpn.H2 {
		h2 = " http2"
	}
	listening, port := listeningFile(t)
	config := write(t, dir, "nginx.conf", fmt.Appendf(nil, `
daemon off; user root; worker_processes 1; pid %[1]s/pid; error_log stderr warn;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	server {
		listen 127.0.0.1:%[2]s ssl%[3]s;
		server_name localhost;
		ssl_certificate %[1]s/cert.pem; ssl_certificate_key %[1]s/key.pem;
		root %[1]s;
		location = /up { client_max_body_size 1m; proxy_pass http://unix:%[1]s/inner.sock:/; proxy_request_buffering on; }
		location = /hello { return 200 "$scheme $host $server_protocol"; }
	}
	server { listen unix:%[1]s/inner.sock; client_max_body_size 1m; return 201 "$content_length"; }
}`, dir, port, h2))
	cmd := exec.Command(program, "-p", dir, "-c", config, "-e", "stderr")
	cmd.ExtraFiles, cmd.Env = []*os.File{listening}, append(os.Environ(), "NGINX=3;") // as from an older one that it replaces
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) // and not a kill, which its worker would outlive
		cmd.Wait()
		if t.Failed() {
			t.Log("nginx: " + complaints.String())
		}
	})
	return port
}

// listeningFile is a socket that listens, for a program that is to accept from it: its
// port is nobody else's, and who connects before the program is there waits for it.
func listeningFile(t *testing.T) (file *os.File, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	file, err = l.(*net.TCPListener).File()
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return file, port
}

// An origin that is not Go's, in every pair of protocols and with Mirror.
func TestNginxIsTheOrigin(t *testing.T) {
	authority := ca.New(t, nil)
	for _, up := range []string{alpn.HTTP11, alpn.H2} {
		port := nginx(t, authority, up)
		for _, down := range []string{alpn.HTTP11, alpn.H2, "mirror"} {
			t.Run(down+" to "+up, func(t *testing.T) {
				cfg := mitm.Config{CA: authority, RootCAs: authority.Pool()}
				spoken := down
				if down == "mirror" {
					cfg.Downstream.Mirror, spoken = true, up
				} else {
					cfg.Downstream.ALPN = alpn.Only(down)
				}
				proxy := mitm.New(t, &cfg)
				client := proxy.Client()
				url := "https://localhost:" + port
				get := func(method, path, body string, headers ...string) (*http.Response, string) {
					req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
					require.NoError(t, err)
					for i := 0; i < len(headers); i += 2 {
						req.Header.Set(headers[i], headers[i+1])
					}
					resp, err := client.Do(req)
					require.NoError(t, err)
					defer resp.Body.Close()
					got, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					return resp, string(got)
				}
				resp, body := get("GET", "/hello", "")
				assert.Equal(t, "https localhost "+map[string]string{alpn.HTTP11: "HTTP/1.1", alpn.H2: "HTTP/2.0"}[up], body)
				assert.Contains(t, resp.Header.Get("Server"), "nginx")
				_, body = get("GET", "/large", "")
				assert.Equal(t, strings.Repeat("n", 200_000), body)
				resp, body = get("GET", "/large", "", "Range", "bytes=10-19")
				assert.Equal(t, []any{206, "bytes 10-19/200000", "nnnnnnnnnn"}, []any{resp.StatusCode, resp.Header.Get("Content-Range"), body})
				resp, body = get("HEAD", "/large", "")
				assert.Equal(t, []any{int64(200_000), ""}, []any{resp.ContentLength, body})
				resp, _ = get("GET", "/large", "", "If-None-Match", resp.Header.Get("Etag"))
				assert.Equal(t, 304, resp.StatusCode)
				resp, body = get("POST", "/up", strings.Repeat("u", 150_000))
				assert.Equal(t, []any{201, "150000"}, []any{resp.StatusCode, body})
				resp, _ = get("POST", "/up", strings.Repeat("u", 2<<20))
				assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
				for _, c := range proxy.Log().Connections(mitm.Downstream, netlog.Used()) {
					assert.Equal(t, spoken, c.ALPN)
				}
				for _, c := range proxy.Log().Connections(mitm.Upstream, netlog.Used()) {
					assert.Equal(t, up, c.ALPN)
				}
			})
		}
	}
}
