package mitm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"

	"example.com/wiretest/alpn"
	"example.com/wiretest/ca"
	"example.com/wiretest/mitm"
	"example.com/wiretest/netlog"
)

// nodeSaw is what one end of testdata/ledger.mjs saw of a stream.
type nodeSaw struct {
	ID      int64
	Path    string
	Status  int
	Up      int64
	Down    int64
	Code    http2.ErrCode
	Hints   int
	Trailer string
}

// Neither end is Go's: what Node's client and origin saw of each stream is what
// the ledger says of the two legs.
func TestLedgerIsWhatNodeSaw(t *testing.T) {
	node := tool(t, "node", "Debian package nodejs")
	authority := ca.New(t, nil)
	proxy := mitm.New(t, &mitm.Config{CA: authority, RootCAs: authority.Pool()})
	dir := t.TempDir()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	cert := authority.Issue("127.0.0.1", "localhost")
	key, err := cert.KeyPEM()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), node, "testdata/ledger.mjs", at.Port(),
		write(t, dir, "cert.pem", cert.CertPEM()), write(t, dir, "key.pem", key), write(t, dir, "ca.pem", authority.PEM()))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s\n%s", out, &complaints, proxy.Log())
	var saw struct{ Client, Origin []nodeSaw }
	require.NoError(t, json.Unmarshal(out, &saw))

	for _, s := range saw.Client {
		var want http2.ErrCode
		fmt.Sscanf(s.Path, "/reset/%d", &want)
		fmt.Sscanf(s.Path, "/wait/%d", &want)
		assert.Equal(t, want, s.Code, s.Path)
		if want == http2.ErrCodeNo {
			assert.Equal(t, []any{200, "sent"}, []any{s.Status, s.Trailer}, s.Path)
		}
		assert.Equal(t, s.Path == "/hints", s.Hints == 1)
	}
	agrees(t, proxy.Log(), mitm.Downstream, saw.Client)
	agrees(t, proxy.Log(), mitm.Upstream, saw.Origin)
	assert.Len(t, proxy.Log().Pairs(), len(saw.Client))
	netlog.RequireConnections(t, proxy.Log(), 1, alpn.H2, mitm.Downstream, netlog.Used())
	netlog.RequireConnections(t, proxy.Log(), 2, alpn.H2, mitm.Upstream, netlog.Used()) // net/http uses none again that said PROTOCOL_ERROR
}

// agrees compares a leg with what one end of it saw.
func agrees(t *testing.T, log *netlog.Log, leg netlog.Leg, saw []nodeSaw) {
	t.Helper()
	require.Len(t, log.Requests(leg), len(saw), "%s leg", leg)
	byPath := make(map[string]netlog.Request)
	for _, q := range log.Requests(leg) {
		u, err := url.Parse(q.URL)
		require.NoError(t, err)
		byPath[u.Path] = q
	}
	for _, s := range saw {
		q := byPath[s.Path]
		assert.Equal(t, []any{s.ID, s.Up, s.Down}, []any{q.Stream, q.BodyBytesUp, q.BodyBytesDown}, "%s leg, stream %d, %s", leg, s.ID, s.Path)
		if s.Code == http2.ErrCodeNo {
			assert.Empty(t, q.Err)
			continue
		}
		assert.Contains(t, q.Err, fmt.Sprintf("RST_STREAM %v sent by ", s.Code), "%s leg, stream %d, %s", leg, s.ID, s.Path)
	}
}

func write(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}
