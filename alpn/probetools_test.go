package alpn_test

import (
	"bufio"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/wiretest/alpn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certificateFiles are those of certificate, for programs.
func certificateFiles(t *testing.T) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	own := certificate()
	der, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	require.NoError(t, err)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return cert, key
}

// started runs a program until the test ends.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) // as nginx wants it, which has a child to end
		cmd.Wait()
	})
}

// refuses is a server that refuses what it does not know, and otherwise goes by
// its own order; nil takes no part in ALPN.
type refuses []string

func (s refuses) requireProbed(t *testing.T, r alpn.Results) {
	t.Helper()
	for _, a := range r.Answers {
		want, refused := s.choose(a.Offered)
		require.Equal(t, want, a.Selected, "offered %q\n%v", a.Offered, r)
		require.Equal(t, refused, a.Alert == 120, "offered %q\n%v", a.Offered, r)
		require.Equal(t, refused, a.Err != nil, "offered %q\n%v", a.Offered, r)
	}
	require.Equal(t, "wiretest.test", r.Issuer())
}

func (s refuses) choose(offered []string) (chosen string, refused bool) {
	chosen, err := alpn.Prefer(s...).Choose(offered)
	return chosen, err != nil || chosen == "" && len(offered) > 0 && s != nil
}

// s_server with -rev sends every line back reversed, so that whoever speaks
// HTTP knows at once that it does not.
func TestProbeOpenSSL(t *testing.T) {
	openssl := tool(t, "openssl", "openssl")
	cert, key := certificateFiles(t)
	for _, protos := range [][]string{{alpn.H2, alpn.HTTP11}, {alpn.HTTP11, alpn.H2}, {alpn.HTTP11}, nil} {
		cmd := exec.Command(openssl, "s_server", "-accept", "127.0.0.1:0", "-cert", cert, "-key", key, "-rev")
		if protos != nil {
			cmd.Args = append(cmd.Args, "-alpn", strings.Join(protos, ","))
		}
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		started(t, cmd)
		r, err := alpn.Probe(t.Context(), accepting(t, out), nil)
		require.NoError(t, err)
		refuses(protos).requireProbed(t, r)
		assert.Regexp(t, `TLS 1\.3: TLS_AES_\w+, X25519\w*, sessions resume`, r.String())
		assert.Regexp(t, `TLS 1\.2: TLS_ECDHE_ECDSA_\w+, X25519, sessions resume`, r.String())
		for _, s := range r.Spoken {
			assert.Error(t, s.Err)
		}
	}
}

// accepting waits until s_server says where it listens.
func accepting(t *testing.T, out io.Reader) (addr string) {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, found := strings.CutPrefix(lines.Text(), "ACCEPT "); found {
			return addr
		}
	}
	t.Fatalf("openssl s_server ended: %v", lines.Err())
	return ""
}

func TestProbeNginx(t *testing.T) {
	nginx := tool(t, "nginx", "nginx")
	for name, want := range map[string]refuses{
		"http2": {alpn.H2, alpn.HTTP11},
		"":      {alpn.HTTP11},
	} {
		addr := startNginx(t, nginx, name)
		r, err := alpn.Probe(t.Context(), addr, nil)
		require.NoError(t, err)
		want.requireProbed(t, r)
		require.Len(t, r.Spoken, 2*len(want))
		for _, s := range r.Spoken {
			require.NoError(t, s.Err, r)
			assert.Equal(t, 204, s.Status, r)
			assert.Equal(t, "nginx", s.Server, r)
			assert.Equal(t, []string{`h3=":8443"; ma=60`}, s.AltSvc, r)
			if s.Protocol == alpn.H2 {
				assert.Contains(t, s.Settings, alpn.Setting{Name: "MAX_CONCURRENT_STREAMS", Value: 77}, r)
			}
		}
		assert.Contains(t, r.String(), "X25519, sessions resume")
	}
}

// startNginx hands nginx its socket, so that whoever connects waits until it
// accepts.
func startNginx(t *testing.T, nginx, listen string) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	socket, err := ln.(*net.TCPListener).File()
	require.NoError(t, err)
	defer socket.Close()
	cert, key := certificateFiles(t)
	dir := t.TempDir()
	config := fmt.Sprintf(`
		daemon off; worker_processes 1; pid %[1]s/pid; error_log stderr error;
		events {}
		http {
			access_log off; server_tokens off;
			client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
			server {
				listen %[2]s ssl %[3]s;
				ssl_certificate %[4]s; ssl_certificate_key %[5]s; ssl_protocols TLSv1.2 TLSv1.3;
				http2_max_concurrent_streams 77;
				location / { add_header Alt-Svc 'h3=":8443"; ma=60'; return 204; }
			}
		}`, dir, ln.Addr(), listen, cert, key)
	file := filepath.Join(dir, "nginx.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.Command(nginx, "-p", dir, "-c", file)
	cmd.ExtraFiles, cmd.Env, cmd.Stderr = []*os.File{socket}, append(os.Environ(), "NGINX=3;"), t.Output()
	started(t, cmd)
	return ln.Addr().String()
}
